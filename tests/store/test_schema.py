"""An empty store: the columns of the newest known layout, search by triggers, refusals."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from viewer.stores.hermes import schema

_DATA = Path(__file__).parent.parent / "data" / "hermes_columns_31.tsv"
RECORDED = [line for line in _DATA.read_text().splitlines() if not line.startswith("#")]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    schema.create(tmp_path / "new.db")
    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1.0)")
        yield connection


def add(store: sqlite3.Connection, role: str, content: str) -> int:
    cursor = store.execute(
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', ?, ?, 2.0)", (role, content)
    )
    assert cursor.lastrowid
    return cursor.lastrowid


def found(store: sqlite3.Connection, words: str, table: str = "messages_fts") -> list[int]:
    return [
        row for (row,) in store.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid", (words,))
    ]


def test_a_new_store_is_empty_sound_and_private(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    schema.create(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("SELECT version FROM schema_version").fetchall() == [(31,)]
        assert connection.execute("SELECT COUNT(*) FROM messages").fetchone() == (0,)
    assert path.stat().st_mode & 0o077 == 0


def test_an_existing_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "there.db"
    path.write_bytes(b"somebody's file")
    with pytest.raises(FileExistsError, match="there.db exists already"):
        schema.create(path)
    assert path.read_bytes() == b"somebody's file"


@pytest.mark.parametrize("table", sorted({line.split("\t")[0] for line in RECORDED}))
def test_tables_have_the_columns_of_a_real_schema_31(store: sqlite3.Connection, table: str) -> None:
    told = [
        "\t".join((table, name, kind, str(notnull), default or "-"))
        for _, name, kind, notnull, default, _ in store.execute(f"PRAGMA table_info({table})")
    ]
    assert sorted(told) == sorted(line for line in RECORDED if line.startswith(f"{table}\t"))


def test_search_follows_insert_update_and_delete(store: sqlite3.Connection) -> None:
    kept, gone = add(store, "user", "the heron stands still"), add(store, "assistant", "a heron flies off")
    assert found(store, "heron") == [kept, gone]
    store.execute("UPDATE messages SET content = 'the stork stands still' WHERE id = ?", (kept,))
    store.execute("DELETE FROM messages WHERE id = ?", (gone,))
    assert (found(store, "heron"), found(store, "stork")) == ([], [kept])
    assert (found(store, "ero", "messages_fts_trigram"), found(store, "tork", "messages_fts_trigram")) == ([], [kept])
    for table in ("messages_fts", "messages_fts_trigram"):
        store.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")


def test_tool_rows_are_found_by_their_first_8192_characters_and_not_by_substring(store: sqlite3.Connection) -> None:
    row = add(store, "tool", "early " + "x " * 5000 + "late")
    assert (found(store, "early"), found(store, "late")) == ([row], [])
    assert found(store, "early", "messages_fts_trigram") == []


def test_flipping_flags_leaves_the_index_alone(store: sqlite3.Connection) -> None:
    row = add(store, "user", "the heron stands still")
    before = store.execute("SELECT id, block FROM messages_fts_data").fetchall()
    store.execute("UPDATE messages SET active = 0, compacted = 1 WHERE id = ?", (row,))
    assert store.execute("SELECT id, block FROM messages_fts_data").fetchall() == before
    assert found(store, "heron") == [row]


def test_rows_get_a_uid_unless_they_bring_one(store: sqlite3.Connection) -> None:
    minted = add(store, "user", "one")
    store.execute("INSERT INTO messages (session_id, role, timestamp, message_uid) VALUES ('s', 'user', 3.0, 'mine')")
    uids = dict(store.execute("SELECT id, message_uid FROM messages"))
    assert len(uids[minted]) == 32 and uids[minted + 1] == "mine"


def test_titles_are_unique_and_parents_exist(store: sqlite3.Connection) -> None:
    store.execute("UPDATE sessions SET title = 'once'")
    with pytest.raises(sqlite3.IntegrityError):
        store.execute("INSERT INTO sessions (id, source, started_at, title) VALUES ('t', 'cli', 1.0, 'once')")
    with pytest.raises(sqlite3.IntegrityError):
        store.execute("INSERT INTO sessions (id, source, started_at, parent_session_id) VALUES ('t', 'cli', 1.0, 'no')")
