"""Notes that an agent takes before it writes the compaction that they are about, as Claude Code does: there is no audit
yet to which an event could belong. In the memory of this process: once the compaction is seen its note is not given
again, but after a restart in between it is.
"""

from __future__ import annotations

import itertools
import time

from viewer.stores.base import Store
from viewer.workspaces.rules import Rules

from . import events
from .models import Event

APART = 60.0  # seconds at most between the note and the time of its boundary

_numbers = itertools.count(1)
_given: dict[int, tuple[tuple[str, str], float]] = {}  # by number: session and time
_passed_on: dict[tuple[str, str], float] = {}


def give(store: Store, session_id: str, rules: Rules) -> tuple[str, int]:
    """The text of a note for a compaction that is being made now, "" without rules; and its number for `acknowledge`,
    below zero: those of events are above.
    """
    number = -next(_numbers)
    _given[number] = ((store.name, session_id), time.time())
    return events.text_for(store, rules), number


def acknowledge(number: int) -> None:
    """The note of this number is passed on."""
    if given := _given.pop(number, None):
        session, at = given
        _passed_on[session] = at


def offer(store: Store, session_id: str) -> list[Event]:
    """`events.offer` without the notes that were passed on early, which are delivered."""
    offered = []
    for event in events.offer(store, session_id):
        if _is_passed_on(event):
            events.acknowledge(event)
        else:
            offered.append(event)
    return offered


def _is_passed_on(event: Event) -> bool:
    at = _passed_on.get((event.store, event.session_id))
    return event.kind == "note" and at is not None and abs(event.audit.compacted_at - at) < APART
