"""Another program that appends to a file while a compaction is written to it: its lines are never lost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agents.base import Agent, objects
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.codex.by_hand import CodexByHand
from tests.agents.openclaw.by_hand import OpenClawFilesByHand
from tests.agents.pi.by_hand import PiByHand
from tests.agents.reading import opened, sent, store_of
from tests.agents.talk import heard, talk
from tests.agents.writing import compacted, undo
from viewer.runs import branching
from viewer.stores.claude_code.records import record_of
from viewer.stores.errors import CompactionConflict, SessionBusy, StoreUnavailable
from viewer.stores.jsonl.append import Appending, appending
from viewer.stores.jsonl.files import RecordCache
from viewer.stores.openclaw import session_index
from viewer.stores.trees import commit as commits

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


def test_behind_a_line_that_has_no_newline_yet_another_one_begins(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"theirs": 1}')
    with appending(path) as file:
        file.append(b'{"ours": 2}\n', file.state)
    assert path.read_bytes() == b'{"theirs": 1}\n{"ours": 2}\n'


WRITERS: dict[str, Callable[[Path], Agent]] = {"claude-code": ClaudeByHand, "codex": CodexByHand, **KINDS}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_line_between_our_write_and_our_reading_stays(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the compaction is undone, as the last thing that was written here. Claude Code's line goes on from what
    stays, and the others' make the compaction one that is taken back.
    """
    agent = WRITERS[kind](tmp_path / "home")
    agent.write("s", talk(8))
    before, plain = agent.load("s"), Appending._write_over

    def written(opened: Appending, changes: Mapping[int, bytes]) -> None:
        monkeypatch.setattr(Appending, "_write_over", plain)
        plain(opened, changes)
        agent.say("s", ASKED)

    monkeypatch.setattr(Appending, "_write_over", written)
    if kind == "claude-code":
        commit = compacted(agent)
        assert agent.load("s")[-1:] == heard([ASKED]) and len(agent.load("s")) < len(before)
        [path] = (tmp_path / "home").rglob("*.jsonl")
        older = {"start": 0, "end": path.stat().st_size}  # that receipts had once, which counted the line as ours
        undo(agent, replace(commit, receipt=commit.receipt | older))
    else:
        with pytest.raises(CompactionConflict, match="written to just now"):
            compacted(agent)
    assert agent.load("s") == [*before, *heard([ASKED])]
    with opened(agent) as reader:
        assert sent(reader, agent.id_of("s")) == agent.load("s")


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


def test_what_is_taken_back_is_ours_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"one\n")
    with appending(path) as file:
        start = file.append(b"two\n", file.state)
        with path.open("ab") as other:
            other.write(b"three\n")
        file.replace({start: b"two\n"}, {start: b"   \n"})
        assert path.read_bytes() == b"one\n   \nthree\n"
        path.write_bytes(b"written anew\n")
        with pytest.raises(CompactionConflict, match="written anew"):
            file.replace({start: b"   \n"}, {start: b"two\n"})
    assert path.read_bytes() == b"written anew\n"


def test_a_full_disk_leaves_blanks_that_the_next_line_may_stand_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, plain = tmp_path / "s.jsonl", os.write
    path.write_bytes(b'{"a":1}\n')
    monkeypatch.setattr(os, "write", lambda descriptor, data: plain(descriptor, data[:3]))
    with pytest.raises(StoreUnavailable, match="No space left"), appending(path) as file:
        file.append(b'{"b":2}\n', file.state)
    with path.open("ab") as other:
        other.write(b'{"c":3}\n')
    assert objects(path.read_bytes()) == [{"a": 1}, {"c": 3}]


def test_a_line_that_is_made_whole_while_others_read_is_read_again(tmp_path: Path) -> None:
    """Its first byte is written last, when another process has read what stands behind it."""
    path = tmp_path / "s.jsonl"
    line = json.dumps({"type": "system", "uuid": "b", "content": "x" * 900}).encode()
    path.write_bytes(b" " + line[1:] + b"\n" + line.replace(b'"b"', b'"s"') + b"\n")
    cache = RecordCache(record_of)
    assert [record.uuid for record in cache.read(path).records] == ["", "s"]
    with path.open("r+b") as file:
        file.write(b"{")
        file.seek(0, os.SEEK_END)
        file.write(line.replace(b'"b"', b'"n"') + b"\n")
    assert [record.uuid for record in cache.read(path).records] == ["b", "s", "n"]


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
