"""Sessions that the real Codex wrote are read as it sent them when it resumed them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.codex import views
from tests.agents.codex.recorded import RECORDED
from viewer.stores.base import Store
from viewer.stores.registry import open_store

SESSIONS = sorted(path for path in RECORDED.iterdir() if path.is_dir())


@pytest.mark.parametrize("recorded", SESSIONS, ids=lambda path: path.name)
def test_a_recorded_session(recorded: Path) -> None:
    told = json.loads(recorded.with_suffix(f"{recorded.suffix}.sent.json").read_text(encoding="utf-8"))
    with open_store(Store("work", f"codex:///{recorded}", "configured")) as reader:
        read = views.of_rows(reader.live(told["session_id"]))
    assert read == views.conversation(views.told(told["sent"]))


def test_a_recorded_sub_agent() -> None:
    with open_store(Store("work", f"codex:///{RECORDED / 'sub-agent.0'}", "configured")) as reader:
        told = json.loads((RECORDED / "sub-agent.0.sent.json").read_text(encoding="utf-8"))
        rows = [row for row in reader.live(told["session_id"]) if row.role == "tool"]
        (child,) = reader.children([told["session_id"]])
    assert [row.sub_agents for row in rows] == [(child.id,), ()]
