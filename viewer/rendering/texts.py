"""Values of rows as text for a page, and the words for roles and states."""

from __future__ import annotations

import json
import re
from typing import Any

from viewer.stores.clean_text import clean, line, visible
from viewer.stores.message import BOOKKEEPING_ROLES

__all__ = [
    "CUT_OFF", "STATES", "as_text", "clean", "json_value", "line", "pretty", "prose", "role_label", "state_label",
    "visible", "was_cut_off",
]  # fmt: skip

NAMES = {"user": "User", "assistant": "Assistant", "system": "System", "developer": "System", "tool": "Tool"}
STATES = {
    "live": "in context", "under": "summarised away", "out": "replaced or undone",
    "lost": "not sent any more: its link is lost",
}  # fmt: skip
CUT_OFF = "The model was cut off at its length limit."

_MARKERS = re.compile(
    r"^\s{0,3}(?:#{1,6}\s+|>\s?|[-*+]\s+(?:\[[ xX]\]\s+)?|-{3,}\s*$)"  # headings, quotes, lists, rules
    r"|(?<!#)#{2,}[A-Z_]{2,30}#{2,}"  # ###STOP###, by which a simulated user ends its talk
    r"|(?<=\s)[-*+] \[[ xX]\] "  # a task in a text that was folded into one line
    r"|`{3,}[\w+-]{0,30}|`+|\*\*(?=\S)|(?<=\S)\*\*",
    re.M,
)
_LINK = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\s]{0,500}\)")


def prose(text: str, limit: int) -> str:
    """The first words of a text on one line, without Markdown's signs and machines' markers; "" if there is nothing
    else.
    """
    return line(_MARKERS.sub(" ", _LINK.sub(r"\1", text[: 10 * limit])), limit)


def as_text(value: Any) -> str:
    """Any value of a row as text: text unchanged, other values as JSON over several lines."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return pretty(value)


def pretty(value: Any, limit: int | None = None) -> str:
    """A value as JSON over several lines, about its first `limit` characters; in Python's notation if JSON cannot
    express it.
    """
    written: list[str] = []
    length = 0
    try:
        for piece in _LAID_OUT.iterencode(value):
            written.append(piece)
            length += len(piece)
            if limit is not None and length > limit:
                break
    except (ValueError, RecursionError):  # nested deeper than can be laid out
        return _compact(value)
    return "".join(written)


def _compact(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except (ValueError, RecursionError):
        return repr(type(value))


_LAID_OUT = json.JSONEncoder(ensure_ascii=False, indent=2, default=repr)


def json_value(text: str, limit: int = 200_000) -> Any:
    """The list or object that a JSON text contains, None for any other text and for one longer than `limit`."""
    if len(text) > limit or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def role_label(role: str) -> str:
    """A role in words for people; an unknown role keeps its own name."""
    if role in BOOKKEEPING_ROLES:
        return "The agent's own record"
    return NAMES.get(role) or f"Role “{line(role, 40)}”"


def state_label(state: str) -> str:
    """A state in words for people: "in context" for "live"."""
    return STATES.get(state, state)


def was_cut_off(finish_reason: str) -> bool:
    """Whether a message ended because the model reached its output limit."""
    return finish_reason in ("length", "max_tokens")
