"""Opaque cursors: the position at which the next page of one kind of list begins."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from .errors import BadCursor


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
        raise BadCursor("This cursor is not from the list it was given to; begin again without one.")
    return values[1:]
