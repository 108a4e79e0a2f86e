"""Which models are set up to write summaries: by the environment, else on the settings page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from django.conf import settings

from viewer.runs.models import Connection as Typed

USUAL_URLS = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}


@dataclass(frozen=True, slots=True)
class Kind:
    """An interface that models are reached by."""

    name: str
    label: str
    url: str
    variable: str


KINDS = {
    kind.name: kind
    for kind in [
        Kind("openai", "OpenAI or compatible", USUAL_URLS["openai"], "PALIMPSEST_OPENAI_MODEL"),
        Kind("anthropic", "Anthropic", USUAL_URLS["anthropic"], "PALIMPSEST_ANTHROPIC_MODEL"),
    ]
}


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach one model. `window` in tokens, None where nobody said; `api_key` "" for servers that ask none."""

    kind: str
    model: str
    base_url: str
    api_key: str = field(repr=False)
    window: int | None
    source: Literal["environment", "settings"]


def connection(kind: str) -> Connection | None:
    """The connection of this kind; None when no model is named."""
    given: dict[str, Any] = settings.MODELS[kind]
    if given["model"]:
        return Connection(
            kind, given["model"], given["base_url"] or USUAL_URLS[kind], given["api_key"], given["window"] or None,
            "environment",
        )  # fmt: skip
    row = Typed.objects.filter(kind=kind).first()
    if row is None:
        return None
    return Connection(kind, row.model, row.base_url or USUAL_URLS[kind], row.api_key, row.window, "settings")


def all_connections() -> list[Connection]:
    """Every model that is set up."""
    return [found for kind in KINDS if (found := connection(kind)) is not None]
