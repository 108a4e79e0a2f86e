"""The session of a sub-agent of the real Codex is found where the call that started it has its result."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.fetched import NotInstalled
from viewer.stores.base import Store
from viewer.stores.registry import open_store

from .client import Client, program
from .scenes import shell
from .service import Service, calls, function

ROOM = "collaboration"  # the tools for other agents


@pytest.mark.parametrize("mode", ["paginated", "legacy"])
def test_a_result_leads_to_the_session_of_its_sub_agent(tmp_path: Path, mode: str) -> None:
    with Service() as service:
        try:
            client = Client(program(), tmp_path, service)
        except NotInstalled as missing:
            pytest.skip(f"Codex is not here: {missing}")
        tasks = [
            {"task_name": name, "message": f"Count the {name}.", "fork_turns": "none"} for name in ("files", "trees")
        ]
        spawned = [function("spawn_agent", task, ROOM) for task in tasks]
        service.replies += [calls(*spawned, shell("echo a"), text="All at once.")]
        with client.app_server() as server:
            session = server.start(historyMode=mode)
            server.turn(session, "How many are there?")
            server.turn(session, "And how many is that?")
            server.unload(session)
    with open_store(Store("work", f"codex:///{client.home}", "configured")) as reader:
        results = {row.tool_call_id: row for row in reader.live(session) if row.role == "tool"}
        assert len(results) == len(spawned) + 1
        started = {
            results[call["call_id"]].sub_agents: task["task_name"] for call, task in zip(spawned, tasks, strict=True)
        }
        assert {each.id for each in reader.children([session])} == {agent for (agent,) in started}
        for (agent,), name in started.items():
            found = reader.session(agent)
            assert found.delegated_from == session
            assert any(f"/root/{name}" in str(row.extra.get("recipient")) for row in reader.live(agent))
        assert [row.sub_agents for row in results.values()].count(()) == 1
