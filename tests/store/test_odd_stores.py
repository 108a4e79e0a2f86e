"""Stores of Hermes with what cannot be: times, parents in a circle, messages of no session."""

from __future__ import annotations

import math
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from tests.factories.stores import add_row, add_session, create_empty, reader_of, store_at
from tests.listed import activity_of
from viewer import times
from viewer.api.schemas import moment
from viewer.stores.errors import StoreUnanswered, TitleTaken
from viewer.stores.hermes import writer
from viewer.stores.search.pages import PageRequest, SearchFilter
from viewer.stores.search.query import parse
from viewer.stores.sqlite import reading as sqlite

NOW = 1_790_000_000.0
NEVER = [
    5.49e246,
    -5e300,
    1e-310,
    0,
    -1,
    12,
    NOW * 1e6,
    pytest.param(time.time() + 9e6, id="in a quarter of a year"),
    math.inf,
    -math.inf,
    None,
    "2026-09-01",
    b"x",
    "",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    create_empty(path)
    return path


@pytest.mark.parametrize("stored", [*NEVER, math.nan, True, 2**63, [NOW], {}])
def test_what_can_be_no_time_is_not_known(stored: Any) -> None:
    assert times.known(stored) == 0.0
    assert moment(stored) is None


def test_milliseconds_are_a_time() -> None:
    assert times.known(NOW * 1000) == times.known(NOW) == NOW
    assert times.known(int(NOW)) == NOW


@pytest.mark.parametrize("stored", [each for each in NEVER if each is not None])
def test_a_session_was_active_when_a_time_that_can_be_true_says_so(path: Path, stored: Any) -> None:
    add_session(path, started_at=stored, ended_at=stored)
    for _ in range(5):
        add_row(path, content="odd", timestamp=stored)
    add_row(path, content="sound", timestamp=NOW)
    with reader_of(path) as reader:
        session, facts = reader.session("s1"), reader.listing.sessions(["s1"])["s1"]
        assert (session.started_at, session.last_active, session.ended_at) == (0.0, NOW, 0.0)
        assert (facts.started_at, facts.ended_at, activity_of(reader, "s1").last_active) == (0.0, 0.0, NOW)
        assert [row.timestamp for row in reader.live("s1")] == [*[0.0] * 5, NOW]
        assert [row.extra.get("timestamp", 0) for row in reader.live("s1")] == [*[stored] * 5, 0]


def test_a_session_in_milliseconds_has_its_times(path: Path) -> None:
    add_session(path, started_at=NOW * 1000)
    add_row(path, content="said", timestamp=(NOW + 5) * 1000)
    with reader_of(path) as reader:
        session = reader.session("s1")
        assert (session.started_at, session.last_active) == (NOW, NOW + 5)
        assert activity_of(reader, "s1").last_active == NOW + 5


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_sessions_that_are_each_others_parents_go_on_with_none(path: Path, size: int) -> None:
    ids = [f"s{number}" for number in range(size)]
    for number, session_id in enumerate(ids):
        add_session(path, session_id, parent_session_id=ids[number - 1], end_reason="compression", ended_at=NOW)
        add_row(path, session_id, content=f"said in {session_id}", timestamp=NOW)
    add_session(path, "after", parent_session_id="s0", started_at=NOW)
    with reader_of(path) as reader:
        assert [reader.parts(session_id) for session_id in ids] == [[session_id] for session_id in ids]
        assert [reader.newest_part(session_id) for session_id in ids[1:]] == ids[1:]
        assert (reader.newest_part("s0"), reader.parts("after")) == ("after", ["s0", "after"])
        assert {facts.parent for name, facts in reader.listing.sessions(ids).items()} == {""}


def test_a_log_that_cannot_be_read_here_is_said_in_words(path: Path) -> None:
    add_session(path)
    open_elsewhere = sqlite3.connect(path)
    open_elsewhere.execute("PRAGMA journal_mode = wal")
    open_elsewhere.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s1', 'user', 'x', 1)")
    open_elsewhere.commit()
    copy = path.parent / "copy.db"
    for ending in ("", "-wal"):
        Path(f"{copy}{ending}").write_bytes(Path(f"{path}{ending}").read_bytes())
    open_elsewhere.close()
    problem = sqlite.unavailable("work", copy, sqlite3.OperationalError("unable to open database file"))
    assert "copy.db-wal" in problem.message and "SQLite reports" not in problem.message
    Path(f"{copy}-wal").unlink()
    problem = sqlite.unavailable("work", copy, sqlite3.OperationalError("unable to open database file"))
    assert "SQLite reports" in problem.message


def test_who_did_not_get_at_the_log_may_try_again(path: Path) -> None:
    """SQLite says so if others began and ended to use it for seconds, as the workers of a busy site do."""
    assert isinstance(sqlite.unavailable("work", path, sqlite3.OperationalError("locking protocol")), StoreUnanswered)


def test_the_session_that_has_a_name_is_named(path: Path) -> None:
    add_session(path, "first", title="Desk", end_reason="compression", ended_at=NOW)
    add_session(path, "tip", title="Desk #2", parent_session_id="first")
    with pytest.raises(TitleTaken, match="first"):
        writer.rename(store_at(path), "tip", "Desk")


def test_a_session_that_was_closed_without_a_next_part_is_to_be_branched(path: Path) -> None:
    add_session(path, end_reason="compression", ended_at=NOW)
    with reader_of(path) as reader:
        refusal = reader.refusal("s1")
        assert refusal is not None and "Branch it" in refusal.message
        assert reader.refusal("s1", "branch") is None
        assert reader.session("s1").continued


def test_messages_of_no_session_are_no_hits(path: Path) -> None:
    add_session(path, "somebody")
    for session_id in ("nobody", "somebody"):
        for number in range(3):
            add_row(path, session_id, content=f"bees {number}", timestamp=NOW)
    with reader_of(path) as reader:
        page = reader.search(parse("bees"), SearchFilter(), PageRequest(10))
        assert [hit.session.id for hit in page.hits] == ["somebody"] * 3
