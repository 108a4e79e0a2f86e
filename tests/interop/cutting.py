"""Recorded sessions made small: long texts and lists of a client's own, cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LONG = 80  # characters of a text of the client's own that are kept


def cut(value: Any) -> Any:
    """The same with all long texts cut, and long lists."""
    if isinstance(value, str):
        return value if len(value) <= LONG else f"{value[:LONG]}…"
    if isinstance(value, Mapping):
        return {name: cut(each) for name, each in value.items()}
    return [cut(each) for each in value[:2]] if isinstance(value, list) else value
