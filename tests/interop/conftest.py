"""The two Hermes packages on PyPI that stand for the databases people have, and a site that knows one store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.agents.hermes.model import Model
from tests.agents.hermes.real import REQUIREMENTS, Hermes, environment


@pytest.fixture
def no_other_store(settings: Settings, tmp_path: Path) -> None:
    """The site finds no store by itself."""
    for agent in ("HERMES", "CLAUDE", "CODEX", "OPENCLAW", "PI", "OPENCODE", "GEMINI", "QWEN"):
        setattr(settings, f"{agent}_HOME", tmp_path / "no-home")
    settings.DEMO_STORE = tmp_path / "no-demo.db"


@pytest.fixture(scope="session")
def hermes22() -> Path:
    """The Python of a virtual environment with the newest official Hermes on PyPI, which writes schema 22."""
    return environment(REQUIREMENTS[22])


@pytest.fixture(scope="session")
def hermes31() -> Path:
    """The Python of a virtual environment with a Hermes that follows upstream closely and writes schema 31."""
    return environment(REQUIREMENTS[31])


@pytest.fixture(scope="session", params=[22, 31], ids=lambda version: f"schema{version}")
def schema(request: pytest.FixtureRequest) -> int:
    """Each schema version a real Hermes is at hand for."""
    version: int = request.param
    return version


@pytest.fixture(scope="session")
def model() -> Iterator[Model]:
    with Model() as server:
        yield server
        server.shutdown()


@pytest.fixture(scope="package")
def process(
    schema: int, request: pytest.FixtureRequest, model: Model, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Hermes]:
    """One Hermes process for all tests of a schema version: starting it costs seconds."""
    python = request.getfixturevalue(f"hermes{schema}")
    running = Hermes(python, tmp_path_factory.mktemp(f"hermes{schema}") / "home", model.url)
    yield running
    running.stop()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Where the fresh `state.db` of a test is."""
    return tmp_path / "state.db"


@pytest.fixture
def hermes(process: Hermes, database: Path, model: Model) -> Iterator[Hermes]:
    """Hermes with a fresh database open."""
    model.requests.clear()
    process.open(database)
    yield process
    process.close()
