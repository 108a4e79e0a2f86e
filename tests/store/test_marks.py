"""The version of a store: whether its file was written, found without opening it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.factories.stores import create_empty
from viewer.stores.base import Store
from viewer.stores.errors import StoreUnavailable
from viewer.stores.hermes import database, schema
from viewer.stores.hermes.database import store_version
from viewer.stores.hermes.reader import open_store

SETTLED = database.SETTLED  # the tests wait less


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "own.db"
    create_empty(path)
    time.sleep(2 * database.SETTLED)
    return path


def store_at(path: Path) -> Store:
    return Store("own", f"sqlite:///{path}", "configured")


def write(path: Path, number: int = 0) -> None:
    with closing(sqlite3.connect(path)) as con, con:
        con.execute(
            "INSERT INTO sessions (id, source, started_at) VALUES (?, 'cli', 1)", [f"s{number}-{time.time_ns()}"]
        )


def test_it_stays_while_nothing_is_written_however_often_it_is_read(path: Path) -> None:
    before = store_version(store_at(path))
    for _ in range(3):
        with open_store(store_at(path)) as reader:
            reader.con.execute("SELECT COUNT(*) FROM sessions").fetchall()
    assert store_version(store_at(path)) == before


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_every_write_changes_it_also_one_that_the_clock_cannot_tell(path: Path, journal: str) -> None:
    with closing(sqlite3.connect(path)) as con:
        con.execute(f"PRAGMA journal_mode = {journal}")
    seen = {store_version(store_at(path))}
    for number in range(20):
        write(path, number)
        found = store_version(store_at(path))
        assert found not in seen
        seen.add(found)


def test_it_changes_with_a_write_that_stays_in_the_log(path: Path) -> None:
    """An agent that stays connected writes to the log alone."""
    with closing(sqlite3.connect(path)) as con:
        con.execute("PRAGMA journal_mode = wal")
        con.execute("PRAGMA wal_autocheckpoint = 0")
        write(path, 1)
        time.sleep(2 * database.SETTLED)
        before, octets = store_version(store_at(path)), path.stat().st_mtime_ns
        write(path, 2)
        assert path.stat().st_mtime_ns == octets
        time.sleep(2 * database.SETTLED)
        assert store_version(store_at(path)) != before


def test_within_moments_of_a_write_it_equals_none(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another write in the same step of the file system's clock would look the same."""
    write(path)
    with monkeypatch.context() as longer:
        longer.setattr(database, "SETTLED", 60.0)  # longer than this test is held up
        assert store_version(store_at(path)) != store_version(store_at(path))
    time.sleep(2 * database.SETTLED)
    assert store_version(store_at(path)) == store_version(store_at(path))


def test_a_backup_that_is_copied_over_it_with_its_times_changes_it(path: Path, tmp_path: Path) -> None:
    before = store_version(store_at(path))
    shutil.copy2(path, tmp_path / "backup.db")
    write(path)
    shutil.copy2(tmp_path / "backup.db", path)
    time.sleep(2 * database.SETTLED)
    assert path.stat().st_mtime_ns == (tmp_path / "backup.db").stat().st_mtime_ns
    assert store_version(store_at(path)) != before


def test_a_log_that_a_slow_disk_has_not_taken_yet_counts_as_being_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit is seen by others when it is on disk, and the files do not change at that moment."""
    assert SETTLED >= 2, "seconds; a disk takes more than moments"
    monkeypatch.setattr(database, "SETTLED", 60.0)  # longer than this test is held up
    with closing(sqlite3.connect(path)) as con:
        con.execute("PRAGMA journal_mode = wal")
        write(path)
        time.sleep(0.5)
        assert store_version(store_at(path)) != store_version(store_at(path))


def test_another_file_of_the_same_name_has_another(path: Path, tmp_path: Path) -> None:
    before = store_version(store_at(path))
    schema.create(tmp_path / "other.db")
    found = os.stat(path)
    os.utime(tmp_path / "other.db", ns=(found.st_atime_ns, found.st_mtime_ns))
    os.replace(tmp_path / "other.db", path)
    assert store_version(store_at(path)) != before


def test_the_files_are_not_opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing an ordinary handle would drop the locks of a connection in this process."""
    opened: list[str] = []
    with monkeypatch.context() as noted:
        noted.setattr("builtins.open", lambda name, *rest, **more: opened.append(str(name)))
        noted.setattr(os, "open", lambda name, *rest, **more: opened.append(str(name)))
        noted.setattr(sqlite3, "connect", lambda name, *rest, **more: opened.append(str(name)))
        store_version(store_at(path))
    assert opened == []


def test_a_file_that_is_gone_has_none(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        store_version(store_at(tmp_path / "gone.db"))
    with pytest.raises(StoreUnavailable):
        store_version(store_at(tmp_path))
