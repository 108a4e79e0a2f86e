"""The session of a sub-agent of the real Codex is found where the call that started it has its result."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.fetched import NotInstalled
from viewer.stores.base import Store
from viewer.stores.registry import open_store

from .client import Client, program
from .service import Service, calls, function, says

ROOM = "collaboration"  # the tools for other agents


@pytest.mark.parametrize("mode", ["paginated", "legacy"])
def test_a_result_leads_to_the_session_of_its_sub_agent(tmp_path: Path, mode: str) -> None:
    with Service() as service:
        try:
            client = Client(program(), tmp_path, service)
        except NotInstalled as missing:
            pytest.skip(f"Codex is not here: {missing}")
        service.helpers |= {"Count the files": says("Three."), "Count the trees": says("Two.")}
        tasks = [
            {"task_name": name, "message": f"Count the {name}.", "fork_turns": "none"} for name in ("files", "trees")
        ]
        service.replies += [calls(*(function("spawn_agent", task, ROOM) for task in tasks), text="Both at once.")]
        service.replies += [calls(function("wait_agent", {"timeout_ms": 10_000}, ROOM)), says("Five.")]
        with client.app_server() as server:
            session = server.start(historyMode=mode)
            server.turn(session, "How many are there?")
            server.unload(session)
    with open_store(Store("work", f"codex:///{client.home}", "configured")) as reader:
        results = [row for row in reader.live(session) if row.role == "tool"]
        for row, name in zip(results[:2], ("files", "trees"), strict=True):
            (started,) = row.sub_agents
            assert reader.session(started).delegated_from == session
            assert f"/root/{name}" in str(row.content)
            assert any(f"/root/{name}" in str(each.extra.get("recipient")) for each in reader.live(started))
        assert {each.id for each in reader.children([session])} == {row.sub_agents[0] for row in results[:2]}
        assert not results[2].sub_agents
