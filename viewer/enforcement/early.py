"""Notes that an agent is given before it writes the compaction that they are about: in the memory of this process.

Once the compaction is seen, its note is not given again. After a restart in between it is.
"""

from __future__ import annotations

import itertools
import time

from .models import Event

APART = 60.0  # seconds at most between the note and the time of its boundary

_numbers = itertools.count(1)
_given: dict[int, tuple[tuple[str, str], float]] = {}  # by number: session and time
_passed_on: dict[tuple[str, str], float] = {}


def give(store: str, session_id: str) -> int:
    """A number for `acknowledge`, below zero: those of events are above."""
    number = -next(_numbers)
    _given[number] = ((store, session_id), time.time())
    return number


def acknowledge(number: int) -> None:
    """The note of this number is passed on."""
    if given := _given.pop(number, None):
        session, at = given
        _passed_on[session] = at


def is_passed_on(event: Event) -> bool:
    """Whether this is the note of a compaction whose note was passed on early."""
    at = _passed_on.get((event.store, event.session_id))
    return event.kind == "note" and at is not None and abs(event.audit.compacted_at - at) < APART
