"""Marks: whether rows of a session came, went or changed their state, told without reading a row."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.factories.stores import create_empty
from viewer.stores.base import NOTHING, RowsDigest, Store
from viewer.stores.hermes.change_tokens import appended, counted_rows, read_marks, rows_said
from viewer.stores.hermes.reader import open_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "own.db"
    create_empty(path)
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1), ('t', 'cli', 1)")
        con.executemany(
            "INSERT INTO messages (session_id, role, timestamp, active, compacted) VALUES (?, 'user', 1, ?, ?)",
            [("s", 1, 0)] * 5 + [("s", 0, 1)] * 3 + [("t", 1, 0)] * 2 + [("s", 0, 0)],
        )
    return path


def execute(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as con, con:
        con.execute(sql)


def mark(path: Path, session_id: str = "s") -> RowsDigest:
    with open_store(Store("own", f"sqlite:///{path}", "configured")) as reader:
        return read_marks(reader, [session_id]).get(session_id, NOTHING)


def test_it_counts_own_rows_alone(path: Path) -> None:
    found = mark(path)
    assert (found.rows, found.live, found.newest) == (9, 5, 11)
    assert counted_rows(found.digest) == 9
    assert mark(path, "t").rows == 2
    assert mark(path, "none") == NOTHING


SAY = "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'y', 2)"


@pytest.mark.parametrize(
    "change",
    [
        SAY,
        "DELETE FROM messages WHERE id = 2",
        "UPDATE messages SET active = 0 WHERE id = 5",
        "UPDATE messages SET active = 1 WHERE id = 11",
        "UPDATE messages SET active = CASE id WHEN 5 THEN 0 ELSE 1 END WHERE id IN (5, 11)",
        "UPDATE messages SET session_id = 't' WHERE id = 3",
        "UPDATE messages SET id = 500 WHERE id = 4",
        "UPDATE messages SET timestamp = 1.5 WHERE id = 4",
    ],
)
def test_every_change_of_rows_is_noticed(path: Path, change: str) -> None:
    before, other = mark(path), mark(path, "t")
    execute(path, change)
    assert mark(path) != before
    assert "'t'" in change or mark(path, "t") == other


def test_rows_that_were_appended_are_told_from_everything_else(path: Path) -> None:
    before = mark(path)
    execute(path, SAY)
    execute(path, SAY)
    after = mark(path)
    assert appended(before.digest, after.digest, [(12, 2.0), (13, 2.0)])
    for ids in ([], [12], [13], [12, 14], [12, 13, 14], [13, 13]):
        assert not appended(before.digest, after.digest, [(row_id, 2.0) for row_id in ids])
    assert not appended(before.digest, after.digest, [(12, 2.0), (13, 2.5)])
    assert appended(NOTHING.digest, mark(path, "t").digest, [(9, 1.0), (10, 1.0)])


def said(path: Path, before: RowsDigest) -> int | None:
    with open_store(Store("own", f"sqlite:///{path}", "configured")) as reader:
        return rows_said(reader, "s", before.digest, read_marks(reader, ["s"])["s"].digest)


def test_how_many_rows_were_appended_is_read_from_the_store(path: Path) -> None:
    before = mark(path)
    assert said(path, before) is None
    execute(path, SAY)
    execute(path, SAY.replace("2)", "1784000000.1234567)"))
    assert said(path, before) == 2
    execute(path, "UPDATE messages SET active = 0 WHERE id = 5")
    assert said(path, before) is None


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE messages SET active = 0 WHERE id = 5",
        "DELETE FROM messages WHERE id = 9 OR id = 11",
        "DELETE FROM messages WHERE id = 1",
    ],
)
def test_appending_and_another_change_is_not_appending(path: Path, change: str) -> None:
    before = mark(path)
    execute(path, SAY)
    execute(path, change)
    assert not appended(before.digest, mark(path).digest, [(12, 2.0)])


def test_no_row_is_read_for_it(path: Path) -> None:
    with open_store(Store("own", f"sqlite:///{path}", "configured")) as reader:
        seen: list[str] = []
        assert isinstance(reader.con, sqlite3.Connection)
        reader.con.set_trace_callback(seen.append)
        read_marks(reader, ["s", "t"])
        reader.con.set_trace_callback(None)
        plan = reader.con.execute(f"EXPLAIN QUERY PLAN {seen[0]}").fetchall()
    assert len(seen) == 1
    assert all("COVERING INDEX" in step[3] for step in plan if "SEARCH" in step[3] or "SCAN" in step[3])


@pytest.mark.parametrize("version", [16, 21, 31])
def test_real_databases_have_the_index(small_hermes_copy: Callable[[int], Path], version: int) -> None:
    with open_store(Store("own", f"sqlite:///{small_hermes_copy(version)}", "configured")) as reader:
        ids = [row[0] for row in reader.con.execute("SELECT id FROM sessions").fetchall()]
        found = read_marks(reader, ids)
        for session_id, count in reader.con.execute("SELECT session_id, COUNT(*) FROM messages GROUP BY 1").fetchall():
            assert found[session_id].rows == count
