"""OpenClaw's files from before its databases, with their index; and where its and pi's stores are found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.openclaw.by_hand import OpenClawByHand, stamp
from tests.agents.pi.by_hand import now, said
from tests.agents.reading import opened, sent, store_of
from tests.agents.talk import heard, talk
from viewer.stores.errors import NotFound
from viewer.stores.openclaw.kind import OpenClawStores
from viewer.stores.pi.kind import PiStores
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


RESETS = ("2026-11-16T12-00-00.000Z", "2026-11-17T12-00-00Z", "2026-11-18T12-00-00.500Z")


def test_what_a_reset_put_away_is_there(tmp_path: Path) -> None:
    """Files that `/new` and the daily reset left, of the session's own id and of those that its key had before."""
    home = tmp_path / ".openclaw"
    for name, time in (("old", RESETS[0]), ("middle", RESETS[1]), ("middle", RESETS[2])):
        path = file_of(home, name, {"role": "user", "content": f"{name} {time[:10]}"})
        path.rename(f"{path}.reset.{time}")
    path = file_of(home, "new", {"role": "user", "content": "anew"})
    (path.parent / "new.jsonl.reset.yesterday").write_text("{}")
    entry = {"sessionId": "new", "usageFamilySessionIds": ["old", 7, "gone", "middle", "new"], "label": "Garden"}
    (path.parent / "sessions.json").write_text(json.dumps({"agent:main:feishu:direct:9": entry}))
    agent = OpenClawByHand(tmp_path / "unused")
    agent.url = f"openclaw://{home}"
    ids = [f"old.reset.{RESETS[0]}", f"middle.reset.{RESETS[1]}", f"middle.reset.{RESETS[2]}", "new"]
    with opened(agent) as reader:
        assert {each.id for each in reader.listing.files()} == set(ids)  # type: ignore[attr-defined]
        found = [reader.session(each) for each in ids]
        assert [each.parent for each in found] == ["", *ids[:-1]]
        assert [each.end_reason for each in found] == ["reset", "reset", "reset", ""]
        assert [each.ended_at for each in found] == [1794830400.0, 1794916800.0, 1795003200.5, None]
        assert {each.source for each in found} == {"main:feishu"}
        assert [each.title for each in found] == ["", "", "", "Garden"]
        assert sent(reader, ids[1]) == [("user", "middle 2026-11-17")]
        found_text = reader.searchable(ids[0], "")
        assert found_text is not None and [each.text for each in found_text.messages] == ["old 2026-11-16"]
        assert [each.id for each in reader.children([ids[0]])] == [ids[1]]
        refused = reader.refusal(ids[0])
        assert refused is not None and "A reset put this transcript away" in refused.message
        assert reader.refusal("new") is None
        facts = reader.listing.sessions([ids[0]])[ids[0]]
        assert facts.ended_at and not facts.archived
    assert agent_of(store_of(agent)).resume_command(ids[0]) == ""


def test_what_no_index_names_says_so(tmp_path: Path) -> None:
    """An index that was made anew names few: the others go on nowhere, and no reset or rewind is made up."""
    home = tmp_path / ".openclaw"
    path = file_of(home, "one", *talk(1))
    file_of(home, "two", *talk(1))
    (path.parent / "sessions.json").write_text(json.dumps({"agent:main:main": {"sessionId": "one"}}))
    agent = OpenClawByHand(tmp_path / "unused")
    agent.url = f"openclaw://{home}"
    with opened(agent) as reader:
        assert reader.refusal("one") is None
        refused = reader.refusal("two")
        assert refused is not None and refused.message.startswith("OpenClaw's own list of sessions does not name this")


@pytest.mark.parametrize(
    "file", ["C:\\Users\\ana\\.openclaw\\agents\\main\\sessions\\one.jsonl", "/away/gone.jsonl", "", None, 7]
)
def test_the_file_that_an_index_names(tmp_path: Path, file: Any) -> None:
    home = tmp_path / ".openclaw"
    path = file_of(home, "one", *talk(1))
    entry = {"sessionId": "one", "sessionFile": file, "label": "Garden"}
    (path.parent / "sessions.json").write_text(json.dumps({"agent:main:main": entry}))
    agent = OpenClawByHand(tmp_path / "unused")
    agent.url = f"openclaw://{home}"
    with opened(agent) as reader:
        assert reader.session("one").title == "Garden" and reader.refusal("one") is None


@pytest.mark.parametrize(
    "index",
    [
        b'\xef\xbb\xbf{"k": {"sessionId": "one", "label": "\\ud800"}}',
        b"[]",
        b'{"k": 7, "l": {"sessionId": []}}',
        b'{"k": {"sessionId": "one", "usageFamilySessionIds": "one"}}',
        b"{",
        b"[" * 9_000,
    ],
)
def test_an_index_of_any_kind(tmp_path: Path, index: bytes) -> None:
    home = tmp_path / ".openclaw"
    path = file_of(home, "one", *talk(1))
    (path.parent / "sessions.json").write_bytes(index)
    agent = OpenClawByHand(tmp_path / "unused")
    agent.url = f"openclaw://{home}"
    with opened(agent) as reader:
        assert reader.session("one").title.encode() in (b"", b"?")
        assert sent(reader, "one") == heard(talk(1))


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
