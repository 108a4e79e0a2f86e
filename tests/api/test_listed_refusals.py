"""What lists say of sessions that cannot be compacted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from tests.agents.base import Agent
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.codex.by_hand import CodexByHand
from tests.agents.openclaw.by_hand import OpenClawFilesByHand
from tests.agents.pi.by_hand import PiByHand
from tests.agents.talk import talk
from tests.clients import ApiClient
from tests.factories.stores import HermesStore
from viewer.catalog import sync_worker
from viewer.catalog.models import SessionIndex

pytestmark = pytest.mark.django_db


def first_line(change: Callable[[dict[str, Any]], Any]) -> Callable[[CodexByHand | PiByHand], None]:
    def changed(agent: CodexByHand | PiByHand) -> None:
        path = agent.path("broken")
        head, _, rest = path.read_bytes().partition(b"\n")
        value = json.loads(head)
        change(value)
        path.write_bytes(json.dumps(value).encode() + b"\n" + rest)

    return changed


def lost_line(agent: ClaudeByHand) -> None:
    """A line in the middle that cannot be read: nothing leads to those before it, also not by when they were said."""
    lines = agent.lines("broken")
    stored = [json.dumps(each | {"timestamp": f"2026-11-26T10:{at:02}:00.000Z"}) for at, each in enumerate(lines)]
    stored[len(stored) // 2] = "damaged"
    (agent.project / f"{agent.id_of('broken')}.jsonl").write_text("\n".join([*stored, ""]))


BROKEN: dict[str, tuple[Callable[[Path], Agent], Callable[[Any], None], str]] = {
    "claude-code": (ClaudeByHand, lost_line, "is not in its file"),
    "a form": (
        ClaudeByHand,
        lambda agent: agent.hang("broken", agent.lines("broken")[-1]["uuid"], {"type": "next"}),
        "a record of the type “next”",
    ),
    "codex": (CodexByHand, first_line(lambda head: head["payload"].update(history_mode="next")), "“next”"),
    "openclaw": (OpenClawFilesByHand, first_line(lambda head: head.update(version=4)), "the version 4 of its form"),
    "pi": (PiByHand, first_line(lambda head: head.update(version=4)), "the version 4 of its form"),
}


@pytest.fixture(params=BROKEN)
def agent(request: pytest.FixtureRequest, tmp_path: Path, settings: Settings) -> Agent:
    """An agent with a session that can be compacted and one that cannot."""
    make, breaks, _ = BROKEN[request.param]
    made = make(tmp_path / "agent")
    settings.STORES, settings.DEMO_STORE = {"agent": made.url}, tmp_path / "no-demo.db"
    for name in ("good", "broken"):
        made.write(name, talk(4))
    breaks(made)
    return made


def listed(api_client: ApiClient, agent: Agent) -> dict[str, tuple[bool, str]]:
    found = {each["id"]: each for each in api_client.get("/stores/agent/sessions")["items"]}
    return {
        name: (found[agent.id_of(name)]["can_compact"], found[agent.id_of(name)]["compact_reason"])
        for name in ("good", "broken")
    }


def test_a_list_says_which_sessions_cannot_be_compacted(
    agent: Agent, api_client: ApiClient, request: pytest.FixtureRequest
) -> None:
    sync_worker.sync_all()
    said = listed(api_client, agent)
    detail = api_client.get(f"/stores/agent/sessions/{agent.id_of('broken')}")
    named = BROKEN[request.node.callspec.params["agent"]][2]
    assert said["good"] == (True, "")
    assert not said["broken"][0] and named in said["broken"][1]
    assert said["broken"] == (detail["can_compact"], detail["compact_reason"])


def test_before_a_session_is_counted_its_store_speaks(agent: Agent, api_client: ApiClient) -> None:
    sync_worker.sync_all()
    SessionIndex.objects.update(refusal=None)
    assert set(listed(api_client, agent).values()) == {(True, "")}


@pytest.mark.slow
def test_what_is_said_of_a_whole_store_is_not_kept_with_its_sessions(
    open_hermes_store: Callable[..., HermesStore],
) -> None:
    """It may be another's tomorrow, while nothing happens to the sessions."""
    open_hermes_store(16, "Airline desk, week 30 #4")
    sync_worker.sync_all()
    assert set(SessionIndex.objects.values_list("refusal", flat=True)) == {None}
