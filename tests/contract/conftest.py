"""Each kind of store, with its agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.agents.base import Agent
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.codex.by_hand import CodexByHand
from tests.agents.gemini.by_hand import GeminiByHand
from tests.agents.hermes.by_hand import InFile, Old, OnServer, emptied
from tests.agents.hermes.real import REQUIREMENTS, Hermes, RealHermes, environment
from tests.agents.json_file import JsonFile, add_json_kind
from tests.agents.openclaw.by_hand import OpenClawByHand, OpenClawFilesByHand
from tests.agents.opencode.by_hand import OpenCodeByHand
from tests.agents.pi.by_hand import PiByHand
from tests.agents.qwen.by_hand import QwenByHand
from tests.factories import postgres_stores
from tests.slow import slow
from tests.store_api import StoreApi

# What these are asked is asked of "hermes", whose rows have the newest schema, and of pi's files in each run.
ALIKE = slow("hermes21", "openclaw-files")  # but where much is written, or processes are started
STARTED = slow("hermes31", "postgres")  # schema 22 and the demo are asked in tests/interop and tests/e2e
BY_HAND = ("hermes", "openclaw", "claude-code", "codex", "pi", "opencode")
UNLIKE = (*BY_HAND, *STARTED)
COMPACTED = (*UNLIKE, *ALIKE)
READ_ONLY = slow("gemini", "qwen")  # the kinds of files that are parsed whole
KINDS = ("hermes16", "json", *READ_ONLY, *COMPACTED)
# Where nearly all is done by what the kinds share, each run asks one of rows and one of files.
_SHARED = ("hermes", "claude-code", *slow("openclaw", "codex", "pi", "opencode"), *ALIKE, *STARTED)
shared = pytest.mark.parametrize("agent", ("json", *slow("hermes16"), *READ_ONLY, *_SHARED), indirect=True)
shared_by_compacted = pytest.mark.parametrize("agent", _SHARED, indirect=True)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hermes]:
    """The real agent of the newest schema, started once."""
    hermes = Hermes(environment(REQUIREMENTS[31]), tmp_path_factory.mktemp("agent") / "home", "http://127.0.0.1:9")
    yield hermes
    hermes.stop()


@pytest.fixture(params=KINDS)
def agent(request: pytest.FixtureRequest, tmp_path: Path, settings: Settings) -> Iterator[Agent]:
    """An agent with an empty store, which the site knows."""
    made = _agent(request.param, request, tmp_path)
    settings.STORES = {made.store: made.url}
    settings.DEMO_STORE = tmp_path / "no-demo.db"
    settings.HERMES_HOME = tmp_path / "no-home"
    yield made
    if isinstance(made, RealHermes):
        made.hermes.close()


def _agent(kind: str, request: pytest.FixtureRequest, place: Path) -> Agent:
    if kind == "json":
        request.getfixturevalue("json_kind")
        return JsonFile(place / "agent.json")
    if kind == "claude-code":
        return ClaudeByHand(place / "claude")
    if kind == "codex":
        return CodexByHand(place / "codex")
    if kind == "openclaw":
        return OpenClawByHand(place / "openclaw")
    if kind == "openclaw-files":
        return OpenClawFilesByHand(place / "openclaw")
    if kind == "pi":
        return PiByHand(place / "pi")
    if kind == "gemini":
        return GeminiByHand(place / "gemini")
    if kind == "qwen":
        return QwenByHand(place / "qwen")
    if kind == "opencode":
        return OpenCodeByHand(place / "opencode")
    if kind == "postgres":
        return OnServer(postgres_stores.empty(request.getfixturevalue("postgres")).url)
    path = place / "state.db"
    if kind == "hermes":
        return InFile(emptied(request.getfixturevalue("own_databases")(31, small=True), path))
    if kind == "hermes31":
        hermes = request.getfixturevalue("running")
        hermes.open(path)
        return RealHermes(hermes, path)
    version = int(kind.removeprefix("hermes"))
    emptied(request.getfixturevalue("hermes_databases")(version), path)
    return Old(path) if version == 16 else InFile(path)


@pytest.fixture
def json_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind that the guide writes as an example is one of the site's."""
    add_json_kind(monkeypatch)


@pytest.fixture
def store_api(agent: Agent, request: pytest.FixtureRequest, transactional_db: None, at_once: None) -> StoreApi:
    """The site, asked about the agent's store; runs are done when they are asked for."""
    return StoreApi(request.getfixturevalue("api_client"), agent.store, agent)
