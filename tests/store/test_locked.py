"""A store that is locked or being written: what lists wait for it, and what is said of its journal."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from tests.agents.hermes import program
from tests.html import read
from viewer.stores import kind
from viewer.stores.base import Store
from viewer.stores.errors import StoreUnanswered, StoreUnavailable
from viewer.stores.hermes import schema
from viewer.stores.hermes.reader import open_store
from viewer.stores.sqlite import reading as sqlite
from viewer.web.auth import new_token

LISTS = ("/", "/?q=needle", "/search?q=needle", "/compactions", "/stores", "/api/v1/stores")


def made(path: Path, journal: str = "delete") -> Store:
    """A store of one session."""
    schema.create(path)
    with closing(sqlite3.connect(path)) as con, con:
        con.execute(f"PRAGMA journal_mode = {journal}")
        con.execute("INSERT INTO sessions (id, source, title, started_at) VALUES ('a', 'cli', 'the needle', 1)")
        con.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('a', 'user', 'needle', 1)")
    path.chmod(0o644)
    return Store(path.stem, f"sqlite:///{path}", "configured")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """As by an agent's VACUUM."""
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        con.execute("BEGIN EXCLUSIVE")
        yield


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    kind.forget_slow()


def test_locked_stores_cost_lists_a_moment_once_and_are_named(
    signed_in: Client, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, free = made(tmp_path / "held.db"), made(tmp_path / "free.db")
    settings.STORES = {store.name: store.url for store in (held, free)}
    token = {"Authorization": f"Bearer {new_token('t', ['read'])}"}
    before = {path: signed_in.get(path, headers=token) for path in LISTS}
    with closing(sqlite3.connect(tmp_path / "held.db")) as con, con:
        con.execute("UPDATE sessions SET title = 'another needle'")
    patience: list[float] = []
    connect = sqlite3.connect

    def connected(address: Any, *args: Any, **options: Any) -> sqlite3.Connection:
        if "held.db" in str(address):
            patience.append(options["timeout"])
        made: sqlite3.Connection = connect(address, *args, **options)
        return made

    monkeypatch.setattr(kind, "REMEMBERED", 3_600.0)
    with locked(tmp_path / "held.db"):
        monkeypatch.setattr(sqlite3, "connect", connected)
        for path in LISTS:
            said = signed_in.get(path, headers=token)
            assert said.status_code == 200 and b"Store held is locked by another program" in said.content, path
            assert b"the needle" in said.content or "needle" not in str(before[path].content), path
    assert len(patience) == 1 and patience[0] <= 0.2  # seconds


def test_what_is_known_of_a_locked_store_is_listed(signed_in: Client, tmp_path: Path, settings: Settings) -> None:
    settings.STORES = {"held": made(tmp_path / "held.db").url}
    read(signed_in.get("/"))
    with closing(sqlite3.connect(tmp_path / "held.db")) as con, con:
        con.execute("UPDATE sessions SET title = 'another'")
    with locked(tmp_path / "held.db"):
        page = read(signed_in.get("/"))
    assert "the needle" in page.text and "Its sessions are listed as they were before." in page.text
    kind.forget_slow()
    assert "another" in read(signed_in.get("/")).text


def test_one_session_is_waited_for_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 1.0)
    store = made(tmp_path / "held.db")
    with locked(tmp_path / "held.db"):
        for listed, least in ((True, 0.15), (False, 0.9), (True, 0.0)):
            began = time.monotonic()
            with pytest.raises(StoreUnanswered, match="Store held is locked"), open_store(store, listed=listed):
                pass
            assert time.monotonic() - began >= least
    with open_store(store):
        pass


# -- journals ----------------------------------------------------------------------------------------------------------


def left_behind(path: Path) -> None:
    """A journal of a process that was killed while it wrote."""
    with subprocess.Popen([sys.executable, program.__file__, "rewrite", str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"half\n"
        process.kill()
    assert path.with_name(f"{path.name}-journal").stat().st_size


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that everybody may look into."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def as_nobody(store: Store) -> subprocess.Popen[str]:
    """What another user, who may only read, is told of the store: "read" or the sentence."""
    reading = (
        "import os, sys; os.setuid(65534)\n"
        "try:\n"
        "    with open_store(store) as reader: print(reader.con.execute('SELECT content FROM messages').fetchall())\n"
        "except StoreUnavailable as problem: print(problem.message)"
    )
    begin = (
        "import django; django.setup()\n"
        "from viewer.stores.errors import StoreUnavailable\n"
        "from viewer.stores.base import Store\n"
        "from viewer.stores.hermes.reader import open_store\n"
        f"store = {store!r}; print('ready', flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", begin + reading], stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")


@pytest.mark.slow
@needs_root
def test_a_journal_that_nobody_cleans_up_is_named(place: Path) -> None:
    store = made(place / "state.db")
    left_behind(store.path)
    with as_nobody(store) as process:
        assert process.communicate()[0].startswith("A program was killed while it wrote to store state, and this user")


@pytest.mark.slow
@needs_root
def test_a_journal_that_its_owner_cleans_up_is_waited_for(place: Path) -> None:
    store = made(place / "state.db")
    left_behind(store.path)
    with as_nobody(store) as process:
        time.sleep(0.4)
        with closing(sqlite3.connect(store.path)) as con:
            con.execute("SELECT 1 FROM messages").fetchall()
        assert process.communicate()[0] == "[('needle',)]\n"


@pytest.mark.slow
def test_who_may_clean_up_but_is_kept_from_it_is_told_to_try_again(tmp_path: Path) -> None:
    store = made(tmp_path / "state.db")
    left_behind(store.path)
    looking = (  # a reader that looks at the journal, too: it shares SQLite's lock (os_unix.c), and nobody can be alone
        f"import fcntl, time; file = open({str(store.path)!r}, 'rb')\n"
        "fcntl.lockf(file, fcntl.LOCK_SH, 510, 0x40000002); print('held', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", looking], stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"held\n"
        with pytest.raises(StoreUnavailable, match="is being written by another program just now"), open_store(store):
            pass
        process.kill()
    with open_store(store) as opened:
        assert opened.con.execute("SELECT content FROM messages").fetchall() == [("needle",)]


def test_a_write_is_noticed_while_a_file_is_read_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a full disk (tests/faults/test_own_unwritable.py), where SQLite has no room for what it keeps beside it."""
    store = made(tmp_path / "state.db", "wal")
    monkeypatch.setattr(sqlite, "connected", sqlite.immutable)
    with open_store(store) as reader:
        assert reader.con.execute("SELECT content FROM messages").fetchall() == [("needle",)]
    with (
        pytest.raises(StoreUnavailable, match="written while it was read"),
        open_store(store),
        closing(sqlite3.connect(store.path)) as other,
        other,
    ):
        other.execute("UPDATE sessions SET title = 'x'")


@pytest.mark.slow
@needs_root
def test_a_file_that_may_not_be_read_says_so(place: Path) -> None:
    store = made(place / "state.db", "wal")
    store.path.chmod(0o600)
    with as_nobody(store) as process:
        assert process.communicate()[0] == "Store state: SQLite reports: unable to open database file.\n"
