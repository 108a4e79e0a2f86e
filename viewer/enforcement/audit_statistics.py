"""How often agents read their startup files again after a compaction; whether a program asks for notes."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q

from viewer.enforcement.models import Audit, Event


@dataclass(frozen=True, slots=True)
class Habit:
    """The settled audits of one store's sessions with one model: their number, and how each ended."""

    store: str
    model: str
    audited: int
    at_once: int
    a_turn_later: int
    not_read: int


def habits() -> list[Habit]:
    """By store and model, those with the most unread files first.

    Only settled results count, and none of a turn that was over before the compaction was seen here.
    """
    passed = Q(status="passed")
    rows = (
        Audit.objects.filter(passed | Q(status="missing"), settled=True, late=False)
        .values("store", "model")
        .annotate(
            audited=Count("pk"),
            at_once=Count("pk", filter=passed & Q(turns=1)),
            a_turn_later=Count("pk", filter=passed & Q(turns__gt=1)),
            not_read=Count("pk", filter=Q(status="missing")),
        )
        .order_by("-not_read", "-audited", "store", "model")
    )
    return [Habit(**row) for row in rows]


def asks_for_events(store: str) -> bool:
    """Whether any program ever fetched a note for a session of the store."""
    return Event.objects.filter(store=store, status="delivered").exists()
