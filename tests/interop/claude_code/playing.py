"""Scenarios of the real client, and what it sends to the model when a session is resumed at each of their moments."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.agents.base import Block
from tests.agents.claude_code import views

from .client import NEWEST, Client, program
from .service import Service

NEXT = "NEXT"  # the prompt that a session is resumed with
WORKERS = (os.cpu_count() or 1) + 1  # one more than there are cores: a client also waits


@dataclass(frozen=True, slots=True)
class Moment:
    """When a copy is taken, and of which session."""

    name: str
    session_id: str


Play = Callable[[Client], Iterator[Moment]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is done with a client of one version; `moments` are the names of those that it yields."""

    name: str
    play: Play
    moments: tuple[str, ...]
    version: str = NEWEST


@dataclass(frozen=True, slots=True)
class Case:
    """A session at one moment (`config` is the client's directory as it was) and what the client sent of it to the
    model when it was resumed, without the new prompt.
    """

    scenario: str
    moment: str
    config: Path
    work: Path
    session_id: str
    sent: list[Block]


class Player:
    """Plays scenarios, several at once."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._pool = ThreadPoolExecutor(WORKERS)
        self._played: dict[str, Future[dict[str, Future[Case]]]] = {}

    def __enter__(self) -> Player:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)

    def start(self, scenario: Scenario, moments: Collection[str]) -> None:
        """Play a scenario beside the others; its session is resumed at these moments."""
        self._played[scenario.name] = self._pool.submit(self._play, scenario, moments)

    def case(self, scenario: Scenario, moment: str) -> Case:
        """What the client sent at one moment of a scenario that was started. Raises what went wrong in there."""
        return self._played[scenario.name].result()[moment].result()

    def _play(self, scenario: Scenario, moments: Collection[str]) -> dict[str, Future[Case]]:
        cases: dict[str, Future[Case]] = {}
        passed = []
        with Service() as service:
            client = Client(program(scenario.version), self._place / scenario.name, service)
            for at, moment in enumerate(scenario.play(client)):
                passed.append(moment.name)
                if moment.name not in moments:
                    continue
                copies = self._place / scenario.name / f"moment{at}"
                before = client.copy(copies / "before", service)
                cases[moment.name] = self._pool.submit(_resumed, scenario.name, moment, before, copies / "resumed")
        assert tuple(passed) == scenario.moments, f"{scenario.name} has the moments {passed}"
        return cases


def _resumed(scenario: str, moment: Moment, before: Client, place: Path) -> Case:
    with Service() as service:
        before.copy(place, service).turn(moment.session_id, NEXT)
        sent = views.conversation(views.sent(service.of("turn")[0]))
    assert (sent[-1].role, sent[-1].said) == ("user", NEXT)
    return Case(scenario, moment.name, before.config, before.work, moment.session_id, sent[:-1])
