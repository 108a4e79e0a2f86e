"""Scenarios of the real client, and what it sends to the model each time that it resumes a session in them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.agents.base import Json
from tests.agents.codex import views

from .app_server import AppServer
from .client import GPT_6, NEWEST, Client, Provider, copy_home, program
from .service import Service

WORKERS = (os.cpu_count() or 1) + 1  # one more than there are cores: a client also waits


@dataclass(frozen=True, slots=True)
class Case:
    """A session as it was (`home` is a copy of the client's), and the first request of the client that resumed it."""

    name: str
    home: Path
    session_id: str
    body: Json

    @property
    def sent(self) -> list[Json]:
        """The items it sent of the session, without the new prompt or the one for a summary."""
        return views.of_session(self.body)


class Stage(Client):
    """A client whose sessions are copied before each time that it resumes one."""

    cases: list[Case]

    def turn(self, session_id: str, prompt: str, *options: str) -> None:
        with self.resuming(session_id):
            super().turn(session_id, prompt, *options)

    def turn_of(self, server: AppServer, session_id: str, prompt: str, *more: Json) -> str:
        """A turn of a session that an app server resumes and lets go of; the turn's id."""
        with self.resuming(session_id):
            server.resume(session_id)
            turn = server.turn(session_id, prompt, *more)
            server.unload(session_id)
        return turn

    @contextmanager
    def resuming(self, session_id: str) -> Iterator[None]:
        """Inside, a session is resumed; it is noted as it was before."""
        home = self.place / f"case{len(self.cases)}"
        home.mkdir()
        copy_home(self.home, home)
        before = len(self.service.requests)
        try:
            yield
        finally:
            body = self.service.requests[before].body
            self.cases.append(Case(f"{self.place.name}.{len(self.cases)}", home, session_id, body))


Play = Callable[[Stage], None]


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is done with a client; `resumes` says how often it resumes a session in it."""

    name: str
    play: Play
    resumes: int
    model: str = GPT_6
    provider: Provider = "ours"
    version: str = NEWEST


class Player:
    """Plays scenarios, several at once."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._pool = ThreadPoolExecutor(WORKERS)
        self._played: dict[str, Future[list[Case]]] = {}

    def __enter__(self) -> Player:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)

    def start(self, scenario: Scenario) -> None:
        """Play a scenario beside the others."""
        self._played[scenario.name] = self._pool.submit(self._play, scenario)

    def cases(self, scenario: Scenario) -> list[Case]:
        """What was sent in a scenario that was started. Raises what went wrong in there."""
        return self._played[scenario.name].result()

    def _play(self, scenario: Scenario) -> list[Case]:
        place = self._place / scenario.name
        shutil.rmtree(place, ignore_errors=True)
        with Service() as service:
            stage = Stage(program(scenario.version), place, service, model=scenario.model, provider=scenario.provider)
            stage.cases = []
            scenario.play(stage)
        return stage.cases
