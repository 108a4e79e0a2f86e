"""What cannot be written is refused with a sentence and a stable code, and nothing is written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.factories.stores import WEEK_29, add_row, add_session, reader_of, store_at
from tests.slow import slow
from tests.store.child_process import in_child
from tests.store.commits import committed, live, planned, query, small, steps_for
from viewer.stores.base import Store
from viewer.stores.errors import StoreError, StoreReadOnly, StoreUnavailable
from viewer.stores.hermes import commit as hermes_commit
from viewer.stores.hermes import database, plan, presence, transaction, writer
from viewer.stores.hermes.writer import append

__all__ = ["small"]

NOBODY = 65534
AS_ROOT = os.geteuid() == 0
MESSAGE = [{"role": "user", "content": "x"}]


def attempts(store: Store, snapshot: plan.Snapshot) -> Iterator[Callable[[], object]]:
    """Every kind of write."""
    yield lambda: append(store, snapshot.session_id, MESSAGE, now=40.0)
    yield lambda: presence.take_lock(store, snapshot.session_id, "somebody")
    yield lambda: writer.rename(store, snapshot.session_id, "another title")
    yield lambda: hermes_commit.commit(
        store, snapshot, steps_for(snapshot, 1, 2), lock_holder="held", lease_holder="held", now=40.0
    )


def commit(path: Path, snapshot: plan.Snapshot) -> None:
    """The commit among the attempts, with the lock and the lease it needs."""
    for table in ("compression_locks", "session_turn_leases"):
        query(path, f"INSERT INTO {table} VALUES ('s1', 'held', 1, ?)", time.time() + 300)
    *_, last = attempts(store_at(path), snapshot)
    last()


def all_rows(path: Path) -> list[Any]:
    return [query(path, f"SELECT * FROM {table}") for table in ("messages", "sessions")]


def refuses_all(path: Path, snapshot: plan.Snapshot, kind: type[StoreError], words: str) -> None:
    for attempt in attempts(store_at(path), snapshot):
        with pytest.raises(kind, match=words) as refused:
            attempt()
        assert refused.value.code == kind.code and refused.value.message.endswith((".", "again."))


# -- the disk ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_disk_without_room(small: Path, journal: str) -> None:
    """No file may grow beyond a limit: the WAL in one case, the database itself at the commit in the other."""
    query(small, f"PRAGMA journal_mode = {journal}")
    before = query(small, "SELECT * FROM messages")
    answer = in_child(small, "s1", fsize=40_000 if journal == "wal" else small.stat().st_size)
    assert answer["code"] == "store_unavailable"
    assert "no room left" in answer["message"] and "nothing was written" in answer["message"]
    assert query(small, "PRAGMA integrity_check") == [("ok",)]
    after = query(small, "SELECT * FROM messages")
    assert after == before or [row[3] for row in after[8:]] == ["appended " * 50], "as before or as after a whole write"
    assert in_child(small, "s1")["done"] == ["append", "commit", "undo"]


@pytest.fixture
def tiny_disk() -> Iterator[Path]:
    """A file system of 400 kB; only root may make one."""
    place = Path(tempfile.mkdtemp(prefix="palimpsest-tiny-"))
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", place], capture_output=True)
    if made.returncode:
        place.rmdir()
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", place], check=True)
    place.rmdir()


@pytest.mark.slow
def test_a_full_disk(small: Path, tiny_disk: Path) -> None:
    path = Path(shutil.copyfile(small, tiny_disk / "state.db"))
    filling = tiny_disk / "filling"
    with pytest.raises(OSError, match="No space"), filling.open("wb") as file:
        while True:
            file.write(b"x" * 4096)
            file.flush()
    snapshot = planned(small, "s1")
    with pytest.raises(StoreUnavailable, match=r"(full|no room left).*nothing was written"):
        append(store_at(path), snapshot.session_id, [{"role": "user", "content": "x" * 50_000}], now=40.0)
    filling.unlink()
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    assert query(path, "SELECT * FROM messages") == query(small, "SELECT * FROM messages")
    append(store_at(path), "s1", MESSAGE, now=40.0)


# -- rights ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def anybodys(small: Path) -> Iterator[Path]:
    """A copy of the small store in a directory that every user can enter."""
    place = Path(tempfile.mkdtemp(prefix="palimpsest-rights-"))
    place.chmod(0o777)
    path = Path(shutil.copyfile(small, place / "state.db"))
    path.chmod(0o666)
    yield path
    place.chmod(0o777)
    shutil.rmtree(place)


@pytest.mark.parametrize("journal", ["wal", *slow("delete")])
@pytest.mark.parametrize(("file", "directory"), [(0o444, 0o777), *slow((0o666, 0o555), (0o444, 0o555))])
def test_a_file_or_directory_that_this_user_may_not_write(
    anybodys: Path, journal: str, file: int, directory: int
) -> None:
    query(anybodys, f"PRAGMA journal_mode = {journal}")
    before = query(anybodys, "SELECT * FROM messages")
    anybodys.chmod(file)
    anybodys.parent.chmod(directory)
    answer = in_child(anybodys, "s1", **({"uid": NOBODY} if AS_ROOT else {}))
    assert (answer["code"], answer["opened"]) == ("store_read_only", [])
    assert "read-only" in answer["message"] and "nothing was written" in answer["message"]
    anybodys.parent.chmod(0o777)
    assert query(anybodys, "SELECT * FROM messages") == before


# -- another file in its place -----------------------------------------------------------------------------------------


def replace(path: Path) -> Path:
    """Put a copy in the file's place; the old file stays beside it."""
    copy, old = path.with_name("copy.db"), path.with_name("old.db")
    query(path, "VACUUM INTO ?", str(copy))
    path.rename(old)
    copy.rename(path)
    return old


def test_a_file_replaced_since_the_plan(small: Path) -> None:
    snapshot = planned(small, "s1")
    replace(small)
    with pytest.raises(StoreUnavailable, match=r"replaced since .* nothing was written"):
        committed(small, snapshot, steps_for(snapshot, 1, 2))
    assert len(live(small, "s1")) == 8


def test_a_file_replaced_or_deleted_during_the_write(small: Path) -> None:
    store = store_at(small)
    replaced = pytest.raises(StoreUnavailable, match="replaced meanwhile; nothing was written")
    with replaced, transaction.write(store) as con:
        con.execute("DELETE FROM messages")
        old = replace_quietly(small)
    assert [len(live(path, "s1")) for path in (small, old)] == [8, 8]
    with pytest.raises(StoreUnavailable, match="cannot be read"), transaction.write(store) as con:
        con.execute("DELETE FROM messages")
        small.rename(small.with_name("moved.db"))
    assert not small.exists() and len(live(small.with_name("moved.db"), "s1")) == 8


def replace_quietly(path: Path) -> Path:
    """`replace` while a write is open: the copy is made of the bytes."""
    old = path.with_name("old.db")
    copy = Path(shutil.copyfile(path, path.with_name("copy.db")))
    path.rename(old)
    copy.rename(path)
    return old


def test_a_file_that_is_gone_is_not_made_again(small: Path) -> None:
    snapshot = planned(small, "s1")
    small.unlink()
    refuses_all(small, snapshot, StoreUnavailable, "small.db cannot be read: No such file")
    assert not small.exists()


# -- other databases ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, body TEXT)",
        "CREATE TABLE notes (id INTEGER PRIMARY KEY)",
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, timestamp REAL)",
    ],
)
def test_another_programs_database(small: Path, tmp_path: Path, made: str) -> None:
    snapshot, other = planned(small, "s1"), tmp_path / "other.db"
    query(other, made)
    before = other.read_bytes()
    with pytest.raises(StoreUnavailable, match="not of agent sessions"), reader_of(other):
        pass
    for attempt in attempts(store_at(other), snapshot):
        with pytest.raises(StoreError) as refused:
            attempt()
        assert refused.value.code in ("store_unavailable", "store_read_only", "not_found")
    assert other.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("ALTER TABLE messages DROP COLUMN compacted", "no “compacted” column"),
        ("DROP TABLE compression_locks", "lacks the compression lock"),
        ("ALTER TABLE sessions DROP COLUMN message_count", "no sessions.message_count"),
    ],
)
def test_a_store_that_lacks_what_a_compaction_needs(tmp_path: Path, change: str, words: str) -> None:
    path = tmp_path / "bare.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        con.executescript(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL, "
            "end_reason TEXT, message_count INTEGER);"
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, timestamp REAL, "
            "tool_calls TEXT, tool_call_id TEXT, active INTEGER NOT NULL DEFAULT 1, "
            "compacted INTEGER NOT NULL DEFAULT 0);"
            "CREATE TABLE compression_locks (session_id TEXT PRIMARY KEY, holder TEXT, acquired_at REAL, "
            "expires_at REAL)"
        )
    add_session(path)
    for number in range(8):
        add_row(path, role=("user", "assistant")[number % 2], content="x", timestamp=number + 1.0)
    with reader_of(path) as reader:
        assert presence.compact_reason(reader) == ""
    query(path, change)
    before = query(path, "SELECT * FROM messages")
    with reader_of(path) as reader:
        assert words in presence.compact_reason(reader)
        refusal = reader.refusal("s1")
        assert isinstance(refusal, StoreReadOnly) and refusal.message == presence.compact_reason(reader)
    snapshot = plan.Snapshot("s1", ((1, 1, -1),), database.identity(store_at(path)))
    with pytest.raises(StoreError):
        hermes_commit.commit(store_at(path), snapshot, [], lock_holder="x", lease_holder="x", now=1.0)
    assert query(path, "SELECT * FROM messages") == before


def test_rows_whose_flag_is_not_set(small_hermes_copy: Callable[[int], Path]) -> None:
    """A build that made `active` nullable: the agent reads NULL as 1 after its next start, a commit would lose them."""
    path = small_hermes_copy(21)
    query(path, "ALTER TABLE messages RENAME COLUMN active TO old")
    query(path, "ALTER TABLE messages ADD COLUMN active INTEGER DEFAULT 1")
    query(path, "UPDATE messages SET active = old")
    with reader_of(path) as reader:
        assert presence.compact_reason(reader) == ""
    snapshot = planned(path)
    query(path, "UPDATE messages SET active = NULL WHERE id = ?", snapshot.rows[5][0])
    with reader_of(path) as reader:
        refusal = reader.refusal(WEEK_29)
    assert isinstance(refusal, StoreReadOnly) and "no “active” flag" in refusal.message
    before = query(path, "SELECT * FROM messages")
    with pytest.raises(StoreError):
        committed(path, snapshot, steps_for(snapshot))
    assert query(path, "SELECT * FROM messages") == before


def test_a_tokenizer_that_is_not_here(small: Path) -> None:
    """The triggers and the index are as the agent makes them, and SQLite itself says that the tokenizer is missing."""
    snapshot = planned(small, "s1")
    with closing(sqlite3.connect(small, isolation_level=None)) as con:
        con.execute("PRAGMA writable_schema = 1")
        index = "CREATE VIRTUAL TABLE messages_fts_cjk USING fts5(content, tokenize='cjk_unicode61')"
        con.execute("INSERT INTO sqlite_master VALUES ('table', 'messages_fts_cjk', 'messages_fts_cjk', 0, ?)", [index])
    query(small, "CREATE TRIGGER messages_fts_cjk_insert AFTER INSERT ON messages WHEN new.role <> 'tool' BEGIN "
                 "INSERT INTO messages_fts_cjk(rowid, content) VALUES (new.id, new.content); END")  # fmt: skip
    before = all_rows(small)
    with reader_of(small) as reader:
        refusal = reader.refusal("s1")
    assert isinstance(refusal, StoreReadOnly) and "cjk_unicode61" in refusal.message
    refused = pytest.raises(StoreReadOnly, match="tokenizer that is not here; nothing was written")
    with refused:
        append(store_at(small), "s1", MESSAGE, now=40.0)
    with refused:
        commit(small, snapshot)
    assert all_rows(small) == before


def test_a_damaged_page(small: Path) -> None:
    snapshot = planned(small, "s1")
    ((root,),) = query(small, "SELECT rootpage FROM sqlite_master WHERE name = 'messages'")
    ((size,),) = query(small, "PRAGMA page_size")
    with small.open("r+b") as file:
        file.seek((root - 1) * size)
        whole = file.read(size)
        file.seek((root - 1) * size)
        file.write(b"\xa5" * size)
    refused = pytest.raises(StoreUnavailable, match=r"not a readable SQLite database .* Nothing was written")
    with refused:
        append(store_at(small), "s1", MESSAGE, now=40.0)
    with refused:
        commit(small, snapshot)
    with small.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(whole)
    assert len(live(small, "s1")) == 8 and query(small, "PRAGMA integrity_check") == [("ok",)]
