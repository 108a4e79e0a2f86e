"""The real pi: what it sent, of all scenarios that are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.interop.fetched import NotInstalled

from .playing import PiCase, PiPlayer
from .scenarios import SCENARIOS

PiCases = Callable[[str, str], list[PiCase]]


@pytest.fixture(scope="session")
def pi_cases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PiCases]:
    """The cases of a scenario; they are played once and beside each other."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function) and hasattr(item, "callspec")]
    params = [item.callspec.params for item in items if "pi_cases" in item.fixturenames]
    asked = dict.fromkeys((str(each["version"]), str(each["scenario"])) for each in params if "scenario" in each)

    def of(version: str, name: str) -> list[PiCase]:
        try:
            return player.cases(version, SCENARIOS[name])
        except NotInstalled as missing:
            pytest.skip(f"pi is not here: {missing}")

    with PiPlayer(tmp_path_factory.mktemp("pi")) as player:
        for version, name in asked:
            player.start(version, SCENARIOS[name])
        yield of
