"""Scenarios of the real client, what it sends to the model each time that it resumes a session in them, and the context
that it builds of the session's file by itself.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.agents.base import Json
from tests.interop.chat_service import ChatService

from .client import PiClient, program
from .rpc import Rpc

WORKERS = (os.cpu_count() or 1) + 1  # one more than there are cores: a client also waits


@dataclass(slots=True)
class PiCase:
    """A session as it was (`home` holds a copy of its file), the first request of the client that resumed it, without
    the new prompt, and the context that the client builds of the file.
    """

    name: str
    home: Path
    file: Path
    sent: list[Json]
    context: list[Json] = field(default_factory=list)

    @property
    def session_id(self) -> str:
        return self.file.stem.partition("_")[2]


class PiStage(PiClient):
    """A client whose sessions are copied before each time that it resumes one."""

    cases: list[PiCase]

    def turn(self, file: Path, prompt: str) -> None:
        with self.resuming(file):
            super().turn(file, prompt)

    def turn_of(self, process: Rpc, file: Path, prompt: str, **more: Any) -> None:
        """A turn of a session that an open process reads from its file."""
        with self.resuming(file):
            process.resume(file)
            process.turn(prompt, **more)

    @contextmanager
    def resuming(self, file: Path) -> Iterator[None]:
        """Inside, a session is resumed; it is noted as it was before."""
        home = self.place / f"case{len(self.cases)}"
        copied = home / file.relative_to(self.home)
        copied.parent.mkdir(parents=True)
        shutil.copyfile(file, copied)
        before = len(self.service.requests)
        yield
        sent = self.service.requests[before].body["messages"][:-1]
        self.cases.append(PiCase(f"{self.place.name}.{len(self.cases)}", home, copied, sent))

    def build_contexts(self) -> None:
        """Have the client build the contexts of all cases. It gets copies, since it rewrites files of older forms."""
        copies = [Path(shutil.copyfile(each.file, f"{each.file}.copy")) for each in self.cases]
        for case, found, copied in zip(self.cases, self.contexts(*copies), copies, strict=True):
            case.context = found["messages"]
            copied.unlink()


Play = Callable[[PiStage], None]


@dataclass(frozen=True, slots=True)
class PiScenario:
    """What is done with a client; `resumes` says how often it resumes a session in it."""

    name: str
    play: Play
    resumes: int


class PiPlayer:
    """Plays scenarios, several at once."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._pool = ThreadPoolExecutor(WORKERS)
        self._played: dict[tuple[str, str], Future[list[PiCase]]] = {}

    def __enter__(self) -> PiPlayer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)

    def start(self, version: str, scenario: PiScenario) -> None:
        """Have a client of this version play a scenario beside the others."""
        self._played[version, scenario.name] = self._pool.submit(self._play, version, scenario)

    def cases(self, version: str, scenario: PiScenario) -> list[PiCase]:
        """What was sent in a scenario that was started. Raises what went wrong in there."""
        return self._played[version, scenario.name].result()

    def _play(self, version: str, scenario: PiScenario) -> list[PiCase]:
        place = self._place / version / scenario.name
        shutil.rmtree(place, ignore_errors=True)
        with ChatService() as service:
            stage = PiStage(program(version), place, service)
            stage.cases = []
            scenario.play(stage)
            stage.build_contexts()
        return stage.cases
