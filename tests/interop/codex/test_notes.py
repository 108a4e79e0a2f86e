"""What hooks and skills add beside each prompt leaves the context of the real Codex with the prompts that a compaction
of ours sums up, and is in every number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.agents.base import Json
from tests.agents.codex import views
from tests.clients import ApiClient
from tests.interop.fetched import NotInstalled
from tests.interop.real_agent import RealAgent
from tests.store_api import StoreApi

from .client import GPT_5, GPT_6, Client, program
from .resumed import resumed
from .service import Service, says, text_of
from .work import Work

TURNS = 12
NOTE = "Team note: the well is behind the shed, and water is saved. "
WORDS = NOTE * 35
NOTES = [pytest.param(("skill", GPT_5), id="skill"), pytest.param(("hook", GPT_6), id="hook-gpt-6")]


@pytest.fixture(params=NOTES)
def work(
    request: pytest.FixtureRequest, api_client: ApiClient, transactional_db: None, at_once: None, settings: Settings,
    tmp_path: Path,
) -> Iterator[Work]:  # fmt: skip
    """A session in which something is added beside each prompt."""
    (kind, model), nowhere = request.param, tmp_path / "nowhere"
    settings.HERMES_HOME = settings.CLAUDE_HOME = settings.CODEX_HOME = nowhere
    settings.DEMO_STORE = tmp_path / "no-demo.db"
    with Service() as service:
        try:
            client = Client(program(), tmp_path / "codex", service, model=model)
        except NotInstalled as missing:
            pytest.skip(f"Codex is not here: {missing}")
        if kind == "hook":
            client.hook(WORDS)
        else:
            client.skill("gardening", WORDS)
        agent = RealAgent(f"codex:///{client.home}")
        settings.STORES = {"work": agent.url}
        with client.app_server() as server:
            session = server.start()
            found = Work(client, server, session, StoreApi(api_client, "work", agent))
            for number in range(TURNS):
                service.replies += [says(f"{number}: Beans, and a row of leeks behind them. " * 8)]
                server.turn(session, prompt(number))
            server.unload(session)
            yield found


def prompt(number: int) -> str:
    return f"With $gardening, what grows in bed {number}?"


def sent(work: Work, said: str) -> list[Json]:
    """The items of the request that this prompt makes."""
    work.say(said)
    items: list[Json] = work.client.service.requests[-1].body["input"]
    return items


def notes(items: list[Json]) -> int:
    return sum(NOTE in text_of(item) for item in items if item.get("type") == "message")


def size(items: list[Json]) -> int:
    return len(json.dumps(items))


def test_notes_go_with_what_is_summed_up_and_come_back(work: Work) -> None:
    assert notes(sent(work, "And the path?")) >= TURNS
    status, plan = work.store_api.api_client.call("POST", f"{work.store_api.at(work.session)}/plan", {"keep_last": 4})
    assert status == 200 and plan["notes"] == notes(resumed(work.client.home, work.session))
    assert plan["note_tokens"] < plan["tokens_before"] < 2 * plan["note_tokens"]
    stored = views.told(resumed(work.client.home, work.session))
    work.undo(work.compact())
    assert views.told(resumed(work.client.home, work.session)) == stored
    before = sent(work, "And the well?")
    assert notes(before) >= TURNS
    work.compact()
    after = sent(work, "And the gate?")
    kept = [item for item in after if item.get("role") == "user" and "what grows in bed" in text_of(item)]
    assert notes(after) <= len(kept) + 3  # those of the three prompts behind the twelve
    assert size(before) - size(after) > (TURNS - len(kept)) * len(WORDS)
