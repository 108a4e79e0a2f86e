"""What an undo changes in Codex' files, and what cannot be undone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.agents.codex.by_hand import CodexByHand, agent, fresh, session_id, told
from tests.agents.codex.writing import compacted, undo, with_meta, writer, written
from tests.agents.reading import history, sent
from tests.agents.talk import heard, talk
from tests.factories.locks import HOLDER, locked
from viewer.stores.changes import Commit
from viewer.stores.errors import NotUndoable
from viewer.stores.writer import Writer

__all__ = ["agent", "session_id", "writer"]


def test_an_undo_changes_a_byte_a_line(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(8))
    size = agent.path("s").stat().st_size
    commit = compacted(agent, writer, session_id)
    agent.say("s", {"role": "user", "content": "later"})
    before = agent.path("s").read_bytes()
    assert fresh(agent).commit_state(session_id, commit.receipt).state == "in effect"
    undo(agent, writer, session_id, commit)
    after = agent.path("s").read_bytes()
    changed = [at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    assert {after[at : at + 1] for at in changed} == {b"x"} and min(changed) > size
    kinds = [each["type"] for each in written(agent.path("s"), after[:size])]
    assert kinds == ["event_msg", "xompacted", "xurn_context", "xvent_msg", "xvent_msg", "event_msg", "response_item"]
    assert sent(fresh(agent), session_id) == [*heard(talk(8)), ("user", "later")]
    assert fresh(agent).commit_state(session_id, commit.receipt).undo == {"window": commit.receipt["window"]}


def test_a_byte_that_changed_in_an_earlier_line_is_seen(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    """Another process undid, and a client appended, since this one looked: the file only seems to have grown."""
    agent.write("s", talk(8))
    compacted(agent, writer, session_id)
    assert sent(fresh(agent), session_id) != heard(talk(8))
    path = agent.path("s")
    at = path.read_bytes().index(b'"type":"compacted"')
    with path.open("r+b") as file:
        file.seek(at + 8)
        file.write(b"x")
    agent.say("s", {"role": "user", "content": "later"})
    assert sent(fresh(agent), session_id) == [*heard(talk(8)), ("user", "later")]
    with path.open("r+b") as file:
        file.seek(at + 8)
        file.write(b"c")
    agent.say("s", {"role": "user", "content": "and later"})
    assert len(sent(fresh(agent), session_id)) < len(talk(8))


def test_what_cannot_be_undone(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(8))
    first = compacted(agent, writer, session_id)
    for message in talk(8, "more"):
        agent.say("s", message)
    second = compacted(agent, writer, session_id)
    with pytest.raises(NotUndoable, match="later compaction"):
        undo(agent, writer, session_id, first)
    agent.append("s", "compacted", {"message": "", "replacement_history": [told("user", "Hi", "compaction.summary")]})
    native = history(fresh(agent), session_id).boundaries[-1]
    assert "Codex made" in fresh(agent).undo_plan(session_id, native).refusal
    path = agent.path("s")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    stored = path.read_bytes()
    path.write_bytes(stored.replace(b'"type":"item_completed"', b'"type":"item_obsoleted"'))
    with pytest.raises(NotUndoable, match="somebody changed"):
        undo(agent, writer, session_id, second)
    path.write_bytes(stored)
    plan = fresh(agent).undo_plan(session_id, second.receipt)
    agent.say("s", {"role": "user", "content": "meanwhile"})
    with locked(writer, session_id), pytest.raises(NotUndoable, match="meanwhile"):
        writer.undo(plan, holder=HOLDER)
    assert _undone_in_order(agent, writer, session_id, (second, first)) == heard([*talk(8), *talk(8, "more")])
    assert "no longer" in fresh(agent).undo_plan(session_id, first.receipt).refusal


def _undone_in_order(agent: CodexByHand, writer: Writer, session_id: str, commits: Sequence[Commit]) -> list[Any]:
    for commit in commits:
        undo(agent, writer, session_id, commit)
    return sent(fresh(agent), session_id)[:-1]


def test_a_boundary_of_ours_that_no_run_knows_is_undone(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(8))
    compacted(agent, writer, session_id)
    plan = fresh(agent).undo_plan(session_id, history(fresh(agent), session_id).boundaries[-1])
    with locked(writer, session_id):
        writer.undo(plan, holder=HOLDER)
    assert sent(fresh(agent), session_id) == heard(talk(8))


def test_an_undo_that_is_killed_is_done_or_not(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    """Its first byte takes the compaction back."""
    agent.write("s", talk(8))
    commit = compacted(agent, writer, session_id)
    what = fresh(agent).undo_plan(session_id, commit.receipt).what
    with agent.path("s").open("r+b") as file:
        file.seek(what.letters[0].offset)
        file.write(b"x")
    assert sent(fresh(agent), session_id) == heard(talk(8))
    assert fresh(agent).commit_state(session_id, commit.receipt).state == "undone"


def test_lines_that_moved_are_found_again(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    """The client may write a file anew, without lines that are dead."""
    agent.write("s", talk(8))
    commit = compacted(agent, writer, session_id)
    path = agent.path("s")
    first, *others = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first, b'{"timestamp":"","type":"xvent_msg","payload":{}}\n', *others]))
    undo(agent, writer, session_id, commit)
    assert sent(fresh(agent), session_id) == heard(talk(8))


def test_in_a_fork_a_compaction_of_its_parent_stays(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(8))
    commit = compacted(agent, writer, session_id)
    base = {"thread_id": session_id, "end_byte_offset": agent.path("s").stat().st_size}
    agent.write("fork", [])
    with_meta(agent, "fork", {"forked_from_id": session_id, "history_base": base})
    now, fork = fresh(agent), agent.id_of("fork")
    assert "forked from" in now.undo_plan(fork, history(now, fork).boundaries[-1]).refusal
    undo(agent, writer, session_id, commit)
    assert sent(fresh(agent), fork) == heard(talk(8))  # it points to the same bytes
