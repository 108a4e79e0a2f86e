"""Session text on its way to a page: what no page can show is replaced, what is too long is cut."""

from __future__ import annotations

import json
import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")
# Terminal colours and cursor moves (ECMA-48 control sequences), window titles (OSC) and single-character escapes.
_ANSI = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[@-Z\\\\-_]")
# Control characters get their Unicode pictures; tab and line feed stay, a carriage return becomes a line feed before.
_PICTURES = {code: chr(0x2400 + code) for code in range(32) if code not in (9, 10)} | {127: "\u2421"}


def clean(text: str) -> str:
    """The text with lone surrogates, control characters and terminal escapes made harmless and visible."""
    if text.isascii() and text.isprintable():
        return text
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATE.sub("\ufffd", text).translate(_PICTURES)


def line(text: str, limit: int) -> str:
    """The text as one line of at most `limit` characters."""
    folded = " ".join(clean(text[: 4 * limit]).split())
    return folded if len(folded) <= limit else folded[: limit - 1].rstrip() + "…"


def as_text(value: Any) -> str:
    """Any value of a row as text: text as it is, other values as JSON over several lines."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return pretty(value)


def pretty(value: Any) -> str:
    """A value as JSON over several lines; what JSON cannot say, as Python writes it."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=2, default=repr)
    except (ValueError, RecursionError):
        return repr(type(value))


def json_value(text: str, limit: int = 200_000) -> Any:
    """The list or object that a text is as JSON, None for any other text and for one longer than `limit`."""
    if len(text) > limit or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None
