"""How often requests plan and open a store: a plan is made once, and an undo reads its session once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from compaction.strategy import Summary
from tests.factories.stores import HermesStore
from viewer.runs.models import Run
from viewer.stores.registry import kind_of

FRAGMENT = {"HX-Request": "true"}
CHOSEN = {"strategy": "summary", "summarizer": "offline", "carry": "1"}


class Counts:
    """How many plans were made and stores opened since it was last asked."""

    def __init__(self, store: HermesStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.plans = self.openings = 0
        self._count(monkeypatch, Summary, "plan", "plans")
        self._count(monkeypatch, type(kind_of(store.store)), "open", "openings")

    def _count(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, counter: str) -> None:
        done: Callable[..., Any] = getattr(owner, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            setattr(self, counter, getattr(self, counter) + 1)
            return done(*args, **kwargs)

        monkeypatch.setattr(owner, name, counted)

    def since(self) -> tuple[int, int]:
        found = self.plans, self.openings
        self.plans = self.openings = 0
        return found


@pytest.fixture
def counts(chat_store: HermesStore, monkeypatch: pytest.MonkeyPatch) -> Counts:
    return Counts(chat_store, monkeypatch)


def test_a_panel_its_question_and_the_preview_share_one_plan(
    signed_in: Client, chat_store: HermesStore, counts: Counts
) -> None:
    href = f"/stores/hermes/sessions/{chat_store.session_id}"
    chat_store.append("one more, so that no other test has planned this")
    signed_in.get(f"{href}/plan", headers=FRAGMENT)
    assert counts.since() == (1, 1)
    signed_in.post(f"{href}/plan", CHOSEN | {"confirm": "1"}, headers=FRAGMENT)
    assert counts.since() == (0, 1)
    signed_in.post(f"{href}/compact", CHOSEN, headers=FRAGMENT)
    assert counts.since() == (0, 1)
    assert Run.objects.get().status == "queued"


@pytest.mark.parametrize("other", [{"focus": "prices"}, {"keep": "20"}])
def test_another_choice_is_another_plan(
    signed_in: Client, chat_store: HermesStore, counts: Counts, other: dict[str, str]
) -> None:
    href = f"/stores/hermes/sessions/{chat_store.session_id}/plan"
    signed_in.get(href, CHOSEN, headers=FRAGMENT)
    counts.since()
    signed_in.get(href, CHOSEN | other, headers=FRAGMENT)
    assert counts.since() == (1, 1)


def test_a_message_that_says_something_else_is_planned_anew(
    signed_in: Client, chat_store: HermesStore, counts: Counts
) -> None:
    """As long as before, so that the token of the session is the same."""
    href = f"/stores/hermes/sessions/{chat_store.session_id}"
    signed_in.get(f"{href}/plan", CHOSEN, headers=FRAGMENT)
    counts.since()
    chat_store.rows("UPDATE messages SET content = upper(content) WHERE id = (SELECT min(id) + 30 FROM messages)")
    signed_in.post(f"{href}/compact", CHOSEN, headers=FRAGMENT)
    assert counts.since() == (1, 1)


def test_an_undo_and_its_question_open_the_store_once(
    signed_in: Client, chat_store: HermesStore, counts: Counts, at_once: None
) -> None:
    href = f"/stores/hermes/sessions/{chat_store.session_id}"
    signed_in.post(f"{href}/compact", CHOSEN | {"apply": "1"}, headers=FRAGMENT)
    run = Run.objects.get()
    assert run.status == "applied"
    undo = f"{href}/boundaries/{run.handoff_id}/undo"
    counts.since()
    assert signed_in.get(undo, headers=FRAGMENT).status_code == 200
    assert counts.since() == (0, 1)
    here = {"HX-Current-URL": f"http://testserver{href}"}
    answer = signed_in.post(undo, headers=FRAGMENT | here)
    assert counts.since() == (0, 1)
    assert "Undone. 80 messages in context again." in answer.content.decode()
    run.refresh_from_db()
    assert run.status == "undone"
