"""Requests take turns while they are quick and compute (`viewer/up/server.Turns`)."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from viewer.up import server
from viewer.up.server import Turns

PATIENCE = 30.0


def ask(site: Turns, path: str) -> list[bytes]:
    found: list[bytes] = site({"PATH_INFO": path}, lambda *_: None)
    return found


class Site:
    """An application whose requests compute for a while, wait to be let go, or fail, and which notes how many are in it
    at most.
    """

    def __init__(self) -> None:
        self.inside, self.most, self.release_quietly = 0, 0, threading.Event()
        self.lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        path = environ["PATH_INFO"]
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        try:
            if path.startswith("/fails"):
                raise ValueError
            if path.startswith("/waits"):
                assert self.release_quietly.wait(PATIENCE)
            if path.startswith("/computes"):
                while not self.release_quietly.is_set():
                    sum(range(1000))
            else:
                compute(0.03)
        finally:
            with self.lock:
                self.inside -= 1
        return [path.encode()]


def compute(seconds: float) -> None:
    """For so much processor time of this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


@pytest.fixture
def site() -> Site:
    return Site()


def test_one_computes_at_a_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LOOK_SECONDS", PATIENCE)  # on a busy machine one that computes may get no time
    paths, turns = [f"/{number}" for number in range(8)], Turns(site)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda path: ask(turns, path), paths))
    assert answers == [[path.encode()] for path in paths]
    assert site.most == 1


@pytest.mark.parametrize("busy", ["/waits", "/computes"])
def test_one_that_waits_or_is_large_is_not_waited_for(site: Site, busy: str) -> None:
    turns = Turns(site)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, turns, busy) for _ in range(4 if busy == "/waits" else 1)]
        until(lambda: site.inside == len(asked))
        assert ask(turns, "/quick") == [b"/quick"]
        assert not any(each.done() for each in asked)
        site.release_quietly.set()
        assert [each.result(PATIENCE) for each in asked] == [[busy.encode()]] * len(asked)


def test_four_that_wait_hold_nobody_for_long(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "QUICK_SECONDS", PATIENCE)  # only that they do not compute lets others in
    turns = Turns(site)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, turns, "/waits") for _ in range(4)]
        until(lambda: site.inside == 4)
        site.release_quietly.set()
        assert [each.result(PATIENCE) for each in asked] == [[b"/waits"]] * 4


def test_one_that_fails_ends_its_turn(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LOOK_SECONDS", PATIENCE)
    turns = Turns(site)
    for _ in range(2):
        with pytest.raises(ValueError):
            ask(turns, "/fails")
    assert not turns._under_way
    assert ask(turns, "/quick") == [b"/quick"]


def test_exports_have_threads_of_their_own_and_no_turn(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "QUICK_SECONDS", PATIENCE)
    turns = Turns(site)
    with ThreadPoolExecutor(2) as pool:
        page = pool.submit(ask, turns, "/computes")
        until(lambda: site.inside == 1)
        path = "/stores/own/sessions/s/export"
        assert ask(turns, path) == [path.encode()]
        site.release_quietly.set()
        page.result(PATIENCE)


def until(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.slow
def test_who_came_first_is_next(tmp_path: Path) -> None:
    """However many others come meanwhile: one that is overtaken again and again waits for as long as they come."""
    with closing(sqlite3.connect(tmp_path / "a.db")) as con:
        con.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    begun, overtaken, lock = count(), list[int](), threading.Lock()

    def computes(environ: dict[str, Any], _: Any) -> list[bytes]:
        with lock:
            overtaken.append(next(begun) - environ["arrived"])
        for _ in range(4):  # who asks a database lets others run
            with closing(sqlite3.connect(tmp_path / "a.db")) as con:
                con.execute("SELECT * FROM t").fetchall()
            compute(0.0005)
        return []

    turns = Turns(computes)

    def client() -> None:
        while len(overtaken) < 500:
            turns({"PATH_INFO": "/", "arrived": len(overtaken)}, None)  # type: ignore[arg-type]

    with ThreadPoolExecutor(8) as pool:
        for each in [pool.submit(client) for _ in range(8)]:
            each.result()
    assert sorted(overtaken)[-5] <= 8
