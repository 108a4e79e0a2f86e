"""A run from start to undo on real databases."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.runs.desk import Desk
from viewer.runs import life
from viewer.runs.planning import Options
from viewer.store.stores import open_store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]


@pytest.mark.parametrize("version", [21, 31])
def test_it_works(open_desk: Callable[[int], Desk], version: int) -> None:
    desk = open_desk(version)
    before = desk.live()
    sessions = desk.rows("SELECT COUNT(*) FROM sessions")

    run = life.start(desk.store, desk.session_id, Options(), apply=True)

    assert (run.status, run.error_message) == ("applied", "")
    assert run.tokens_before and run.tokens_after and run.tokens_after < run.tokens_before
    assert run.messages_before == len(before)
    assert run.messages_after == len(desk.live()) == len(run.block_ids)
    assert any(row[1] and run.summary in row[1] for row in desk.live())
    assert desk.rows("SELECT COUNT(*) FROM sessions") == sessions
    assert desk.holders("compression_locks") == []
    with open_store(desk.store) as reader:
        newest = life.compactions(reader, desk.session_id)[-1]
    assert (newest.by, newest.run, newest.undoable) == ("by you, here", run.pk, True)
    assert newest.summary == run.summary

    life.undo(desk.store, desk.session_id, newest.handoff_id)

    assert desk.live() == before
    run.refresh_from_db()
    assert run.status == "undone"
