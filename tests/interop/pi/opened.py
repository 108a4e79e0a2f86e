"""A session of the real pi that the site knows: a copy of one that was made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.clients import ApiClient
from tests.interop.chat_service import ChatService
from tests.interop.fetched import NotInstalled
from tests.interop.real_agent import RealAgent
from tests.store_api import StoreApi

from .client import NEWEST, OLDER, PiClient, program
from .work import Work, talk

__all__ = ["made", "with_the_oldest_too", "work"]

with_the_oldest_too = pytest.mark.parametrize("made", [OLDER, NEWEST], indirect=True, scope="module")


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[PiClient, Path]:
    """A client, and the file of its session."""
    try:
        found = program(getattr(request, "param", NEWEST))
    except NotInstalled as missing:
        pytest.skip(f"pi is not here: {missing}")
    with ChatService() as model:
        client = PiClient(found, tmp_path_factory.mktemp("pi"), model)
        return client, talk(client)


@pytest.fixture
def work(
    made: tuple[PiClient, Path],
    api_client: ApiClient,
    transactional_db: None,
    at_once: None,
    no_other_store: None,
    settings: Settings,
    tmp_path: Path,
) -> Iterator[Work]:
    """A copy of the session, which the site knows."""
    client, file = made
    with ChatService() as model:
        copied = client.copy(tmp_path / "copy", model)
        agent = RealAgent(f"pi://{copied.home}")
        settings.STORES = {"work": agent.url}
        yield Work(copied, copied.home / file.relative_to(client.home), StoreApi(api_client, "work", agent))
