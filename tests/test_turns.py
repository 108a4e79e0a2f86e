"""Requests take turns while they are quick (`viewer/up/server.Turns`)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from viewer.up import server
from viewer.up.server import Turns

PATIENCE = 30.0


def ask(site: Turns, path: str) -> list[bytes]:
    found: list[bytes] = site({"PATH_INFO": path}, lambda *_: None)
    return found


class Grouped:
    """An application that answers only when so many requests are in it, and notes how many are at most."""

    def __init__(self, size: int) -> None:
        self.group, self.inside, self.most = threading.Barrier(size), 0, 0
        self.lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self.group.wait(PATIENCE)
        with self.lock:
            self.inside -= 1
        return [environ["PATH_INFO"].encode()]


def test_few_compute_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "AT_ONCE_SECONDS", PATIENCE)
    application, paths = Grouped(server.AT_ONCE), [f"/{number}" for number in range(12 * server.AT_ONCE)]
    site = Turns(application)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda path: ask(site, path), paths))
    assert answers == [[path.encode()] for path in paths]
    assert application.most == server.AT_ONCE


@pytest.mark.parametrize("failing", [False, True])
def test_a_slow_one_is_not_waited_for_and_one_that_fails_ends_its_turn(failing: bool) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        if environ["PATH_INFO"] == "/slow":
            begun.set()
            assert may_end.wait(PATIENCE)
        if environ["PATH_INFO"] == "/fails":
            raise ValueError
        return [b"quick"]

    site = Turns(application)
    with ThreadPoolExecutor(8) as pool:
        slow = [pool.submit(ask, site, "/slow") for _ in range(server.AT_ONCE)]
        assert begun.wait(PATIENCE)
        if failing:
            with pytest.raises(ValueError):
                ask(site, "/fails")
        assert ask(site, "/quick") == [b"quick"]
        assert not any(each.done() for each in slow)
        may_end.set()
        assert [each.result(PATIENCE) for each in slow] == [[b"quick"]] * server.AT_ONCE


def test_exports_have_threads_of_their_own_and_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "AT_ONCE_SECONDS", PATIENCE)
    site = Turns(Grouped(server.AT_ONCE + 1))
    with ThreadPoolExecutor(server.AT_ONCE + 1) as pool:
        answers = list(pool.map(lambda _: ask(site, "/stores/own/sessions/s/export"), range(server.AT_ONCE + 1)))
    assert len(answers) == server.AT_ONCE + 1
