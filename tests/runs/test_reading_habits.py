"""How often agents read again what their startup asks for: which audits count, and under what."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from viewer.enforcement.audit_statistics import Habit, asks_for_events, habits
from viewer.enforcement.models import Audit, Event

pytestmark = pytest.mark.django_db
_numbers = count(1)


def audit(store: str = "hermes", model: str = "gpt-4o", **fields: Any) -> Audit:
    found = {"status": "passed", "turns": 1, "settled": True, **fields}
    number = next(_numbers)
    return Audit.objects.create(
        store=store, session_id="s", handoff_id=number, model=model, compacted_at=1.0, after=number, **found
    )


def test_results_are_counted_by_store_and_model_in_one_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for _ in range(3):
        audit()
    audit(turns=2)
    audit(status="missing", turns=2)
    audit(status="missing", turns=1)  # overtaken by a later compaction: it stands
    audit(model="other", status="missing", turns=2)
    audit(model="other", status="missing", turns=2)
    audit(model="other", status="missing", turns=2)
    audit(store="another")
    with django_assert_num_queries(1):
        found = habits()
    assert found == [
        Habit("hermes", "other", audited=3, at_once=0, a_turn_later=0, not_read=3),
        Habit("hermes", "gpt-4o", audited=6, at_once=3, a_turn_later=1, not_read=2),
        Habit("another", "gpt-4o", audited=1, at_once=1, a_turn_later=0, not_read=0),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "not_yet", "settled": False, "turns": 0},
        {"status": "missing", "settled": False},
        {"status": "missing", "late": True},
        {"status": "passed", "late": True},
        {"status": "nothing_required"},
        {"status": "undone"},
        {"status": "superseded"},
    ],
    ids=str,
)
def test_what_tells_nothing_of_an_agent_is_not_counted(fields: dict[str, Any]) -> None:
    audit(**fields)
    assert habits() == []


def test_a_store_asks_once_an_event_of_it_was_delivered() -> None:
    for store, status in (("hermes", "pending"), ("hermes", "expired"), ("other", "delivered")):
        Event.objects.create(audit=audit(store), store=store, session_id="s", kind="note", status=status)
    assert not asks_for_events("hermes")
    assert asks_for_events("other")
