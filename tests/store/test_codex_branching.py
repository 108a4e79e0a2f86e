"""What a branch of one of Codex' sessions holds, and of which none is made.
What the client makes of it is held in `tests/interop/codex/test_branching.py`.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.agents.codex.by_hand import CodexByHand, agent, fresh, session_id, told
from tests.agents.codex.writing import compacted, lines_of, undo, with_meta, writer
from tests.agents.reading import history, sent, shown
from tests.agents.talk import heard, talk
from tests.factories.locks import locked
from tests.listed import all_ids
from viewer.stores.codex import branch
from viewer.stores.errors import NotBranchable, StoreReadOnly
from viewer.stores.reader import Reader
from viewer.stores.writer import Writer

__all__ = ["agent", "session_id", "writer"]

NOW = 1_795_658_814.4


def branched(writer: Writer, session_id: str, ids: list[int]) -> str:
    return writer.branch(session_id, ids, now=NOW)


def live(reader: Reader, session_id: str) -> list[int]:
    return [row.id for row in reader.live(session_id)]


def path_of(agent: CodexByHand, made: str) -> Path:
    (path,) = agent.root.rglob(f"rollout-*-{made}.jsonl")
    return path


def test_the_lines_of_a_branch(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(3))
    with_meta(agent, "s", {"history_base": None, "forked_from_ordinal_exclusive": 9, "originator": "somebody"})
    before = agent.rows()
    made = branched(writer, session_id, live(fresh(agent), session_id))
    (first, *others), (source, *sources) = lines_of(path_of(agent, made)), lines_of(agent.path("s"))
    assert [row for row in agent.rows() if made not in row[0]] == before
    assert others == sources
    meta = first["payload"]
    assert (meta["id"], meta["session_id"], meta["forked_from_id"]) == (made, made, session_id)
    assert (meta["originator"], meta["history_mode"], first["ordinal"]) == ("somebody", "paginated", source["ordinal"])
    assert not {"history_base", "forked_from_ordinal_exclusive"} & set(meta)
    assert meta["context_window"]["window_id"] != source["payload"]["context_window"]["window_id"]
    here = time.strftime("%Y/%m/%d/rollout-%Y-%m-%dT%H-%M-%S", time.localtime(NOW))
    assert path_of(agent, made) == agent.root / "sessions" / f"{here}-{made}.jsonl"


def test_what_lists_say_of_it(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    """Its cost is that of its own requests; its name the first request, for names are in the client's database."""
    agent.write("s", talk(3))
    agent.append("s", "turn_context", {"model": "gpt-5", "cwd": "/srv"})
    count(agent, "s", 1_000)
    time.sleep(0.002)  # lines tell milliseconds
    now = time.time()
    made = writer.branch(session_id, live(fresh(agent), session_id), now=now)
    found = fresh(agent)
    session = found.session(made)
    assert (session.branched_from, session.title) == (session_id, "") and abs(session.started_at - now) < 0.01
    assert session.name.startswith("request0")
    (child,) = found.children([session_id])
    assert (child.id, child.kind) == (made, "branch")
    cost = found.usage(session_id).cost
    assert cost and found.usage(made).cost is None
    count(agent, made, 3_000)
    own = fresh(agent).usage(made).cost
    assert own and own.dollars == pytest.approx(2 * cost.dollars) and not own.inherited


def count(agent: CodexByHand, name: str, total: int) -> None:
    usage = {"input_tokens": total, "total_tokens": total}
    line = {"type": "token_count", "info": {"total_token_usage": usage, "last_token_usage": usage}}
    agent.append(name, "event_msg", line)


def test_from_before_a_compaction(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(8))
    was = sent(fresh(agent), session_id)
    commit = compacted(agent, writer, session_id)
    for message in talk(2, "later"):
        agent.say("s", message)
    made = branched(writer, session_id, fresh(agent).context_before(session_id, commit.receipt))
    assert sent(fresh(agent), made) == was and "|" not in shown(fresh(agent), made)
    assert lines_of(path_of(agent, made))[-1]["type"] == "token_usage_record"


def test_a_compaction_is_undone_in_each_by_itself(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(8))
    commit = compacted(agent, writer, session_id)
    short = sent(fresh(agent), session_id)
    made = branched(writer, session_id, live(fresh(agent), session_id))
    undo(agent, writer, session_id, commit)
    assert sent(fresh(agent), session_id) == heard(talk(8)) and sent(fresh(agent), made) == short
    assert "|" in shown(fresh(agent), made)
    plan = fresh(agent).undo_plan(made, history(fresh(agent), made).boundaries[-1])
    with locked(writer, made):
        writer.undo(plan, holder="pid=1:agent=palimpsest:nonce=1")
    assert sent(fresh(agent), made) == heard(talk(8))


def test_files_that_go_on_from_others_become_one(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    """With what somebody went back behind left out, torn lines, and the files' own first lines."""
    agent.write("s", talk(3))
    for message in talk(1, "gone"):
        agent.say("s", message)
    agent.take_back("s")
    with agent.path("s").open("ab") as file:
        file.write(b'{"timestamp":"2026-11-26T10:00:00Z","type":"resp\n')
    for message in talk(1, "later"):
        agent.say("s", message)
    was = sent(fresh(agent), session_id)
    made = branched(writer, session_id, live(fresh(agent), session_id))
    assert sent(fresh(agent), made) == was == heard([*talk(3), *talk(1, "later")])
    written = lines_of(path_of(agent, made))
    assert [each["type"] for each in written].count("session_meta") == 1
    assert "gone" not in json.dumps(written)


def test_messages_at_the_end_are_left_out(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    """Whether they have lines of their own, or stand in that of a compaction."""
    agent.write("s", talk(8))
    ids = live(fresh(agent), session_id)
    made = branched(writer, session_id, ids[:-2])
    assert sent(fresh(agent), made) == heard(talk(8))[:-2]
    compacted(agent, writer, session_id)
    ids, now = live(fresh(agent), session_id), sent(fresh(agent), session_id)
    beside = branched(writer, session_id, ids[:-2])
    assert sent(fresh(agent), beside) == now[:-2]
    agent.say("s", {"role": "user", "content": "later"})
    assert sent(fresh(agent), branched(writer, session_id, ids[:-3])) == now[:-3]


def test_a_result_without_a_call_is_in_no_context(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(1))
    agent.append("s", "response_item", {"type": "function_call_output", "call_id": "lost", "output": "nothing"})
    for message in talk(1, "later"):
        agent.say("s", message)
    was = sent(fresh(agent), session_id)
    assert sent(fresh(agent), branched(writer, session_id, live(fresh(agent), session_id))) == was


def test_two_summaries_of_the_same_words(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    """Each is that of its own compaction, before which a branch begins."""
    agent.write("s", talk(2))
    summary = told("user", "The same words.", "compaction.summary")
    for name in ("one", "two"):
        agent.append("s", "compacted", {"message": "", "replacement_history": [dict(summary, id=f"msg_{name}")]})
        for message in talk(1, name):
            agent.say("s", message)
    now = fresh(agent)
    first, second = history(now, session_id).boundaries
    assert first.handoff_id != second.handoff_id
    made = branched(writer, session_id, now.context_before(session_id, second))
    assert sent(fresh(agent), made) == [("user", "The same words."), *heard(talk(1, "one"))]


def test_of_what_no_branch_is_made(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(3))
    ids = live(fresh(agent), session_id)
    before = agent.rows()
    for wrong in ([], [ids[1]], ids[::-1], [*ids, 7]):
        with pytest.raises(NotBranchable):
            branched(writer, session_id, wrong)
    agent.write("helper", talk(1))
    with_meta(agent, "helper", {"source": {"subagent": {"thread_spawn": {"parent_thread_id": session_id}}}})
    refused = fresh(agent).refusal(agent.id_of("helper"), "branch")
    assert refused is not None and "sub-agent" in refused.message
    with pytest.raises(StoreReadOnly, match="sub-agent"):
        branched(writer, agent.id_of("helper"), live(fresh(agent), agent.id_of("helper")))
    assert [row for row in agent.rows() if agent.id_of("helper") not in row[0]] == before


def test_what_does_not_read_back_is_removed_again(
    agent: CodexByHand, writer: Writer, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.write("s", talk(3))
    before = sorted(agent.root.rglob("rollout-*"))
    monkeypatch.setattr(branch, "_is_copied", lambda record: record.type == "response_item" and record.position % 2)
    with pytest.raises(NotBranchable, match="did not read back"):
        branched(writer, session_id, live(fresh(agent), session_id))
    assert sorted(agent.root.rglob("rollout-*")) == before


def test_a_draft_that_was_killed_is_no_session(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    """The file has its name once it is whole."""
    agent.write("s", talk(3))
    made = branched(writer, session_id, live(fresh(agent), session_id))
    path = path_of(agent, made)
    path.rename(path.with_name(f".{path.name}.new"))
    assert all_ids(fresh(agent)) == [session_id]


def test_lines_are_copied_byte_for_byte(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    """Numbers and escapes stay as the client wrote them."""
    agent.write("s", talk(1))
    odd = b'{"timestamp":"","type": "event_msg",  "payload":{"type":"odd","n":1.10,"text":"\\u00e4\\/"},"ordinal":99}\n'
    with agent.path("s").open("ab") as file:
        file.write(odd)
    made = branched(writer, session_id, live(fresh(agent), session_id))
    assert path_of(agent, made).read_bytes().endswith(odd)
