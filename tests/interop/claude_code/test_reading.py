"""Our reader tells of a session what the real Claude Code sends to the model when it resumes it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.claude_code import views
from tests.interop.fetched import NotInstalled
from viewer.stores.base import Store
from viewer.stores.registry import open_store

from .playing import Player
from .scenarios import SCENARIOS

# One of each kind. What is sent at other moments is recorded (`record`), and read in `tests/store`.
LIVE = {
    "plain-turns": ["third"],
    "parallel-tools": ["out-of-order"],
    "thinking": ["compacted"],
    "sub-agent": ["answered"],
    "typed-things": ["shell-command"],
    "forks": ["fork-of-fork"],
    "older-2.1.178": ["compacted"],
    "compact": ["tools", "with-instructions"],
    "auto-compaction": ["turn"],
    "summarise-up-to": ["turn-of-terminal"],
    "rewind": ["to-the-first", "compacted"],
    "interrupted": ["while-a-tool-runs"],
    "killed-client": ["while-a-tool-runs"],
    "torn-lines": ["prompt", "no-newline"],
    "changed-boundaries": ["unknown-anchor", "large-older-leaf"],
    "steered": ["not-explicit", "behind-boundary"],
}
CASES = [pytest.param(name, moment, id=f"{name}.{moment}") for name, moments in LIVE.items() for moment in moments]


@pytest.fixture(scope="session")
def player(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Player]:
    """All scenarios that are asked for, played once and beside each other."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    asked = [item.callspec.params for item in items if item.function is test_what_is_sent_on_resume]
    with Player(tmp_path_factory.mktemp("claude-code")) as playing:
        for name, live in LIVE.items():
            if moments := [moment for moment in live if {"name": name, "moment": moment} in asked]:
                playing.start(SCENARIOS[name], moments)
        yield playing


@pytest.mark.parametrize(("name", "moment"), CASES)
def test_what_is_sent_on_resume(player: Player, name: str, moment: str) -> None:
    try:
        case = player.case(SCENARIOS[name], moment)
    except NotInstalled as missing:
        pytest.skip(f"Claude Code {SCENARIOS[name].version} is not here: {missing}")
    with open_store(Store("work", f"claude-code:///{case.config}", "configured")) as reader:
        read = views.conversation(views.told(reader.live(case.session_id)))
    assert read == case.sent
