"""What pages and exports call roles and states."""

from __future__ import annotations

from viewer.stores.clean_text import line
from viewer.stores.message import BOOKKEEPING_ROLES

NAMES = {"user": "User", "assistant": "Assistant", "system": "System", "developer": "System", "tool": "Tool"}
STATES = {
    "live": "in context", "under": "summarised away", "out": "replaced or undone",
    "lost": "not sent any more: its link is lost",
}  # fmt: skip
CUT_OFF = "The model was cut off at its length limit."


def role_label(role: str) -> str:
    """A role as a person reads it; one this site does not know is named as it is."""
    if role in BOOKKEEPING_ROLES:
        return "The agent's own record"
    return NAMES.get(role) or f"Role “{line(role, 40)}”"


def was_cut_off(finish_reason: str) -> bool:
    """Whether a message ended because the model had said as much as it may."""
    return finish_reason in ("length", "max_tokens")
