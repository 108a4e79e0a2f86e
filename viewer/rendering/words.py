"""The words for roles and states on pages and in exports."""

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
    """A role in words for people; an unknown role keeps its own name."""
    if role in BOOKKEEPING_ROLES:
        return "The agent's own record"
    return NAMES.get(role) or f"Role “{line(role, 40)}”"


def state_label(state: str) -> str:
    """What a row of this state is, "in context" for "live"."""
    return STATES[state]


def was_cut_off(finish_reason: str) -> bool:
    """Whether a message ended because the model reached its output limit."""
    return finish_reason in ("length", "max_tokens")
