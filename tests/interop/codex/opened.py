"""Sessions of the real Codex that the site knows, each a copy of one that was made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.clients import ApiClient
from tests.interop.fetched import NotInstalled
from tests.interop.real_agent import RealAgent
from tests.store_api import StoreApi

from .client import Client, program
from .service import Service
from .work import SORTS, Work, talk

__all__ = ["homes", "opened"]

Homes = Callable[[str], tuple[Client, str]]
Open = Callable[[str], Work]


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Homes]:
    """A function from the name of a home to a client with it, and the id of its session."""
    made: dict[str, tuple[Client, str]] = {}
    with ExitStack() as stack:

        def home(name: str) -> tuple[Client, str]:
            if name not in made:
                service = stack.enter_context(Service())
                client = Client(
                    program(),
                    tmp_path_factory.mktemp(name),
                    service,
                    provider="openai" if name == "encrypted" else "ours",
                )
                options = {"historyMode": "legacy"} if name == "legacy" else {}
                with client.app_server() as server:
                    made[name] = client, talk(client, server, **options)
            return made[name]

        yield home


@pytest.fixture
def opened(
    homes: Homes, api_client: ApiClient, transactional_db: None, at_once: None, settings: Settings, tmp_path: Path
) -> Iterator[Open]:
    """A function that makes a session of a sort, which the site knows."""
    settings.HERMES_HOME = settings.CLAUDE_HOME = settings.CODEX_HOME = tmp_path / "no-home"
    settings.DEMO_STORE = tmp_path / "no-demo.db"
    with ExitStack() as stack:

        def work(name: str) -> Work:
            try:
                client, session = homes(SORTS[name].home)
            except NotInstalled as missing:
                pytest.skip(f"Codex is not here: {missing}")
            copied = client.copy(tmp_path / "copy", stack.enter_context(Service()))
            agent = RealAgent(f"codex:///{copied.home}")
            settings.STORES = {"work": agent.url}
            server = stack.enter_context(copied.app_server())
            session = SORTS[name].make(copied, server, session)
            return Work(copied, server, session, StoreApi(api_client, "work", agent))

        yield work
