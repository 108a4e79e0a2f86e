"""What we write into sessions of older clients: they resume from exactly that, and so does the newest one."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from tests.agents.base import Block
from tests.agents.codex import views
from tests.clients import ApiClient
from tests.interop.fetched import NotInstalled
from tests.interop.real_agent import RealAgent
from tests.store_api import StoreApi
from viewer.stores.base import Store
from viewer.stores.registry import open_store

from .client import GPT_5, OLDER, OLDEST, Client, program
from .service import Service, says
from .work import KEPT, MUCH, SUMMARY, TURNS


def read(client: Client, session: str) -> list[Block]:
    """What we say that the model sees."""
    with open_store(Store("work", f"codex:///{client.home}", "configured")) as reader:
        return views.of_rows(reader.live(session))


def say(client: Client, session: str, prompt: str) -> list[Block]:
    """What the client sent of the session when it was told a prompt, which is what we read before."""
    before, known = len(client.service.requests), read(client, session)
    client.turn(session, prompt)
    (request, *_) = client.service.requests[before:]
    assert request.kind == "turn"
    assert views.conversation(views.told(views.of_session(request.body))) == known
    return known


@pytest.mark.parametrize("version", [OLDEST, OLDER])
def test_sessions_of_older_clients(
    version: str, api_client: ApiClient, transactional_db: None, at_once: None, settings: Settings, tmp_path: Path
) -> None:
    settings.HERMES_HOME = settings.CLAUDE_HOME = settings.CODEX_HOME = tmp_path / "no-home"
    settings.DEMO_STORE = tmp_path / "no-demo.db"
    try:
        older, newest = program(version), program()
    except NotInstalled as missing:
        pytest.skip(f"Codex is not here: {missing}")
    with Service() as service:
        client = Client(older, tmp_path / "older", service, model=GPT_5)
        agent = RealAgent(f"codex:///{client.home}")
        settings.STORES = {"work": agent.url}
        store_api = StoreApi(api_client, "work", agent)
        service.replies += [says(f"{number}: {MUCH}") for number in range(TURNS)]
        session = client.start("What grows in bed 0?")
        for number in range(1, TURNS):
            client.turn(session, f"What grows in bed {number}?")
        with client.app_server() as server:
            server.resume(session)
            server.turn(session, "Still open?")
            assert store_api.refusal("POST", f"{store_api.at(session)}/runs", {"apply": True}) == "session_busy"
        before = read(client, session)
        run = store_api.run(session, apply=True, keep_last=KEPT)
        assert run["status"] == "applied", run
        after = say(client, session, "And now?")
        assert len(after) < len(before) and any(block.said.startswith(SUMMARY) for block in after)
        client.program = newest
        say(client, session, "A newer client goes on.")
        later = read(client, session)[len(after) :]
        status, undone = api_client.call("POST", f"/runs/{run['id']}/undo")
        assert (status, undone.get("status")) == (200, "undone"), undone
        assert say(client, session, "All of it again.") == [*before, *later]
        client.program = older
        say(client, session, "And with the old one.")
