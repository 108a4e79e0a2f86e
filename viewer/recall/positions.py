"""Opaque cursors: where the next answer to one question begins."""

from __future__ import annotations

import base64
import binascii
import json
from hashlib import blake2b

from viewer.stores.errors import StoreError


class BadPosition(StoreError):
    """The cursor does not come from this call."""

    code = "bad_cursor"
    status = 422


def digest(text: str) -> str:
    """A short text that is another one for another question."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=6).hexdigest()


def written(kind: str, *numbers: int) -> str:
    """A cursor for one kind of question, with numbers."""
    return base64.urlsafe_b64encode(json.dumps([kind, *numbers]).encode()).decode().rstrip("=")


def read(cursor: str, kind: str, numbers: int) -> list[int]:
    """The numbers in a cursor of this kind. Raises BadPosition."""
    try:
        values = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        values = None
    if (
        not isinstance(values, list)
        or values[:1] != [kind]
        or len(values) != numbers + 1
        or not all(type(value) is int and 0 <= value < 2**63 for value in values[1:])
    ):
        raise BadPosition("This cursor belongs to another question: repeat the question without a cursor.")
    return values[1:]
