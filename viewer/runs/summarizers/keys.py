"""Keys of models as our own database keeps them: encrypted with a key made from this site's secret key, or the name of
an environment variable that holds one (`env:NAME`).

Tokens are Fernet's (https://github.com/fernet/spec). Their keys are made from PALIMPSEST_SECRET_KEY, then from each of
PALIMPSEST_SECRET_KEY_FALLBACKS, so that the secret key can be replaced.
"""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass, field

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

ENVIRONMENT, _ENCRYPTED = "env:", "fernet:"
# Of the environment only what is meant for this: a page must not be a way to send any other secret of this process.
NAMES = re.compile(r"(?!PALIMPSEST_SECRET_KEY)(?:[A-Z][A-Z0-9_]*_API_KEY|PALIMPSEST_[A-Z0-9_]+_KEY)")
UNREADABLE = "The key that was stored cannot be read with this site's present secret key: enter the key again."


@dataclass(frozen=True, slots=True)
class Key:
    """A key that can be used, or why there is none; `variable` names where in the environment it is."""

    value: str = field(default="", repr=False)
    problem: str = ""
    variable: str = ""


def sealed(key: str) -> str:
    """How a typed key is stored; what names a variable stays as it is."""
    return key if not key or key.startswith(ENVIRONMENT) else _ENCRYPTED + _fernet().encrypt(key.encode()).decode()


def opened(stored: str) -> Key:
    """The key that is stored so. One in clear text is of an older version."""
    if stored.startswith(ENVIRONMENT):
        name = stored.removeprefix(ENVIRONMENT)
        value = os.environ.get(name, "").strip() if NAMES.fullmatch(name) else ""
        unset = f"The environment variable {name}, which is to hold the key, is not set."
        return Key(value, "" if value else unset, name)
    if not stored.startswith(_ENCRYPTED):
        return Key(stored)
    try:
        return Key(_fernet().decrypt(stored.removeprefix(_ENCRYPTED).encode()).decode())
    except (InvalidToken, ValueError):
        return Key(problem=UNREADABLE)


def renewed(stored: str) -> str:
    """The same key encrypted with the present secret key; as it is where it cannot be read."""
    if not stored.startswith(_ENCRYPTED):
        return sealed(stored)
    try:
        _from(settings.SECRET_KEY).decrypt(stored.removeprefix(_ENCRYPTED).encode())
    except InvalidToken:
        key = opened(stored)
        return sealed(key.value) if key.value else stored
    return stored


def _fernet() -> MultiFernet:
    return MultiFernet([_from(secret) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _from(secret: str) -> Fernet:
    made = HKDF(SHA256(), length=32, salt=None, info=b"palimpsest model keys").derive(secret.encode())
    return Fernet(base64.urlsafe_b64encode(made))
