"""Another program that appends to a file while a compaction is written to it: its lines are never lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.contract.openclaw import OpenClawFilesByHand
from tests.contract.pi import PiByHand
from tests.contract.talk import heard, talk
from tests.support.tree_stores import opened, sent, store_of
from tests.support.tree_writing import compacted, undo
from viewer.errors import CompactionConflict, SessionBusy
from viewer.runs import branching
from viewer.stores.jsonl.append import appending
from viewer.stores.openclaw import commits, session_index

ASKED = {"role": "user", "content": "And now?"}
KINDS = {"files": OpenClawFilesByHand, "pi": PiByHand}


@pytest.fixture(params=KINDS)
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made = KINDS[request.param](tmp_path / "home")
    made.write("s", talk(8))
    return made


def beside(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, act: Callable[[], object]) -> None:
    """Something happens once, just before this function of ours is called."""
    found = getattr(owner, name)
    done: list[object] = []

    def called(*args: Any, **more: Any) -> Any:
        if not done:
            done.append(act())
        return found(*args, **more)

    monkeypatch.setattr(owner, name, called)


def test_a_line_behind_ours_stays(agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that goes on from before our line leaves it on a dead branch: ours is made inert, and its line stays."""
    before, leaf = agent.load("s"), agent.active("s")[-1]["id"]
    said = {"role": "user", "content": [{"type": "text", "text": "And now?"}], "timestamp": 1}
    beside(monkeypatch, commits, "read_back", lambda: agent.append("s", "message", parentId=leaf, message=said))
    monkeypatch.setattr(commits.NewCompaction, "live", lambda self, found, made: [])
    with pytest.raises(CompactionConflict):
        compacted(agent)
    assert agent.load("s") == [*before, *heard([ASKED])]
    assert not any(each["type"] == "compaction" for each in agent.entries("s"))
    with opened(agent) as reader:
        assert sent(reader, agent.id_of("s")) == agent.load("s")


def test_a_line_that_comes_first_is_not_written_over(agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = agent.load("s")
    beside(monkeypatch, os, "write", lambda: agent.say("s", ASKED))
    with pytest.raises(CompactionConflict, match="written to just now"):
        compacted(agent)
    assert agent.load("s") == [*before, *heard([ASKED])]
    assert not any(each["type"] == "compaction" for each in agent.entries("s"))


def test_what_another_program_wrote_behind_is_not_taken_off(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"one\n")
    with appending(path) as file:
        seen = file.state
        _, end = file.append(b"two\n", seen)
        with path.open("ab") as other:
            other.write(b"three\n")
        with pytest.raises(CompactionConflict, match="could not be taken off"):
            file.take_off(seen, end)
    assert path.read_bytes() == b"one\ntwo\nthree\n"


def test_a_file_that_is_replaced_is_not_written_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, other = tmp_path / "s.jsonl", tmp_path / "new"
    path.write_bytes(b"aaaa\n")
    other.write_bytes(b"bbbb\n")
    with appending(path) as file:
        seen = file.state
        beside(monkeypatch, os, "open", lambda: os.replace(other, path))
        with pytest.raises(CompactionConflict):
            file.overwrite({0: b"x"}, seen)
    assert path.read_bytes() == b"bbbb\n"


def test_a_turn_that_begins_while_it_is_read_is_not_written_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last look is just before the write: a line in a file of OpenClaw's ends the turn that runs."""
    agent = OpenClawFilesByHand(tmp_path / "home")
    agent.write("s", talk(8))
    stored, turns = agent.path("s").read_bytes(), ExitStack()
    with turns:
        beside(monkeypatch, commits, "compaction_of", lambda: turns.enter_context(agent.compacting("s")))
        with pytest.raises(SessionBusy):
            compacted(agent)
    assert agent.path("s").read_bytes() == stored


def test_the_index_is_read_again_where_the_client_wrote_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = OpenClawFilesByHand(tmp_path / "home")
    agent.write("s", talk(3))
    replaced = session_index._replace
    calls: list[int] = []

    def also(path: Path, data: bytes, seen: Any) -> bool:
        calls.append(1)
        if len(calls) == 1:
            agent.note("other", sessionId="other", displayName="said meanwhile")
        return replaced(path, data, seen)

    monkeypatch.setattr(session_index, "_replace", also)
    made = branching.branch(store_of(agent), agent.id_of("s"), None)
    noted = agent.noted()
    assert noted["agent:main:other"]["displayName"] == "said meanwhile" and len(calls) == 2
    assert made in {entry["sessionId"] for entry in noted.values()}


def test_an_undo_puts_the_old_count_back(tmp_path: Path) -> None:
    """By characters a text of other scripts is counted short, and a client that goes by that finds room it has not."""
    agent = OpenClawFilesByHand(tmp_path / "home")
    agent.write("s", talk(8))
    commit = compacted(agent)
    small = agent.noted()["agent:main:s"]["totalTokens"]
    undo(agent, commit)
    assert small < 10_000 and agent.noted()["agent:main:s"]["totalTokens"] == 150_000
