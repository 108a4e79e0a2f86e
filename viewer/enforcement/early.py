"""Notes that an agent takes before it writes the compaction that they are about, as Claude Code does: there is no audit
yet to which an event could belong. Once the compaction is seen its note is delivered already.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from viewer.runs.plain import plain
from viewer.stores.base import Store
from viewer.workspaces.rules import Rules

from . import events
from .models import EarlyNote, Event

APART = 60.0  # seconds at most between the note and the time of its boundary
KEPT = timedelta(days=30)  # for a compaction that nobody has looked at


def give(store: Store, session_id: str, rules: Rules) -> list[tuple[str, int]]:
    """The note for a compaction that is being made now: its text, and its number for `acknowledge`, which is below
    zero: those of events are above. Nothing without rules.
    """
    text = events.text_for(store, rules)
    if not text:
        return []
    EarlyNote.objects.filter(given_at__lt=timezone.now() - KEPT).delete()
    return [(text, -EarlyNote.objects.create(store=store.name, session_id=plain(session_id), text=plain(text)).pk)]


def acknowledge(store: Store, number: int) -> None:
    """The note of this number is passed on."""
    EarlyNote.objects.filter(pk=-number, store=store.name).update(passed_on=True)


def offer(store: Store, session_id: str) -> list[Event]:
    """`events.offer` without the notes that were passed on early."""
    settle(store.name, session_id)
    return events.offer(store, session_id)


def settle(store: str, session_id: str) -> None:
    """Mark the waiting notes of a session as delivered that were passed on early: one for each compaction."""
    passed_on = list(EarlyNote.objects.filter(store=store, session_id=plain(session_id), passed_on=True))
    if not passed_on:
        return
    waiting = Event.objects.filter(store=store, session_id=plain(session_id), kind="note", status="pending")
    for event in waiting.select_related("audit").order_by("pk"):
        apart = {abs(event.audit.compacted_at - each.given_at.timestamp()): each for each in passed_on}
        if apart and min(apart) < APART:
            early = apart[min(apart)]
            with transaction.atomic():
                events.mark_delivered(event, early.text)
                early.delete()
            passed_on.remove(early)
