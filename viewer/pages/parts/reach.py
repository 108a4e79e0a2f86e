"""What of a compaction really reaches the agent: a line for the rules, the note, and the audit's warning."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from viewer.inside import doors
from viewer.inside.agents import agent_named
from viewer.inside.models import Door
from viewer.stores.base import Store
from viewer.stores.registry import agent_of
from viewer.workspaces.rules import Rules

ONLY_SHOWN = "Shown to you only."


@dataclass(frozen=True, slots=True)
class Reach:
    """A layer's name, and a sentence about what reaches the agent of it."""

    layer: str
    sentence: str | SafeString


def reach(store: Store, rules: Rules, *, carried: bool) -> list[Reach]:
    """The three layers for a session with these rules; none where there are no rules to follow. `carried`: they go into
    the summary.
    """
    own = agent_of(store).own_rules().reads
    if not (rules.text or own):
        return []
    door = doors.door_of(store)
    sentence = note_sentence(store, door)
    return [
        Reach("Rules", _rules(rules, own, door, carried=carried)),
        Reach("Note", sentence),
        Reach("Warning", sentence),
    ]


def _rules(rules: Rules, own: str, door: Door | None, *, carried: bool) -> str:
    if not rules.text:
        return f"The agent reads {own} anew by itself."
    if not carried:
        return "Left out of the summary, as you chose."
    if door is not None and doors.options_of(door).engine:
        return "In the summary, and in those of the agent's own compactions."
    return "In the summary, until the agent compacts by itself."


def note_sentence(store: Store, door: Door | None) -> str | SafeString:
    """How a text after a compaction reaches the agent of a store with this door."""
    if door is not None and doors.options_of(door).notes:
        if door.called_at is None:
            return f"{ONLY_SHOWN} It is installed, but the agent has not called yet: restart it."
        return agent_named(door.agent).notes
    if doors.agent_in(store) is not None:
        return format_html(
            '{} <a href="{}">Install it in the agent</a>.', ONLY_SHOWN, reverse("pages:inside", args=[store.name])
        )
    return f"{ONLY_SHOWN} Programs can take it by the API."
