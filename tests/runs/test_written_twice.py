"""What an agent of Hermes stored twice is one message: in History, in a plan, in what a compaction writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from tests.factories.histories import history_of
from tests.factories.stores import HermesStore, add_session
from viewer.history import index_cache
from viewer.pages.session.messages import of_history
from viewer.runs import planning, service
from viewer.runs.planning import Options
from viewer.stores.hermes import schema
from viewer.stores.hermes.reader import open_store
from viewer.stores.message import HistoryMessage
from viewer.stores.registry import get_store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]

START = 1_795_000_000.0
NOTE = "It was written twice: the context holds this message a second time."
Row = tuple[str, str, float]


def turns(count: int) -> list[list[Row]]:
    """Turns of a request and its reply."""
    return [
        [
            ("user", f"Request {n}: book the seat in row {n}. " + "Fare rules. " * 90, START + n * 10),
            ("assistant", f"Reply {n}: booked. " + "As asked. " * 90, START + n * 10 + 5),
        ]
        for n in range(count)
    ]


def row_by_row(said: list[list[Row]]) -> list[Row]:
    return [row for turn in said for row in turn for _ in range(2)]


def turn_by_turn(said: list[list[Row]]) -> list[Row]:
    return [row for turn in said for _ in range(2) for row in turn]


def whole(said: list[list[Row]]) -> list[Row]:
    return [row for turn in said for row in turn] * 2


def requests_at_once(said: list[list[Row]]) -> list[Row]:
    return [row for (role, text, at), reply in said for row in ((role, text, at), (role, text, at + 0.02), reply)]


@pytest.fixture
def stored(tmp_path: Path, settings: Settings) -> Callable[[Sequence[Row]], HermesStore]:
    """A function that makes a store with one session of these rows."""

    def make(rows: Sequence[Row]) -> HermesStore:
        path = tmp_path / "state.db"
        schema.create(path)
        add_session(path, "twice", model="claude-sonnet-4-5", message_count=len(rows))
        add(path, rows)
        settings.STORES = {"hermes": f"sqlite:///{path}"}
        return HermesStore(get_store("hermes"), path, "twice")

    return make


def add(path: Path, rows: Sequence[Row]) -> None:
    with closing(sqlite3.connect(path)) as con, con:
        con.executemany("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('twice', ?, ?, ?)", rows)


def shown(hermes_store: HermesStore) -> list[tuple[str, bool]]:
    """The messages of History, by the words that they begin with, and whether it says of each that it stands twice."""
    with open_store(hermes_store.store) as reader:
        index = index_cache.of(reader, hermes_store.session_id)
        assert index.entries == history_of(reader, hermes_store.session_id).entries
        items = [
            item for item in reader.shown(hermes_store.session_id, index.entries) if isinstance(item, HistoryMessage)
        ]
    return [(str(item.content).partition(":")[0], NOTE in of_history(item).notes) for item in items]


def in_context(hermes_store: HermesStore) -> list[str]:
    return [str(content).partition(":")[0] for _, content, *_ in hermes_store.live()]


NAMES = [f"{who} {n}" for n in range(30) for who in ("Request", "Reply")]


@pytest.mark.parametrize("order", [row_by_row, turn_by_turn, whole])
def test_rows_stored_twice_are_shown_once_and_written_once(
    stored: Callable[[Sequence[Row]], HermesStore], order: Callable[[list[list[Row]]], list[Row]]
) -> None:
    hermes_store = stored(order(turns(30)))
    assert shown(hermes_store) == [(name, True) for name in NAMES]
    before = hermes_store.live()
    assert len(before) == 120, "the agent sends all of them"
    draft = planning.draft(hermes_store.store, hermes_store.session_id, Options())
    assert draft.plan.reasons[-1] == planning.repeats_sentence(60)
    assert draft.tokens_before == 2 * draft.plan.tokens_before
    assert len(draft.ids) == 60
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    assert (run.status, run.error_message) == ("applied", "")
    assert (run.messages_before, run.tokens_before) == (120, draft.tokens_before)
    live = in_context(hermes_store)
    assert live[:2] == ["Request 0", "Reply 0"]
    assert len(set(live)) == len(live), "each stands once"
    assert shown(hermes_store) == [(name, False) for name in NAMES]
    with open_store(hermes_store.store) as reader:
        [boundary] = history_of(reader, hermes_store.session_id).boundaries
    assert (boundary.messages_before, boundary.messages_after) == (120, len(live))
    assert boundary.summarised + boundary.kept == 60
    assert run.handoff_id
    service.undo(hermes_store.store, hermes_store.session_id, run.handoff_id)
    assert hermes_store.live() == before
    assert shown(hermes_store) == [(name, True) for name in NAMES]


def test_where_all_have_one_time_what_is_in_context_twice_was_said_twice(
    stored: Callable[[Sequence[Row]], HermesStore],
) -> None:
    hermes_store = stored([(role, text, START) for role, text, _ in turn_by_turn(turns(15))])
    before, names = hermes_store.live(), [name for turn in range(15) for name in NAMES[2 * turn : 2 * turn + 2] * 2]
    assert [name for name, _ in shown(hermes_store)] == names
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    assert (run.status, run.messages_before) == ("applied", 60)
    with open_store(hermes_store.store) as reader:
        [boundary] = history_of(reader, hermes_store.session_id).boundaries
    assert (boundary.messages_before, boundary.summarised + boundary.kept) == (60, 60)
    assert [name for name, _ in shown(hermes_store)] == names
    assert run.handoff_id
    service.undo(hermes_store.store, hermes_store.session_id, run.handoff_id)
    assert hermes_store.live() == before


def test_requests_sent_twice_at_once_are_one(stored: Callable[[Sequence[Row]], HermesStore]) -> None:
    hermes_store = stored(requests_at_once(turns(30)))
    assert shown(hermes_store) == [(name, name.startswith("Request")) for name in NAMES]
    assert len(planning.draft(hermes_store.store, hermes_store.session_id, Options()).ids) == 60


@pytest.mark.parametrize("more", [row_by_row, turn_by_turn, requests_at_once])
def test_what_is_appended_twice_is_one_message_too(
    stored: Callable[[Sequence[Row]], HermesStore], more: Callable[[list[list[Row]]], list[Row]]
) -> None:
    said = turns(6)
    hermes_store = stored([row for turn in said[:4] for row in turn])
    assert len(shown(hermes_store)) == 8
    for row in more(said[4:]):
        add(hermes_store.path, [row])
        names = [
            name for name, _ in shown(hermes_store)
        ]  # after each: the index of the rows before it is extended, or not
        assert len(set(names)) == len(names)
    assert [name for name, _ in shown(hermes_store)] == NAMES[:12]


def test_two_rows_that_are_appended_between_two_looks_are_one_message(
    stored: Callable[[Sequence[Row]], HermesStore],
) -> None:
    said = turns(6)
    hermes_store = stored([row for turn in said[:4] for row in turn])
    assert len(shown(hermes_store)) == 8
    add(hermes_store.path, row_by_row(said[4:]))
    assert [name for name, _ in shown(hermes_store)] == NAMES[:12]


@pytest.mark.parametrize(
    "rows",
    [
        [("user", "yes", START), ("user", "yes", START + 2)],
        [("user", "yes", START), ("user", "yes", START + 0.2)],
        [("user", "yes", START), ("assistant", "Done.", START + 0.02), ("user", "yes", START + 0.04)],
        [("user", "yes", START), ("assistant", "Done.", START), ("user", "yes", START), ("user", "yes", START)],
        [("user", "yes", 5.0), ("user", "yes", 5.0)],  # no time that an agent can have
        [("assistant", "Done.", START), ("assistant", "Done.", START + 0.02)],
        [("user", "yes", START), ("user", "yes.", START)],
    ],
)
def test_what_was_said_twice_is_two_messages(stored: Callable[[Sequence[Row]], HermesStore], rows: list[Row]) -> None:
    hermes_store = stored(rows)
    assert [name for name, _ in shown(hermes_store)] == [text for _, text, _ in rows]


@pytest.mark.parametrize("column", ["tool_call_id", "tool_calls", "display_kind"])
def test_rows_that_differ_in_what_they_are_are_two(stored: Callable[[Sequence[Row]], HermesStore], column: str) -> None:
    said: dict[str, Any] = {"tool_call_id": "a", "tool_calls": '[{"id": "a"}]', "display_kind": "hidden"}
    hermes_store = stored([("user", "yes", START), ("user", "yes", START)])
    hermes_store.rows(f"UPDATE messages SET {column} = ? WHERE id = 2", said[column])
    assert len(shown(hermes_store)) == 2
