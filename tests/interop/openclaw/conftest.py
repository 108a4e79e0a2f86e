"""The real OpenClaw with one gateway for all tests: its start and its first turn cost more than twenty other turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.interop.chat_service import ChatService
from tests.interop.fetched import NotInstalled

from .client import program
from .playing import OpenClawCase, OpenClawStage
from .playing import stage as fresh
from .scenarios import play

OpenClawCases = Callable[[str], list[OpenClawCase]]


@pytest.fixture(scope="package")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenClawStage]:
    """A client whose gateway runs."""
    try:
        found = program()
    except NotInstalled as missing:
        pytest.skip(f"OpenClaw is not here: {missing}")
    with ChatService() as service:
        made = fresh(found, tmp_path_factory.mktemp("openclaw"), service)
        with made.gateway():
            yield made


@pytest.fixture(scope="package")
def openclaw_cases(gateway: OpenClawStage) -> OpenClawCases:
    """The cases of a scenario, which is played once."""
    played: dict[str, list[OpenClawCase]] = {}

    def of(name: str) -> list[OpenClawCase]:
        if name not in played:
            before = len(gateway.cases)
            play(gateway, name)
            played[name] = gateway.cases[before:]
        return played[name]

    return of
