"""Opaque cursors: the position at which the next page of a list, or the next answer to a question, begins."""

from __future__ import annotations

import base64
import binascii
import json
from hashlib import blake2b
from typing import Any

from viewer.stores.errors import StoreError


class BadCursor(StoreError):
    """The cursor does not come from the list or question it was given to."""

    code = "bad_cursor"
    status = 422

    def __init__(self) -> None:
        super().__init__("This cursor is of another list or another question; begin again without one.")


def digest(text: str) -> str:
    """A short text for the kind of a cursor: another one for another question."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=6).hexdigest()


def written(kind: str, *key: Any) -> str:
    """A cursor for this kind of list and the key of its last item (JSON values)."""
    return base64.urlsafe_b64encode(json.dumps([kind, *key]).encode()).decode().rstrip("=")


def read(cursor: str, kind: str, *types: type) -> list[Any]:
    """The key in a cursor of this kind; its values must have these types. Raises BadCursor."""
    try:
        values = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        values = None
    if not isinstance(values, list) or values[:1] != [kind] or [type(value) for value in values[1:]] != list(types):
        raise BadCursor
    return values[1:]
