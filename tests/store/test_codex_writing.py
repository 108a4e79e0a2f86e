"""What a compaction writes into Codex' files, what is refused, and who is locked out.
What the client makes of it is held in `tests/interop/codex/test_writing.py`.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import time
from typing import Any

import pytest
import zstandard

from compaction.tokens import message_tokens
from tests.agents.base import Line
from tests.agents.codex.by_hand import INTERNAL, CodexByHand, agent, fresh, items, meta, session_id, told
from tests.agents.codex.writing import compacted, lines_of, planned, undo, with_meta, writer, written
from tests.agents.reading import history, sent
from tests.agents.talk import heard, talk
from tests.factories.locks import HOLDER
from viewer.runs import planning
from viewer.stores.codex import encode
from viewer.stores.errors import CompactionConflict, SessionBusy, StoreError
from viewer.stores.message import count_notes, row_tokens, weighed
from viewer.stores.writer import Writer

__all__ = ["agent", "session_id", "writer"]

WORLD = {"full": True, "state": {"a": 1}}
LONG = "what came out of it\n" * 100


def add(agent: CodexByHand, *payloads: Line) -> None:
    for each in payloads:
        agent.append("s", "response_item", each)


# -- lines -------------------------------------------------------------------------------------------------------------


def test_the_lines_of_a_compaction(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(8))
    for world in (WORLD, {"full": False, "state": {"b": 2}}):
        agent.append("s", "world_state", world)
    usage = {"last_token_usage": {"total_tokens": 190_000}, "total_token_usage": {"total_tokens": 9}}
    agent.append("s", "event_msg", {"type": "token_count", "info": {**usage, "model_context_window": 200_000}})
    before = agent.path("s").read_bytes()
    commit = compacted(agent, writer, session_id)
    found = written(agent.path("s"), before)
    assert [(each["type"], each["payload"].get("type")) for each in found] == [
        ("event_msg", "task_started"), ("compacted", None), ("world_state", None), ("world_state", None),
        ("turn_context", None), ("event_msg", "token_count"), ("event_msg", "item_completed"),
        ("event_msg", "task_complete"),
    ]  # fmt: skip
    first = len(before.splitlines())
    assert [each["ordinal"] for each in found] == list(range(first, first + len(found)))
    started, body, turn, counted = (found[at]["payload"] for at in (0, 1, 4, 5))
    assert turn["turn_id"] == started["turn_id"] == body["resume_metadata"]["last_started_turn_id"]
    assert turn["model"] == "test-model" and found[2]["payload"] == WORLD
    assert counted["info"]["total_token_usage"]["total_tokens"] == 9
    assert 0 < counted["info"]["last_token_usage"]["total_tokens"] < 10_000
    assert (body["window_number"], body["previous_window_id"]) == (1, meta(session_id)["context_window"]["window_id"])
    assert "replacement_history_metadata" not in body  # no line has any
    assert [each for each in body["replacement_history"] if each not in _stored(before)] == [
        body["replacement_history"][body["palimpsest"]["handoff"]]
    ]
    assert commit.receipt["window"] == body["window_id"] and len(commit.receipt["lines"]) == len(found)
    again = compacted_again(agent, writer, session_id)
    assert (again["window_number"], again["previous_window_id"]) == (2, body["window_id"])
    assert again["first_window_id"] == body["first_window_id"]


def _stored(data: bytes) -> list[Any]:
    return [json.loads(line)["payload"] for line in data.splitlines()]


def compacted_again(agent: CodexByHand, writer: Writer, session_id: str) -> Line:
    for message in talk(8, "more"):
        agent.say("s", message)
    before = agent.path("s").read_bytes()
    compacted(agent, writer, session_id)
    payload: Line = written(agent.path("s"), before)[1]["payload"]
    return payload


def test_older_files_have_no_numbers(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(8))
    path = agent.path("s")
    plain = [{name: each[name] for name in each if name != "ordinal"} for each in lines_of(path)]
    path.write_text("".join(json.dumps(each) + "\n" for each in plain))
    before = path.read_bytes()
    compacted(agent, writer, session_id)
    found = written(path, before)
    assert not any("ordinal" in each for each in found)
    assert [each["payload"]["type"] for each in found[-2:]] == ["context_compacted", "task_complete"]


def test_what_the_client_notes_of_items_stays_beside_them(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", [])
    for number, item in enumerate(each for message in talk(8) for each in items(message)):
        agent.append("s", "response_item", item, metadata={"history_sequence": number})
    before = agent.path("s").read_bytes()
    compacted(agent, writer, session_id)
    body = written(agent.path("s"), before)[1]["payload"]
    beside, noted = body["replacement_history_metadata"], {}
    for line in map(json.loads, before.splitlines()):
        noted[json.dumps(line["payload"])] = line.get("metadata", {})
    at = body["palimpsest"]["handoff"]
    kept = [json.dumps(each) for number, each in enumerate(body["replacement_history"]) if number != at]
    assert [noted[each] for each in kept] == [*beside[:at], *beside[at + 1 :]]
    assert beside[at]["history_sequence"] > max(each.get("history_sequence", 0) for each in noted.values() if each) - 1


def test_behind_a_torn_line(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(8))
    path = agent.path("s")
    with path.open("ab") as file:
        file.write(b'{"timestamp":"2026-11-26T10:00:00Z","type":"resp')
    before, was = path.read_bytes(), sent(fresh(agent), session_id)
    commit = compacted(agent, writer, session_id)
    assert path.read_bytes().startswith(before + b'\n{"timestamp"') and sent(fresh(agent), session_id) != was
    undo(agent, writer, session_id, commit)
    assert sent(fresh(agent), session_id) == was


def test_an_encrypted_summary_stays(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(2))
    secret = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x" * 500}
    agent.append("s", "compacted", {"message": "", "replacement_history": [secret]})
    for message in talk(8):
        agent.say("s", message)
    before = agent.path("s").read_bytes()
    compacted(agent, writer, session_id)
    replacing = written(agent.path("s"), before)[1]["payload"]["replacement_history"]
    assert replacing[0] == secret and sent(fresh(agent), session_id)[1][1].startswith("[CONTEXT SUMMARY]")


def test_shortened_calls_stay_in_their_response(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    """Also where items have no ids, as the oldest clients wrote them."""
    agent.write("s", [])
    for number in range(12):
        add(agent, bare(told("user", f"Do {number}.", "user.text")), bare(told("assistant", "I do.", "unknown")))
        for part in "ab":
            call = {"name": "shell", "arguments": json.dumps({"command": f"echo {number}{part} " + "x" * 900})}
            add(agent, {"type": "function_call", "call_id": f"c{number}{part}", **call})
        for part in "ab":
            output = {"call_id": f"c{number}{part}", "output": f"{number}{part} {LONG}"}
            add(agent, {"type": "function_call_output", **output})
    was, index = fresh(agent).live(session_id), history(fresh(agent), session_id)
    commit = compacted(agent, writer, session_id, "prune")
    now = [row for row in fresh(agent).live(session_id) if not str(row.content).startswith("[CONTEXT SUMMARY]")]
    assert [row.role for row in now] == [row.role for row in was]
    assert [[call["id"] for call in row.tool_calls] for row in now] == [
        [call["id"] for call in row.tool_calls] for row in was
    ]
    assert sum(len(str(row.content)) for row in now) < sum(len(str(row.content)) for row in was) / 2
    assert [entry for entry in history(fresh(agent), session_id).ids if entry in index.ids] == list(index.ids)
    undo(agent, writer, session_id, commit)
    assert fresh(agent).live(session_id) == was


def bare(item: Line) -> Line:
    return {name: value for name, value in item.items() if name not in ("id", INTERNAL)}


def test_a_half_character_is_no_reason_for_the_client_to_leave_a_line_out(
    agent: CodexByHand, writer: Writer, session_id: str
) -> None:
    agent.write("s", talk(8))
    compacted(agent, writer, session_id, summary="## Goal\n\ud83d \x00 \u2028 done")
    assert b"\\ud83d" not in agent.path("s").read_bytes()
    assert any("\u2028 done" in str(content) for _, content in sent(fresh(agent), session_id))


# -- what does not go as it was meant ----------------------------------------------------------------------------------


def test_what_does_not_read_back_is_taken_off_again(
    agent: CodexByHand, writer: Writer, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client would leave the line out without a word."""
    agent.write("s", talk(8))
    before, plain = agent.path("s").read_bytes(), encode.compaction

    def broken(*given: Any) -> list[Line]:
        made = plain(*given)
        made[1]["payload"]["replacement_history"][-1]["content"] = "a string"
        return made

    monkeypatch.setattr(encode, "compaction", broken)
    with pytest.raises(CompactionConflict, match="taken back"):
        compacted(agent, writer, session_id)
    assert agent.path("s").read_bytes().startswith(before)
    assert sent(fresh(agent), session_id) == heard(talk(8)) and not history(fresh(agent), session_id).boundaries


def test_sessions_that_are_never_written_to(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    for name in ("archived", "packed", "helper", "fork"):
        agent.write(name, talk(8))
    (agent.root / "archived_sessions").mkdir()
    path = agent.path("archived")
    path.rename(agent.root / "archived_sessions" / path.name)
    path = agent.path("packed")
    path.with_name(path.name + ".zst").write_bytes(zstandard.compress(path.read_bytes()))
    path.unlink()
    spawn = {"thread_spawn": {"parent_thread_id": session_id}}
    with_meta(agent, "helper", {"source": {"subagent": spawn}})
    with_meta(agent, "fork", {"history_base": {"thread_id": session_id, "end_byte_offset": 9}})
    before = agent.rows()
    for name, reason in (
        ("archived", "unarchive"), ("packed", "compressed"), ("helper", "sub-agent"), ("fork", session_id),
    ):  # fmt: skip
        refused = fresh(agent).refusal(agent.id_of(name))
        assert refused is not None and reason in refused.message
        with pytest.raises(StoreError):
            compacted(agent, writer, agent.id_of(name))
    assert agent.rows() == before
    assert fresh(agent).refusal(agent.id_of("fork"), "split") is not None


# -- locks -------------------------------------------------------------------------------------------------------------


def test_the_clients_own_lock(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(8))
    place = agent.root / "thread-writer-locks" / f"{session_id}.lock"
    with writer.hold(session_id, HOLDER):
        with place.open("a") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(SessionBusy), writer.hold(session_id, "another"):
            pass
        writer.release(session_id, "another")
        held = fresh(agent).presence(session_id).holder
        assert held is not None and held.is_palimpsest
    assert not place.exists() and fresh(agent).presence(session_id).holder is None
    token, edits = planned(agent, session_id)
    with pytest.raises(SessionBusy):
        writer.apply(session_id, token, edits, mode="in_place", holder=HOLDER, now=time.time())
    place.touch()  # a client that was killed
    compacted(agent, writer, session_id)
    refused = pytest.raises(SessionBusy, match="has this session open")
    with agent.compacting("s"), refused, writer.hold(session_id, HOLDER):
        pass


@pytest.mark.slow
def test_a_client_that_locks_nothing_has_the_file_open(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    agent.write("s", talk(8))
    for mode, is_busy in (("r", False), ("a", True)):
        program = f"f = open({str(agent.path('s'))!r}, {mode!r}); print('open', flush=True); input()"
        with subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as client:
            assert client.stdout is not None and client.stdout.readline() == "open\n"
            assert bool(fresh(agent).presence(session_id).holder) is is_busy
            if is_busy:
                with pytest.raises(SessionBusy, match="has this session open"):
                    compacted(agent, writer, session_id)
            client.communicate("\n")
    compacted(agent, writer, session_id)


# -- what hooks and skills add beside a prompt -------------------------------------------------------------------------


NOTES = [("developer", "hooks.additional_context"), ("user", "skills.selected_skill_instructions")]


def with_notes(agent: CodexByHand) -> None:
    """A session in which each request has notes beside it, and one stands before the first."""
    agent.write("s", [])
    add(agent, told("developer", "At the start. " * 60, "hooks.additional_context"))
    for message in talk(8):
        agent.say("s", message)
        if message["role"] == "user":
            add(agent, *(told(role, f"Beside {message['content']}. " * 60, kind) for role, kind in NOTES))


def texts(items: list[Line]) -> list[str]:
    return ["".join(part["text"] for part in each["content"])[:40] for each in items if each["type"] == "message"]


def notes_among(items: list[Line]) -> list[str]:
    kinds = {kind for _, kind in NOTES}
    return texts([each for each in items if kinds & {*each.get(INTERNAL, {}).get("content_item_kinds", [])}])


def test_notes_go_with_the_message_that_they_stand_beside(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    with_notes(agent)
    stored = agent.path("s").read_bytes()
    commit = compacted(agent, writer, session_id)
    history = written(agent.path("s"), stored)[1]["payload"]["replacement_history"]
    asked = [each for each in history if each.get(INTERNAL, {}).get("content_item_kinds") == ["user.text"]]
    assert 0 < len(asked) < 8
    beside = [f"Beside {said}. "[:40] for said in texts(asked) for _ in NOTES]
    assert [each[:20] for each in notes_among(history)] == [each[:20] for each in ["At the start. " * 3, *beside]]
    assert "environments.environment_context" in json.dumps(history)
    undo(agent, writer, session_id, commit)
    assert (
        len(notes_among([each["payload"] for each in lines_of(agent.path("s")) if each["type"] == "response_item"]))
        == 17
    )
    assert len([note for row in fresh(agent).live(session_id) for note in row.notes]) == 17


def test_a_message_of_both_is_no_note(agent: CodexByHand, writer: Writer, session_id: str) -> None:
    with_notes(agent)
    both = told("developer", "Rules, and a note.", "hooks.additional_context")
    both[INTERNAL]["content_item_kinds"].append("permissions.instructions")
    agent.append("s", "response_item", both)
    for message in talk(8):
        agent.say("s", message)
    stored = agent.path("s").read_bytes()
    compacted(agent, writer, session_id)
    assert both in written(agent.path("s"), stored)[1]["payload"]["replacement_history"]


def test_notes_are_in_the_numbers(agent: CodexByHand, session_id: str) -> None:
    agent.write("s", talk(2))
    bare = sum(row_tokens(row, len) for row in fresh(agent).live(session_id))
    before, index = fresh(agent).change_token(session_id), history(fresh(agent), session_id)
    add(agent, told("developer", "n" * 500, "hooks.additional_context"))
    reader = fresh(agent)
    rows = reader.live(session_id)
    assert count_notes(rows, len) == (1, 500) and rows[-1].notes == ("n" * 500,)
    assert sum(row_tokens(row, len) for row in rows) >= bare + 500
    basis = planning.read_basis(reader, session_id)
    assert sum(message_tokens(weighed(row), len) for row in basis.sent) >= bare + 500
    now = reader.change_token(session_id)
    assert reader.extended(session_id, index, before, now) is None  # the size of a message is another
    assert sum(history(reader, session_id).sizes) == sum(index.sizes) + 500


def test_a_note_that_the_client_dropped_counts_no_more(agent: CodexByHand, session_id: str) -> None:
    with_notes(agent)
    asked = [
        each["payload"]
        for each in lines_of(agent.path("s"))
        if each["payload"].get(INTERNAL, {}).get("content_item_kinds") == ["user.text"]
    ]
    agent.append("s", "compacted", {"message": "", "replacement_history": asked})
    reader = fresh(agent)
    assert [row.notes for row in reader.live(session_id)] == [()] * 8
