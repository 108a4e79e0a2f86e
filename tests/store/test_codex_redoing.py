"""A compaction that was undone is applied again by the same bytes, and what stands in the way of that."""

from __future__ import annotations

import pytest

from tests.agents.codex.by_hand import CodexByHand, agent, fresh, session_id
from tests.agents.codex.writing import compacted, undo, with_meta, writer
from tests.agents.reading import history, sent
from tests.agents.talk import heard, talk
from tests.factories.locks import HOLDER, locked
from viewer.stores.changes import Commit
from viewer.stores.codex import encode
from viewer.stores.codex.messages import messages_now
from viewer.stores.codex.undo import plan_redo
from viewer.stores.errors import NotRedoable
from viewer.stores.writer import Writer

__all__ = ["agent", "session_id", "writer"]


def redo(writer: Writer, session_id: str, commit: Commit) -> None:
    with locked(writer, session_id):
        writer.redo(session_id, commit.receipt, holder=HOLDER)


def refusal(agent: CodexByHand, session_id: str, commit: Commit) -> str:
    return fresh(agent).commit_state(session_id, commit.receipt).redo_refusal


@pytest.mark.parametrize("strategy", ["summary", "prune"])
def test_the_bytes_are_those_of_before(agent: CodexByHand, writer: Writer, session_id: str, strategy: str) -> None:
    agent.write("s", talk(8))
    commit = compacted(agent, writer, session_id, strategy)
    stored, shown = agent.path("s").read_bytes(), sent(fresh(agent), session_id)
    cuts = history(fresh(agent), session_id).boundaries
    undo(agent, writer, session_id, commit)
    assert not refusal(agent, session_id, commit)
    redo(writer, session_id, commit)
    assert agent.path("s").read_bytes() == stored and sent(fresh(agent), session_id) == shown
    assert history(fresh(agent), session_id).boundaries == cuts
    assert fresh(agent).commit_state(session_id, commit.receipt).state == "in effect"
    undo(agent, writer, session_id, commit)
    assert sent(fresh(agent), session_id) == heard(talk(8))


def test_what_stands_in_the_way(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(8))
    first = compacted(agent, writer, session_id)
    assert "in effect" in refusal(agent, session_id, first)
    undo(agent, writer, session_id, first)
    second = compacted(agent, writer, session_id, summary="## Goal\nAnother one.")
    assert "later compaction" in refusal(agent, session_id, first)
    with pytest.raises(NotRedoable, match="later compaction"):
        redo(writer, session_id, first)
    undo(agent, writer, session_id, second)
    redo(writer, session_id, first)
    assert "Finish the garden" in str(sent(fresh(agent), session_id))
    undo(agent, writer, session_id, first)
    path = agent.path("s")
    stored = path.read_bytes()
    path.write_bytes(stored.replace(b'"type":"item_completed"', b'"type":"item_obsoleted"'))
    assert "somebody changed" in refusal(agent, session_id, first)
    path.write_bytes(stored)
    agent.append("s", "event_msg", {"type": "thread_rolled_back", "num_turns": 1})
    assert "went back" in refusal(agent, session_id, first)
    path.write_bytes(stored.replace(b"xompacted", b"yompacted"))
    assert "no longer" in refusal(agent, session_id, first)


def test_where_the_session_went_back_behind_it(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(8))
    commit = compacted(agent, writer, session_id)
    undo(agent, writer, session_id, commit)
    agent.take_back("s")
    assert "went back" in refusal(agent, session_id, commit)


def test_it_is_not_done_in_a_fork(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(8))
    commit = compacted(agent, writer, session_id)
    base = {"thread_id": session_id, "end_byte_offset": agent.path("s").stat().st_size}
    agent.write("fork", [])
    with_meta(agent, "fork", {"forked_from_id": session_id, "history_base": base})
    undo(agent, writer, session_id, commit)
    assert "forked from" in refusal(agent, agent.id_of("fork"), commit)


def test_the_byte_of_the_compaction_is_the_last(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    """Whoever is killed before it has changed nothing."""
    agent.write("s", talk(8))
    commit = compacted(agent, writer, session_id)
    undo(agent, writer, session_id, commit)
    letters = plan_redo(messages_now(writer.store, session_id), commit.receipt).letters
    made = bytearray(agent.path("s").read_bytes())
    for at, letter in encode.bytes_on(letters).items():
        agent.path("s").write_bytes(made)
        assert sent(fresh(agent), session_id) == heard(talk(8))
        made[at : at + 1] = letter
    agent.path("s").write_bytes(made)
    assert len(sent(fresh(agent), session_id)) < len(heard(talk(8)))


def test_what_does_not_read_back_is_undone_again(
    agent: CodexByHand, writer: Writer, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.write("s", talk(8))
    commit = compacted(agent, writer, session_id)
    undo(agent, writer, session_id, commit)
    before, plain = agent.path("s").read_bytes(), encode.bytes_on
    monkeypatch.setattr(encode, "bytes_on", lambda letters: plain(letters[1:]))
    with pytest.raises(NotRedoable, match="did not read back"):
        redo(writer, session_id, commit)
    assert agent.path("s").read_bytes() == before
