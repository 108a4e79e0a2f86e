"""Undoing what another context engine (hermes-lcm, lossless-claw) put in place of a transcript."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from tests.factories.other_engines import SENT, compacted_by_engine, handoff_rows
from tests.factories.stores import HermesStore, small_talk
from tests.slow import slow
from viewer.runs import service
from viewer.stores.errors import NotUndoable
from viewer.stores.registry import get_store

GONE = (
    "This session began with the summary: the messages that it replaces are not in it, and nothing can be brought back."
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]


@pytest.fixture
def talk(tmp_path: Path, settings: Settings) -> HermesStore:
    path = small_talk(tmp_path / "state.db", 20)
    settings.STORES = {"hermes": f"sqlite:///{path}"}
    return HermesStore(get_store("hermes"), path, "s1")


@pytest.mark.parametrize("role", ["user", *slow("assistant")])
@pytest.mark.parametrize("form", SENT)
def test_what_it_summarised_is_in_context_again(talk: HermesStore, form: str, role: str) -> None:
    before = talk.live()
    handoff = compacted_by_engine(talk.path, SENT[form], role=role)
    talk.append("And now?")
    outlook = service.outlook(talk.store, "s1", handoff)
    in_context = 4 + handoff_rows(form) + 1
    assert (outlook.refusal, outlook.context_messages_before, outlook.context_messages_after) == ("", in_context, 21)
    service.undo(talk.store, "s1", handoff)
    assert talk.live() == [*before, ("user", "And now?", None, None)]
    assert talk.rows("SELECT message_count FROM sessions") == [(21,)]


@pytest.mark.parametrize("form", SENT)
def test_it_is_refused_where_the_rows_are_gone(talk: HermesStore, form: str) -> None:
    handoff = compacted_by_engine(talk.path, SENT[form], gone=True)
    rows = talk.rows("SELECT * FROM messages")
    refusal = service.outlook(talk.store, "s1", handoff).refusal
    assert refusal == GONE
    with pytest.raises(NotUndoable) as refused:
        service.undo(talk.store, "s1", handoff)
    assert refused.value.message == refusal
    assert talk.rows("SELECT * FROM messages") == rows
