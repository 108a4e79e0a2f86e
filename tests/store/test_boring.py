"""A write is boring for the agent that owns the store: its file stays as it was made, nobody waits without need."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.factories.stores import WEEK_29, add_session, store_at
from tests.store.child_process import in_child
from tests.store.commits import VERSIONS, committed, map_of, path, planned, query, small, steps_for, undone
from viewer.stores.errors import StoreUnavailable
from viewer.stores.hermes import transaction
from viewer.stores.hermes.writer import append

from .child import write_all

__all__ = ["path", "small"]

PRAGMAS = (
    "journal_mode",
    "page_size",
    "auto_vacuum",
    "user_version",
    "application_id",
    "encoding",
    "journal_size_limit",
)


def pragmas(path: Path) -> dict[str, Any]:
    return {name: query(path, f"PRAGMA {name}")[0][0] for name in PRAGMAS}


def layout(path: Path) -> list[tuple[Any, ...]]:
    return query(path, "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name")


# -- the file ----------------------------------------------------------------------------------------------------------


def test_layout_and_pragmas_stay(path: Path) -> None:
    query(path, "PRAGMA user_version = 7")
    query(path, "PRAGMA application_id = 932988629")
    before = pragmas(path), layout(path)
    write_all(store_at(path), WEEK_29)
    assert (pragmas(path), layout(path)) == before
    assert query(path, "PRAGMA integrity_check") == [("ok",)]


def test_the_wal_of_a_running_agent_stays_its_own(small: Path) -> None:
    """The agent has its connection open: the sidecars stay the same files, and it alone takes the WAL over."""
    with closing(sqlite3.connect(small, isolation_level=None)) as agent:
        agent.execute("PRAGMA wal_autocheckpoint = 0")
        agent.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s1', 'user', 'a', 90.0)")
        sidecars = [Path(f"{small}-wal"), Path(f"{small}-shm")]
        before = [os.stat(sidecar).st_ino for sidecar in sidecars], os.stat(small)
        write_all(store_at(small), "s1")
        assert [os.stat(sidecar).st_ino for sidecar in sidecars] == before[0]
        assert os.stat(small).st_ino == before[1].st_ino
        assert agent.execute("SELECT COUNT(*) FROM messages").fetchone() == (14,)
        busy, frames, moved = agent.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        assert (busy, frames) == (0, moved) and agent.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.slow
def test_the_store_is_opened_by_sqlite_alone(path: Path) -> None:
    """An ordinary open and close of the file would drop the locks of a connection in the same process."""
    assert in_child(path, WEEK_29) == {"done": ["append", "commit", "undo"], "opened": []}


# -- waiting -----------------------------------------------------------------------------------------------------------


@contextmanager
def locked_elsewhere(path: Path, seconds: float) -> Iterator[None]:
    """Another process holds the write lock for so long."""
    script = (
        "import sqlite3, sys, time; con = sqlite3.connect(sys.argv[1], isolation_level=None); "
        "con.execute('BEGIN IMMEDIATE'); print(flush=True); time.sleep(float(sys.argv[2])); con.execute('COMMIT')"
    )
    command = [sys.executable, "-c", script, str(path), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        yield
        other.terminate()


@pytest.mark.slow
def test_a_writer_that_takes_three_seconds_is_waited_for(small: Path) -> None:
    with locked_elsewhere(small, 3.0):
        write_all(store_at(small), "s1")
    assert query(small, "SELECT COUNT(*) FROM messages") == [(13,)]


def test_beyond_the_patience_nothing_is_written(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert transaction.PATIENCE == 20.0, "docs/hermes.md: the owner's own for routine writes"
    monkeypatch.setattr(transaction, "PATIENCE", 0.3)
    before = query(small, "SELECT * FROM messages")
    with (
        closing(sqlite3.connect(small, isolation_level=None)) as other,
        pytest.raises(StoreUnavailable, match="stayed locked") as refused,
    ):
        other.execute("BEGIN IMMEDIATE")
        append(store_at(small), "s1", [{"role": "user", "content": "x"}], now=40.0)
    assert refused.value.code == "store_unavailable" and "nothing was written" in refused.value.message
    assert query(small, "SELECT * FROM messages") == before


def test_a_reader_holds_a_commit_up_for_a_while_and_no_longer(
    small_hermes_copy: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In journal mode "delete" nobody can write while a commit waits: it gives up earlier than for a writer."""
    path = small_hermes_copy(31)
    query(path, "PRAGMA journal_mode = delete")
    monkeypatch.setattr(transaction, "COMMIT_PATIENCE", 1.0)
    message = [{"role": "user", "content": "x"}]
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        before = reader.execute("SELECT COUNT(*) FROM messages").fetchone()
        with pytest.raises(StoreUnavailable, match="stayed locked by another program for 1 s; nothing was written"):
            append(store_at(path), WEEK_29, message, now=1.9e9)
        reader.execute("COMMIT")
        assert reader.execute("SELECT COUNT(*) FROM messages").fetchone() == before
    append(store_at(path), WEEK_29, message, now=1.9e9)


def test_waiting_does_not_starve_the_agent(small: Path) -> None:
    """While we wait for one slow writer, the next in line gets its turn within its own patience."""
    taken = []

    def agent() -> None:
        with closing(sqlite3.connect(small, timeout=1.0, isolation_level=None)) as con:
            for turn in range(20):
                transaction._patiently(con, "BEGIN IMMEDIATE", 20.0)
                con.execute("UPDATE sessions SET rewind_count = rewind_count + 1")
                con.execute("COMMIT")
                taken.append(turn)

    ours = [
        threading.Thread(target=lambda: [write_all(store_at(small), "s1") for _ in range(3)], daemon=True),
        threading.Thread(target=agent, daemon=True),
    ]
    with locked_elsewhere(small, 1.0):
        for thread in ours:
            thread.start()
    for thread in ours:
        thread.join(60)
    assert len(taken) == 20
    assert query(small, "SELECT rewind_count FROM sessions") == [(20,)]
    assert query(small, "SELECT COUNT(*) FROM messages") == [(8 + 3 * 5,)]


# -- how much work is done under the lock ------------------------------------------------------------------------------


class Counted:
    """What SQLite did in our write transactions: statements, and steps of its machine in hundreds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.statements: list[str] = []
        self.steps = 0
        opened = transaction.open_for_writing

        def counting(store: Any) -> sqlite3.Connection:
            con = opened(store)
            con.set_trace_callback(self.statements.append)
            con.set_progress_handler(self._step, 100)
            return con

        monkeypatch.setattr(transaction, "open_for_writing", counting)

    def _step(self) -> int:
        self.steps += 1
        return 0

    def taken(self) -> tuple[int, int]:
        done = len([text for text in self.statements if not text.startswith("--")]), self.steps
        self.statements.clear()
        self.steps = 0
        return done


def make_session(path: Path, session_id: str, live: int, under: int) -> None:
    """A session of our own in this store: `under` rows below boundaries, then `live` ones."""
    add_session(path, session_id)
    rows = [
        (session_id, "user", f"message {number}", 10.0 + number, int(number >= under), int(number < under))
        for number in range(under + live)
    ]
    with closing(sqlite3.connect(path)) as con, con:
        con.executemany(
            "INSERT INTO messages (session_id, role, content, timestamp, active, compacted) VALUES (?, ?, ?, ?, ?, ?)",
            rows,
        )


def work(path: Path, session_id: str, counted: Counted) -> tuple[tuple[int, int], tuple[int, int], int]:
    """Statements and steps of a commit and of its undo, and the rows the commit inserted."""
    snapshot = planned(path, session_id)
    steps = steps_for(snapshot, head=2, tail=30)
    counted.taken()
    before = query(path, "SELECT MAX(id) FROM messages")[0][0]
    done = committed(path, snapshot, steps)
    commit = counted.taken()
    inserted = query(path, "SELECT COUNT(*) FROM messages WHERE id > ?", before)[0][0]
    undone(path, map_of(snapshot, done))
    return commit, counted.taken(), inserted


@pytest.mark.parametrize("version", VERSIONS)
def test_what_lies_under_boundaries_costs_nothing(
    small_hermes_copy: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    path = small_hermes_copy(version)
    make_session(path, "young", live=60, under=0)
    make_session(path, "old", live=60, under=2_000)
    make_session(path, "large", live=120, under=0)
    counted = Counted(monkeypatch)
    (commit, undo, inserted), *others = (work(path, session, counted) for session in ("young", "old", "large"))
    (old_commit, old_undo, old_inserted), (large_commit, large_undo, _) = others
    assert inserted == old_inserted == 33
    assert (commit[0], undo[0]) == (old_commit[0], old_undo[0]), "statements"
    assert old_commit[1] < 1.2 * commit[1] and old_undo[1] < 1.2 * undo[1], "steps"
    assert large_commit[1] < 2.4 * commit[1] and large_undo[1] < 2.4 * undo[1], "steps go with the live rows"


def test_a_commit_flags_its_rows_with_one_statement(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows: the statements of a commit do not grow with the session."""
    make_session(small, "few", live=50, under=0)
    make_session(small, "many", live=200, under=0)
    counted = Counted(monkeypatch)
    few, many = (work(small, session, counted) for session in ("few", "many"))
    assert few[0][0] == many[0][0] and few[1][0] == many[1][0]


def test_an_append_does_not_read_the_session(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_session(small, "few", live=10, under=0)
    make_session(small, "many", live=2_000, under=2_000)
    counted = Counted(monkeypatch)
    for session in ("few", "many"):
        append(store_at(small), session, [{"role": "user", "content": "x"}], now=4e4)
        if session == "few":
            few = counted.taken()
    assert counted.taken() == few
