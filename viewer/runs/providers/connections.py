"""Which models are set up to write summaries: by the environment, else on the settings page.

A key from the settings page is in our own database: encrypted, or as the name of an environment variable that holds it
(`env:NAME`). Encrypted ones are tokens of Fernet (https://github.com/fernet/spec). The keys for these are derived from
PALIMPSEST_SECRET_KEY, then from each of PALIMPSEST_SECRET_KEY_FALLBACKS, so that the secret key can be replaced.
"""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass, field
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import transaction

from viewer.runs.models import Connection as StoredConnection

from . import PROVIDERS
from .provider import ModelAccess, Provider, server_of

IN_ENVIRONMENT, _ENCRYPTED = "env:", "fernet:"
# Only variables that are meant for keys: a page must not be a way to send any other secret of this process.
KEY_VARIABLES = re.compile(r"(?!PALIMPSEST_SECRET_KEY)(?:[A-Z][A-Z0-9_]*_API_KEY|PALIMPSEST_[A-Z0-9_]+_KEY)")
UNREADABLE_KEY = "The key that was stored cannot be read with this site's present secret key: enter the key again."


def connection(name: str) -> ModelAccess | None:
    """The connection to the model of this provider; None when no model is set up."""
    return next((each for each in all_connections() if each.provider.name == name), None)


def all_connections() -> list[ModelAccess]:
    """Every model that is set up, in the order of PROVIDERS."""
    rows = {row.kind: row for row in StoredConnection.objects.all()}
    connections = (_from_environment(each) or _from_row(each, rows.get(each.name)) for each in PROVIDERS.values())
    return [each for each in connections if each]


def _from_environment(provider: Provider) -> ModelAccess | None:
    variables: dict[str, Any] = settings.MODELS[provider.name]
    if not variables["model"]:
        return None
    base_url, window = variables["base_url"] or provider.default_url, variables["window"] or None
    return ModelAccess(provider, variables["model"], base_url, variables["api_key"], window, "environment")


def _from_row(provider: Provider, row: StoredConnection | None) -> ModelAccess | None:
    return _from_settings(provider, row.model, row.base_url, row.window, row.api_key) if row else None


def _from_settings(provider: Provider, model: str, base_url: str, window: int | None, stored_key: str) -> ModelAccess:
    key, base_url = read_key(stored_key), base_url or provider.default_url
    return ModelAccess(provider, model, base_url, key.value, window, "settings", key.problem, stored_key)


# --- connections of the settings page --------------------------------------------------------------------------------


def stored(name: str) -> StoredConnection | None:
    """The stored connection of this provider, whether or not the environment outranks it."""
    return StoredConnection.objects.filter(kind=name).first()


def draft(name: str, model: str, base_url: str, window: int | None, api_key: str | None) -> ModelAccess:
    """A connection of the settings page that is not saved. `api_key` None: the stored key, if `kept_key` allows it."""
    stored_key = kept_key(name, base_url) if api_key is None else encrypt_key(api_key)
    return _from_settings(PROVIDERS[name], model, base_url, window, stored_key)


def save(connection: ModelAccess) -> None:
    """Store this connection as the one of its provider."""
    provider = connection.provider
    with transaction.atomic():
        StoredConnection.objects.update_or_create(
            kind=provider.name,
            defaults={
                "model": connection.model,
                "base_url": "" if connection.base_url == provider.default_url else connection.base_url,
                "api_key": connection.stored_key,
                "window": connection.window,
            },
        )


def remove(name: str) -> None:
    """Delete the stored connection of this provider and its key."""
    StoredConnection.objects.filter(kind=name).delete()


def kept_key(name: str, base_url: str) -> str:
    """The stored key if it was given for the server at `base_url`, else "". A key is sent to no other server, nor
    unencrypted if it was given for https.
    """
    row, default = stored(name), PROVIDERS[name].default_url
    return row.api_key if row and server_of(row.base_url or default) == server_of(base_url or default) else ""


def reencrypt_keys() -> None:
    """Encrypt every stored key with the present secret key: an older one, or none, may have been used."""
    for row in StoredConnection.objects.all():
        if (key := reencrypt_key(row.api_key)) != row.api_key:
            StoredConnection.objects.filter(pk=row.pk, api_key=row.api_key).update(api_key=key)


# --- keys as they are stored -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Key:
    """A key that can be used, or the problem with it. `variable` is the environment variable that holds it."""

    value: str = field(default="", repr=False)
    problem: str = ""
    variable: str = ""


def encrypt_key(key: str) -> str:
    """The key as it is stored; the name of a variable (`env:NAME`) is not encrypted."""
    return key if not key or key.startswith(IN_ENVIRONMENT) else _ENCRYPTED + _fernet().encrypt(key.encode()).decode()


def read_key(stored: str) -> Key:
    """The key that is stored in this form. One in clear text was stored by an older version."""
    if stored.startswith(IN_ENVIRONMENT):
        name = stored.removeprefix(IN_ENVIRONMENT)
        value = os.environ.get(name, "").strip() if KEY_VARIABLES.fullmatch(name) else ""
        unset = f"The environment variable {name}, which is to hold the key, is not set."
        return Key(value, "" if value else unset, name)
    if not stored.startswith(_ENCRYPTED):
        return Key(stored)
    try:
        return Key(_fernet().decrypt(stored.removeprefix(_ENCRYPTED).encode()).decode())
    except (InvalidToken, ValueError):
        return Key(problem=UNREADABLE_KEY)


def reencrypt_key(stored: str) -> str:
    """The same key encrypted with the present secret key; unchanged if it cannot be read."""
    if not stored.startswith(_ENCRYPTED):
        return encrypt_key(stored)
    try:
        _fernet_of(settings.SECRET_KEY).decrypt(stored.removeprefix(_ENCRYPTED).encode())
    except InvalidToken:
        key = read_key(stored)
        return encrypt_key(key.value) if key.value else stored
    return stored


def _fernet() -> MultiFernet:
    return MultiFernet([_fernet_of(secret) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _fernet_of(secret: str) -> Fernet:
    derived = HKDF(SHA256(), length=32, salt=None, info=b"palimpsest model keys").derive(secret.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
