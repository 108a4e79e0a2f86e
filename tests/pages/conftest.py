"""The demo store, and tokens counted as a worker does."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from pytest_django import Settings


@pytest.fixture(scope="session")
def demo_original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.factories.odd_demo import make_odd_demo

    path = tmp_path_factory.mktemp("demo") / "demo.db"
    make_odd_demo(path)
    return path


@pytest.fixture
def demo(demo_original: Path, tmp_path: Path, settings: Settings) -> Callable[[str], str]:
    """The demo store alone, with the odd sessions; a function from a session's title to the address of its page."""
    path = tmp_path / "demo.db"
    shutil.copyfile(demo_original, path)
    settings.STORES = {}
    settings.DEMO_STORE = path

    def address(title: str) -> str:
        with closing(sqlite3.connect(path)) as con:
            found = con.execute("SELECT id FROM sessions WHERE title = ?", [title]).fetchone()
        return f"/stores/demo/sessions/{found[0]}"

    return address


@pytest.fixture
def short_demo(demo: Callable[[str], str], settings: Settings) -> Callable[[str], str]:
    """The demo store with two sessions left in it, for what is asked of its list."""
    from viewer.pages.preferences import FIRST

    with closing(sqlite3.connect(settings.DEMO_STORE)) as con, con:
        con.execute("DELETE FROM sessions WHERE title NOT IN ('Lisbon in October, five people and a dog', ?)", [FIRST])
        con.execute("DELETE FROM messages WHERE session_id NOT IN (SELECT id FROM sessions)")
    return demo


@pytest.fixture
def counted(db: None) -> Callable[[str, str], None]:
    """A function that counts all tokens of a session (its store's name and its id), as a worker does."""
    from viewer.history import index_cache
    from viewer.stores.hermes.paths import get_session
    from viewer.stores.hermes.reader import open_store
    from viewer.stores.registry import get_store
    from viewer.stores.transcript import NONE

    def count(store: str, session_id: str) -> None:
        with open_store(get_store(store)) as reader:
            assert NONE not in index_cache.count_some(reader, get_session(reader, session_id), 60).tokens

    return count
