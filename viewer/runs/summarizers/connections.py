"""Which models are set up to write summaries: by the environment, else on the settings page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx2
from django.conf import settings
from django.db import transaction

from viewer.runs.models import Connection as Typed

from . import keys

USUAL_URLS = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Provider:
    """An interface that models are reached by."""

    name: str
    label: str
    url: str
    variable: str


KINDS = {
    kind.name: kind
    for kind in [
        Provider("openai", "OpenAI or compatible", USUAL_URLS["openai"], "PALIMPSEST_OPENAI_MODEL"),
        Provider("anthropic", "Anthropic", USUAL_URLS["anthropic"], "PALIMPSEST_ANTHROPIC_MODEL"),
    ]
}


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """How to reach one model. `window` in tokens, None where nobody said; `api_key` "" for servers that ask none, and
    where `key_problem` says why the one that was given cannot be used. `stored_key` is how our database keeps it.
    """

    kind: str
    model: str
    base_url: str
    api_key: str = field(repr=False)
    window: int | None
    source: Literal["environment", "settings", "form"]  # "form": it is being typed, and nothing else uses it
    key_problem: str = ""
    stored_key: str = field(default="", repr=False, compare=False)

    @property
    def host(self) -> str:
        """Host, and the port where it is not the usual one: what pages say of where messages are sent."""
        scheme, host, port = _server(self.base_url)
        return host if port == USUAL_PORTS.get(scheme) else f"{host}:{port}"


def connection(kind: str) -> ModelAccess | None:
    """The connection of this kind; None when no model is named."""
    return next((model_access for model_access in all_connections() if model_access.kind == kind), None)


def all_connections() -> list[ModelAccess]:
    """Every model that is set up."""
    typed_ones = {row.kind: row for row in Typed.objects.all()}
    found = (_named(kind) or (kind in typed_ones and _stored(typed_ones[kind])) for kind in KINDS)
    return [each for each in found if each]


def _named(kind: str) -> ModelAccess | None:
    """The one that the environment names."""
    given: dict[str, Any] = settings.MODELS[kind]
    if not given["model"]:
        return None
    address, window = given["base_url"] or USUAL_URLS[kind], given["window"] or None
    return ModelAccess(kind, given["model"], address, given["api_key"], window, "environment")


def _stored(row: Typed) -> ModelAccess:
    return _connection(row.kind, row.model, row.base_url, row.window, row.api_key)


def _connection(kind: str, model: str, base_url: str, window: int | None, stored_key: str) -> ModelAccess:
    key = keys.opened(stored_key)
    address = base_url or USUAL_URLS[kind]
    return ModelAccess(kind, model, address, key.value, window, "settings", key.problem, stored_key)


def sdk_options(client: httpx2.Client, connection: ModelAccess) -> dict[str, Any]:
    """Arguments for the SDKs of either kind: this client, and no retries of their own."""
    return {
        "api_key": connection.api_key or "none",
        "base_url": connection.base_url,
        "http_client": client,
        "timeout": client.timeout,
        "max_retries": 0,
    }


# -- what is typed on the settings page ------------------------------------------------------------------------------


def typed(kind: str) -> Typed | None:
    """What was typed for this kind, whether or not the environment outranks it."""
    return Typed.objects.filter(kind=kind).first()


def drafted(kind: str, model: str, base_url: str, window: int | None, api_key: str | None) -> ModelAccess:
    """The connection as typed, without saving it. `api_key` None: the stored one, where it may go (`kept_key`)."""
    return _connection(
        kind, model, base_url, window, kept_key(kind, base_url) if api_key is None else keys.sealed(api_key)
    )


def save(drafted: ModelAccess) -> None:
    """Store this connection as the one of its kind."""
    with transaction.atomic():
        Typed.objects.update_or_create(
            kind=drafted.kind,
            defaults={
                "model": drafted.model,
                "base_url": "" if drafted.base_url == USUAL_URLS[drafted.kind] else drafted.base_url,
                "api_key": drafted.stored_key,
                "window": drafted.window,
            },
        )


def renew_keys() -> None:
    """Encrypt every stored key with the present secret key: one may be of a secret key before it, or in clear text."""
    for row in Typed.objects.all():
        if (stored := keys.renewed(row.api_key)) != row.api_key:
            Typed.objects.filter(pk=row.pk, api_key=row.api_key).update(api_key=stored)


def remove(kind: str) -> None:
    """Forget what was typed for this kind, the key with it."""
    Typed.objects.filter(kind=kind).delete()


def kept_key(kind: str, base_url: str) -> str:
    """The key as it is stored if it was given for the server at `base_url`, else "": a key goes nowhere else, nor
    unencrypted where it was given for https.
    """
    row = typed(kind)
    usual = USUAL_URLS[kind]
    return row.api_key if row and _server(row.base_url or usual) == _server(base_url or usual) else ""


def _server(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return parts.scheme, host, parts.port or USUAL_PORTS.get(parts.scheme)
