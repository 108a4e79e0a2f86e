"""OpenClaw's files from before its databases, with their index; and where its and pi's stores are found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract.openclaw import OpenClawByHand, stamp
from tests.contract.pi import now, said
from tests.contract.talk import heard, talk
from tests.support.tree_stores import opened, sent, store_of
from viewer.errors import NotFound
from viewer.stores.openclaw.kind import OpenClawStores, PiStores
from viewer.stores.registry import agent_of


@pytest.fixture
def agent(tmp_path: Path) -> OpenClawByHand:
    return OpenClawByHand(tmp_path / ".openclaw")


def file_of(home: Path, name: str, *messages: Any, agent: str = "main") -> Path:
    """A session's file as OpenClaw wrote it until July 2026."""
    directory = home / "agents" / agent / "sessions"
    directory.mkdir(parents=True, exist_ok=True)
    lines = [{"type": "session", "version": 3, "id": name, "timestamp": now(), "cwd": "/w"}]
    for at, message in enumerate(messages):
        parent = f"{at - 1:08x}" if at else None
        entry = {"type": "message", "id": f"{at:08x}", "parentId": parent, "timestamp": now()}
        lines.append(entry | {"message": said(message)})
    path = directory / f"{name}.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def test_files_and_their_index(tmp_path: Path) -> None:
    home = tmp_path / ".openclaw-lab"
    path = file_of(home, "one", *talk(1))
    for name in ("one.trajectory.jsonl", "one.checkpoint.7b2f.jsonl", "one.jsonl.reset.2026", "one.jsonl.deleted.2026"):
        (path.parent / name).write_text('{"type":"session"}\n')
    file_of(home, "two-topic-5", {"role": "user", "content": "hello"})
    index = {
        "agent:main:main": {"sessionId": "one", "updatedAt": stamp(), "displayName": "Garden", "model": "m"},
        "agent:main:telegram:group:5": {
            "sessionId": "two",
            "sessionFile": "/old/two-topic-5.jsonl",
            "subject": "Group",
        },
    }
    (path.parent / "sessions.json").write_text(json.dumps(index))
    agent = OpenClawByHand(tmp_path / "unused")
    agent.url = f"openclaw://{home}"
    with opened(agent) as reader:
        assert {each.id for each in reader.listing.files()} == {"one", "two-topic-5"}  # type: ignore[attr-defined]
        assert sent(reader, "one") == heard(talk(1))
        assert (reader.session("one").title, reader.session("one").source) == ("Garden", "main:main")
        assert (reader.session("two-topic-5").title, reader.session("two-topic-5").source) == ("Group", "main:telegram")
        assert reader.capabilities().schema is None
    command = "openclaw --profile lab tui --session agent:main:main"
    assert agent_of(store_of(agent)).resume_command("one") == command
    (path.parent / "sessions.json").write_text("{broken")
    with opened(agent) as reader:
        assert reader.session("one").title == ""
        path.unlink()
        with pytest.raises(NotFound):
            reader.live("one")


def test_a_session_in_both_forms_counts_once(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    file_of(agent.root, agent.id_of("s"), {"role": "user", "content": "before it was moved"})
    file_of(agent.root, "left", {"role": "user", "content": "not moved"})
    with opened(agent) as reader:
        assert {each.id for each in reader.listing.files()} == {agent.id_of("s"), "left"}  # type: ignore[attr-defined]
        assert sent(reader, agent.id_of("s")) == heard(talk(1))
        assert sent(reader, "left") == [("user", "not moved")]


def test_where_it_is_found(agent: OpenClawByHand, tmp_path: Path, settings: Any) -> None:
    OpenClawByHand(tmp_path / ".openclaw-lab")
    (tmp_path / ".openclaw-empty").mkdir()
    (tmp_path / ".openclaw-no name" / "agents").mkdir(parents=True)
    settings.OPENCLAW_HOME = agent.root
    found = OpenClawStores().discover()
    assert found == [("openclaw", f"openclaw://{agent.root}"), ("openclaw-lab", f"openclaw://{tmp_path}/.openclaw-lab")]
    settings.PI_HOME = tmp_path / "pi"
    assert PiStores().discover() == []
    (tmp_path / "pi" / "sessions").mkdir(parents=True)
    assert PiStores().discover() == [("pi", f"pi://{tmp_path}/pi")]
