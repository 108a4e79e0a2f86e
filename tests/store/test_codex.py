"""Codex' files: what a resume sends, what compactions, reverts and forks do to History, and files that break."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
import zstandard

from compaction.messages import INNER
from tests.agents.base import Line
from tests.agents.codex.by_hand import INTERNAL, CodexByHand, agent, fresh, items, meta, reader, session_id, told
from tests.agents.codex.writing import with_meta
from tests.agents.reading import history, sent, shown
from tests.agents.talk import heard, talk, turn
from tests.listed import activity_of
from viewer.enforcement.reads import reads_of
from viewer.stores.base import Store
from viewer.stores.codex.items import SUMMARY_PREFIX
from viewer.stores.codex.messages import messages_of
from viewer.stores.codex.replay import replayed
from viewer.stores.errors import NotFound, StoreUnavailable
from viewer.stores.jsonl import compressed
from viewer.stores.message import message_of
from viewer.stores.reader import Reader
from viewer.stores.registry import agent_of

__all__ = ["agent", "reader", "session_id"]

SUMMARY = f"{SUMMARY_PREFIX} And so on:\nThe garden was planned."


def ask(text: str) -> Line:
    return told("user", text, "user.text")


def answer(text: str) -> Line:
    return told("assistant", text, "unknown")


def add(agent: CodexByHand, *payloads: Line) -> None:
    for each in payloads:
        agent.append("s", "response_item", each)


def compact(agent: CodexByHand, history_after: list[Line] | None, message: str = "", **more: Any) -> None:
    agent.append("s", "compacted", {"message": message, "replacement_history": history_after} | more)


# -- what a resume sends -----------------------------------------------------------------------------------------------


def test_what_was_said_is_read_once_and_in_order(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(2))
    agent.append("s", "event_msg", {"type": "user_message", "message": "request0"})  # older clients say it twice
    agent.append("s", "event_msg", {"type": "item_completed", "item": {"type": "AgentMessage", "text": "reply0"}})
    assert sent(reader, session_id) == heard(talk(2)) == agent.load("s")
    assert history(reader, session_id).messages == len(talk(2))


def test_items_of_a_response_are_one_message(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", [])
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Both at once."}]}
    patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"
    free = {"type": "custom_tool_call", "call_id": "c3", "name": "apply_patch", "input": patch, "status": "completed"}
    add(agent, ask("Do both."), thought, *items(turn("1")[1]), free)
    agent.append("s", "token_usage_record", {})
    add(agent, {"type": "custom_tool_call_output", "call_id": "c3", "output": "Done"}, answer("All done."))
    _, reply, result, last = reader.live(session_id)
    assert (reply.reasoning, reply.content) == ("Both at once.", "looking1")
    assert [call["function"]["name"] for call in reply.tool_calls] == ["terminal", "terminal", "apply_patch"]
    assert reply.tool_calls[2]["function"]["arguments"] == patch
    assert (result.role, result.tool_call_id, last.content) == ("tool", "c3", "All done.")


def test_what_the_client_says_of_itself_is_no_message(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", [])
    tools = {"type": "additional_tools", "role": "developer", "tools": [{"name": "exec"}]}
    add(agent, tools, told("developer", "Be kind.", "model.base_instructions"))
    add(agent, {**told("user", "# AGENTS.md instructions\nBe brief.", ""), "internal": None}, ask("Hello"))
    add(agent, told("user", "<turn_aborted>", "generic.turn_aborted"))
    (row,) = reader.live(session_id)
    assert row.content == "Hello"
    named = [(each.before, each.name) for each in reader.additions(session_id, [row.id], end=True)]
    assert named == [
        (row.id, "environment"),
        (row.id, "tools"),
        (row.id, "instructions of the model"),
        (row.id, "instructions"),
        (None, "note that a turn was interrupted"),
    ]


def test_calls_that_were_cut_off(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(1)[:2])
    orphan = {"type": "function_call_output", "call_id": "nobody", "output": "?"}
    add(agent, orphan)
    assert [row.role for row in reader.live(session_id)] == ["user", "assistant"]
    (note,) = reader.additions(session_id, [], end=True)
    assert not note.is_sent and "aborted" in note.text


def test_what_a_script_ran_is_known_by_its_result(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", [])
    script = {"type": "custom_tool_call", "call_id": "c1", "name": "exec", "input": "await tools.exec_command(…)"}
    add(agent, ask("Read the notes"), script)
    for name, command in (("exec-1", "cat NOTES.md"), ("call_9", "cat OTHER.md"), ("exec-2", "cat gone.md")):
        ran = {"type": "CommandExecution", "id": name, "command": ["/bin/bash", "-lc", command], "cwd": "file:///work",
               "exit_code": int("gone" in command), "aggregated_output": "Rule one."}  # fmt: skip
        agent.append("s", "event_msg", {"type": "item_completed", "item": ran})
    add(agent, {"type": "custom_tool_call_output", "call_id": "c1", "output": "Script completed"}, answer("Done."))
    add(agent, {"type": "custom_tool_call_output", "call_id": "c2", "output": "of no script"})
    asked, reply, result, *others = reader.live(session_id)
    assert [call["function"]["name"] for call in reply.tool_calls] == ["exec"]
    assert (result.content, [each["id"] for each in result.inner]) == ("Script completed", ["exec-1", "exec-2"])
    assert not any(row.inner for row in (asked, reply, *others))
    said_in_it = [message_of(row) | {INNER: list(row.inner)} for row in (asked, reply, result)]
    assert [(read.message, read.path) for read in reads_of(said_in_it)] == [(2, "/work/NOTES.md")]


# -- compactions -------------------------------------------------------------------------------------------------------


def test_a_local_compaction(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", [])
    asked = [ask("first"), ask("second")]
    add(agent, asked[0], answer("one"), asked[1], answer("two"))
    agent.append("s", "response_item", answer("The garden was planned."), metadata={"compaction_output": True})
    again = {**asked[0], "id": "msg_renumbered"}
    compact(agent, [again, asked[1], told("user", SUMMARY, "compaction.summary")], SUMMARY)
    add(agent, ask("third"))
    assert sent(reader, session_id) == [("user", "first"), ("user", "second"), ("user", SUMMARY), ("user", "third")]
    assert shown(reader, session_id) == ["first", "one", "second", "two", "|", "third"]
    (boundary,) = history(reader, session_id).boundaries
    assert (boundary.messages_before, boundary.summarised, boundary.kept) == (4, 2, 2)
    assert reader.messages(session_id, [boundary.handoff_id])[boundary.handoff_id].flagged


def test_without_its_compaction_the_answer_to_the_question_for_a_summary_is_sent(
    agent: CodexByHand, reader: Reader, session_id: str
) -> None:
    """A client that is killed in between leaves it so."""
    agent.write("s", talk(1))
    agent.append("s", "response_item", answer("The garden was planned."), metadata={"compaction_output": True})
    assert sent(reader, session_id) == [*heard(talk(1)), ("assistant", "The garden was planned.")]
    compact(agent, [told("user", SUMMARY, "compaction.summary")], SUMMARY)
    assert sent(fresh(agent), session_id) == [("user", SUMMARY)]
    assert "The garden was planned." not in shown(fresh(agent), session_id)


def test_what_is_thought_behind_what_is_said_begins_a_message(
    agent: CodexByHand, reader: Reader, session_id: str
) -> None:
    agent.write("s", [])
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
    add(agent, ask("Go on"), thought, thought, answer("I look."), thought, answer("I have it."))
    rows = [(row.reasoning, row.content) for row in reader.live(session_id)]
    assert rows == [("", "Go on"), ("Hm.\n\nHm.", "I look."), ("Hm.", "I have it.")]


def test_a_remote_compaction_says_what_is_known(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", [])
    first = ask("first")
    agent.append("s", "event_msg", {"type": "task_started", "turn_id": "t9"})
    add(agent, first, answer("one"))
    count = {"input_tokens": 900, "cached_input_tokens": 0, "output_tokens": 100, "total_tokens": 1_000}
    agent.append("s", "event_msg", {"type": "token_count", "info": {"last_token_usage": count}})
    compact(agent, [first, {"type": "compaction", "id": "cmp_1", "encrypted_content": "x" * 500}])
    estimate = {"input_tokens": 0, "total_tokens": 70}
    agent.append("s", "event_msg", {"type": "token_count", "info": {"last_token_usage": estimate}})
    index = history(reader, session_id)
    handoff: Any = reader.shown(session_id, index.boundaries)[0]
    assert "encrypted" in handoff.summary and "500" in handoff.summary
    assert (handoff.reported.tokens_before, handoff.reported.tokens_after) == (1_000, 70)
    assert reader.usage(session_id).tokens is None


def test_pruned_pictures_are_a_shorter_form_of_the_message(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", [])
    picture = {**ask("Look"), "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]}
    add(agent, picture, answer("Seen."))
    pruned = {**picture, "content": [{"type": "input_text", "text": "[inline base64 image payload pruned]"}]}
    compact(agent, [pruned, told("user", SUMMARY, "compaction.summary")])
    index = history(reader, session_id)
    assert [entry.shortened for entry in index.stretch(0, 2).items if hasattr(entry, "shortened")][0]
    assert sent(reader, session_id)[0] == ("user", "[inline base64 image payload pruned]")
    assert index.messages == 2


def test_an_older_compaction_has_its_summary_beside_it(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", [])
    add(agent, ask("first"), answer("one"))
    compact(agent, None, SUMMARY)
    assert sent(reader, session_id) == [("user", "first"), ("user", SUMMARY)]


def test_what_the_client_leaves_out_is_left_out(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(1))
    sound = told("user", SUMMARY, "compaction.summary")
    compact(agent, [sound, {"type": "message", "role": "user", "content": "a string"}])
    compact(agent, [sound], replacement_history_metadata=[{}, {}])
    compact(agent, [sound, {"no": "type"}])
    assert sent(reader, session_id) == heard(talk(1))
    assert not history(reader, session_id).boundaries


# -- going back, forks, archives ---------------------------------------------------------------------------------------


def test_a_revert_leaves_a_branch(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(2))
    before = history(reader, session_id).ids
    agent.take_back("s")
    agent.say("s", {"role": "user", "content": "rather this"})
    now = fresh(agent)
    assert sent(now, session_id) == [*heard(talk(1)), ("user", "rather this")]
    assert list(history(now, session_id).ids)[: len(before)] == list(before)  # links still lead there
    (left,) = now.abandoned(session_id)
    assert left.after == before[4] and list(left.ids) == list(before)[5:]
    agent.take_back("s")
    agent.say("s", {"role": "user", "content": "or this"})
    assert sent(fresh(agent), session_id)[-1] == ("user", "or this")
    assert len(fresh(agent).abandoned(session_id)) == 2


def test_without_its_database_the_newest_file_counts(agent: CodexByHand, session_id: str) -> None:
    agent.write("s", talk(2))
    agent.take_back("s")
    os.unlink(agent.root / "state_5.sqlite")
    assert sent(fresh(agent), session_id) == heard(talk(1))


def test_old_files_roll_turns_back(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(3))
    agent.append("s", "event_msg", {"type": "thread_rolled_back", "num_turns": 2})
    assert sent(reader, session_id) == heard(talk(1))
    (left,) = reader.abandoned(session_id)
    assert len(left.ids) == 10


def test_rolling_back_behind_a_compaction(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(2))
    compact(agent, [told("user", SUMMARY, "compaction.summary")])
    agent.say("s", {"role": "user", "content": "and then"})
    agent.append("s", "event_msg", {"type": "thread_rolled_back", "num_turns": 2})
    assert sent(reader, session_id) == heard(talk(1))


def test_a_fork_goes_on_from_its_parent(agent: CodexByHand, session_id: str) -> None:
    agent.write("s", talk(1))
    size = agent.path("s").stat().st_size
    agent.say("s", {"role": "user", "content": "later in the parent"})
    agent.write("fork", [])
    path, fork = agent.path("fork"), agent.id_of("fork")
    base = {"thread_id": session_id, "end_byte_offset": size}
    first = {"type": "session_meta", "payload": meta(fork) | {"forked_from_id": session_id, "history_base": base}}
    path.write_text(json.dumps(first) + "\n")
    agent.say("fork", {"role": "user", "content": "in the fork"})
    now = fresh(agent)
    assert sent(now, fork) == [*heard(talk(1)), ("user", "in the fork")]
    assert now.session(fork).branched_from == session_id
    assert [(child.id, child.kind) for child in now.children([session_id])] == [(fork, "branch")]
    agent.path("s").unlink()
    gone = fresh(agent)
    assert sent(gone, fork) == [("user", "in the fork")]
    assert session_id in gone.additions(fork, list(history(gone, fork).ids), end=True)[0].text


def test_a_sub_agent_is_linked_and_not_resumed(agent: CodexByHand, session_id: str) -> None:
    agent.write("s", talk(1))
    agent.write("helper", [])
    spawn = {"parent_thread_id": session_id, "depth": 1, "agent_nickname": "Ada"}
    first = meta(agent.id_of("helper")) | {"source": {"subagent": {"thread_spawn": spawn}}}
    agent.path("helper").write_text(json.dumps({"type": "session_meta", "payload": first}) + "\n")
    add_message = {"type": "agent_message", "author": "/root", "recipient": "/root/ada", "content": []}
    agent.append("helper", "response_item", add_message)
    now = fresh(agent)
    assert now.session(agent.id_of("helper")).delegated_from == session_id
    assert [child.kind for child in now.children([session_id])] == ["delegate"]
    assert now.live(agent.id_of("helper"))[0].extra["display_kind"] == "from another agent"


@pytest.mark.parametrize(
    "first",
    [
        {"source": {"subagent": {"other": "guardian"}}, "thread_source": "subagent"},
        {"source": {"subagent": {"other": "guardian"}}, "thread_source": "guardian_review"},
        {"source": {"subagent": "review"}},
        {"source": "cli", "thread_source": "guardian_review"},
        {"source": {"subagent": {"later": {"kind": 7}}}, "forked_from_id": "x"},
    ],
)
def test_whoever_reviews_is_a_sub_agent(agent: CodexByHand, session_id: str, first: Line) -> None:
    for name in ("s", "helper"):
        agent.write(name, talk(1))
    helper = agent.id_of("helper")
    with_meta(agent, "helper", {**first, "parent_thread_id": session_id, "session_id": session_id})
    found = fresh(agent)
    facts = found.listing.sessions([helper])[helper]
    assert (facts.delegated, facts.parent, facts.branched_from, facts.source) == (
        True, session_id, "", "cli" if first["source"] == "cli" else "subagent",
    )  # fmt: skip
    assert [(child.id, child.kind) for child in found.children([session_id])] == [(helper, "delegate")]
    assert found.session(helper).delegated_from == session_id
    refused = found.refusal(helper)
    assert refused is not None and "sub-agent" in refused.message
    assert agent_of(Store("codex", agent.url, "configured")).resume_command(helper) == ""


def test_a_reviewer_whose_session_is_not_named_is_hidden(agent: CodexByHand, session_id: str) -> None:
    agent.write("s", talk(1))
    with_meta(agent, "s", {"source": {"subagent": "review"}})
    facts = fresh(agent).listing.sessions([session_id])[session_id]
    assert (facts.delegated, facts.parent, facts.forked) == (True, "", False)


@pytest.mark.parametrize("source", [{"custom": "palette"}, {}, [], 7, None])
def test_other_sources_are_no_sub_agents(agent: CodexByHand, session_id: str, source: object) -> None:
    agent.write("s", talk(1))
    with_meta(agent, "s", {"source": source, "parent_thread_id": session_id})
    facts = fresh(agent).listing.sessions([session_id])[session_id]
    assert (facts.delegated, facts.source) == (False, "codex")


@pytest.mark.parametrize("keeps_plain", [False, True])
def test_compressed_files(agent: CodexByHand, session_id: str, keeps_plain: bool) -> None:
    agent.write("s", talk(2))
    path = agent.path("s")
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstandard.compress(path.read_bytes()))
    if keeps_plain:
        agent.say("s", {"role": "user", "content": "newer"})
    else:
        path.unlink()
    more = [("user", "newer")] if keeps_plain else []
    assert sent(fresh(agent), session_id) == [*heard(talk(2)), *more]
    assert fresh(agent).session(session_id).first_words.startswith("request0")


def test_a_damaged_compressed_file_is_said(agent: CodexByHand, session_id: str) -> None:
    agent.write("s", talk(1))
    path = agent.path("s")
    path.with_name(path.name + ".zst").write_bytes(b"(\xb5/\xfdnot really")
    path.unlink()
    with pytest.raises(StoreUnavailable, match="damaged"):
        fresh(agent).live(session_id)


def bomb(agent: CodexByHand, name: str, bytes_of_it: int) -> Path:
    """A session whose compressed file holds a line of so many bytes behind its messages."""
    agent.write(name, talk(1))
    path = agent.path(name)
    packed = path.with_name(path.name + ".zst")
    with packed.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as writer:
        writer.write(path.read_bytes())
        for _ in range(bytes_of_it // 1_000_000):
            writer.write(b" " * 1_000_000)
    path.unlink()
    return packed


def test_what_would_fill_the_disk_is_not_unpacked(
    agent: CodexByHand, session_id: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(compressed, "LARGEST", 20_000_000)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    written, unpack = [], compressed._unpack

    def counted(path: Path, *given: Any) -> None:
        written.append(path)
        unpack(path, *given)

    monkeypatch.setattr(compressed, "_unpack", counted)
    packed = bomb(agent, "s", 200_000_000)
    agent.write("other", talk(2))
    reader = fresh(agent)
    assert reader.listing.sessions([session_id])[session_id].cwd == "/home/user/work"
    assert activity_of(reader, session_id).first_words and reader.session(session_id).first_words.startswith("request0")
    assert reader.children([session_id]) == [] and not written
    for _ in range(3):
        with pytest.raises(StoreUnavailable, match="20 MB: no more than 2 GB"):
            reader.live(session_id)
    assert written == [packed] and not list(tmp_path.glob("palimpsest-*"))
    assert sent(reader, agent.id_of("other")) == heard(talk(2))


def test_no_more_than_a_part_of_the_free_disk_is_filled(
    agent: CodexByHand, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb(agent, "s", 3_000_000)
    usage = shutil.disk_usage(".")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=20_000_000))
    with pytest.raises(StoreUnavailable, match=r"more than 1 MB: .* a twentieth of the free disk"):
        fresh(agent).live(session_id)
    monkeypatch.undo()  # there is room again
    assert sent(fresh(agent), session_id) == heard(talk(1))


def test_others_do_not_wait_for_one_that_is_unpacked(
    agent: CodexByHand, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, unpack = bomb(agent, "s", 1_000_000), compressed._unpack
    bomb(agent, "other", 1_000_000)
    begun, goes_on = threading.Event(), threading.Event()

    def waits(path: Path, *given: Any) -> None:
        if path == slow:
            begun.set()
            assert goes_on.wait(60)
        unpack(path, *given)

    monkeypatch.setattr(compressed, "_unpack", waits)
    found: list[Any] = []
    both = [threading.Thread(target=lambda: found.append(sent(fresh(agent), session_id))) for _ in range(2)]
    for thread in both:
        thread.start()
    assert begun.wait(60)
    assert sent(fresh(agent), agent.id_of("other")) == heard(talk(1))
    assert not found
    goes_on.set()
    for thread in both:
        thread.join()
    assert found == [heard(talk(1))] * 2


def test_a_file_of_several_frames(agent: CodexByHand, session_id: str) -> None:
    agent.write("s", talk(2))
    path = agent.path("s")
    data = path.read_bytes()
    half = len(data) // 2
    frames = zstandard.compress(data[:half]) + zstandard.compress(data[half:])
    path.with_name(path.name + ".zst").write_bytes(frames)
    path.unlink()
    assert sent(fresh(agent), session_id) == heard(talk(2))


def test_archived_sessions(agent: CodexByHand, session_id: str) -> None:
    agent.write("s", talk(1))
    archive = agent.root / "archived_sessions"
    archive.mkdir()
    path = agent.path("s")
    path.rename(archive / path.name)
    now = fresh(agent)
    assert now.session(session_id).archived and sent(now, session_id) == heard(talk(1))
    assert now.listing.sessions([session_id])[session_id].archived


# -- files that grow, break and are replaced ---------------------------------------------------------------------------


def test_an_index_grows_with_what_is_appended(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(1))
    before, index = reader.change_token(session_id), history(reader, session_id)
    agent.say("s", {"role": "user", "content": "more"})
    now = reader.change_token(session_id)
    grown = reader.extended(session_id, index, before, now)
    assert grown is not None and list(grown.ids) == list(history(reader, session_id).ids)


@pytest.mark.parametrize(
    "line",
    [b"{broken", b"[1]", b'"text"', b'{"type":"response_item","payl', b"\0\0", b'{"type":5,"payload":{}}', b"{}",
     b'{"type":"response_item","payload":{"type":"message","role":"user","content":7}}',
     b'{"type":"response_item","payload":{"type":"later_kind","x":[1]}}',
     b'{"type":"response_item","payload":{"type":"reasoning","summary":7,"content":true}}',
     b'{"type":"response_item","payload":{"type":"message","role":"user","content":[{"text":"\\ud800"}]}}',
     b'{"type":"compacted","payload":{"replacement_history":7}}', b'{"type":"event_msg","payload":{"type":[]}}',
     b'{"type":"session_meta","payload":{"history_base":{"thread_id":"x","end_byte_offset":-1}}}'],
)  # fmt: skip
def test_bad_lines_lose_nothing(agent: CodexByHand, reader: Reader, session_id: str, line: bytes) -> None:
    agent.write("s", talk(1))
    with agent.path("s").open("ab") as file:
        file.write(line + b"\n")
    agent.append("s", "response_item", ask("after it"), ordinal=99)
    rows = [row for row in reader.live(session_id) if row.content not in (7, None)]
    assert rows[4].content == heard(talk(1))[4][1] and rows[-1].content == "after it"
    shown(reader, session_id)
    raw = reader.raw(session_id, before=None, limit=50)
    assert len(raw) == len(agent.path("s").read_bytes().split(b"\n")) - 1
    assert reader.searchable(session_id, "") is not None
    reader.session(session_id)


def test_a_long_line_is_read(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", [{"role": "user", "content": "x" * 10_000_000}])
    (row,) = reader.live(session_id)
    assert len(row.content) == 10_000_000


def test_another_file_in_its_place(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(2))
    reader.live(session_id)
    path = agent.path("s")
    lines = path.read_bytes().splitlines(keepends=True)
    path.unlink()
    path.write_bytes(b"".join(lines[:4]))
    assert len(fresh(agent).live(session_id)) == 1
    path.unlink()
    with pytest.raises(NotFound):
        fresh(agent).live(session_id)


def test_only_rollouts_are_sessions(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(1))
    for name in ("notes.jsonl", "rollout-x.jsonl", f"rollout-2026-11-26T10-00-00-{session_id}.jsonl.bak"):
        (agent.day / name).write_text("{}")
    assert [each.id for each in reader.listing.all()] == [session_id]  # type: ignore[attr-defined]
    for wrong in ("notes", "../notes", "", session_id[:-1]):
        with pytest.raises(NotFound):
            reader.session(wrong)


# -- the oldest files --------------------------------------------------------------------------------------------------


def test_files_of_bare_items(tmp_path: Path, agent: CodexByHand, session_id: str) -> None:
    path = agent.day / f"rollout-2025-05-07T17-24-21-{session_id}.jsonl"
    bare = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}]
    bare.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]})
    lines = [{"id": session_id, "timestamp": "2025-05-07T17:24:21.597Z"}, {"record_type": "state"}, *bare]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert sent(fresh(agent), session_id) == [("user", "Hello"), ("assistant", "Hi")]


def test_reading_on_is_as_reading_anew(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", [])
    steps: list[tuple[str, Line]] = [("response_item", item) for said_now in talk(2) for item in items(said_now)]
    steps += [("token_usage_record", {}), ("event_msg", {"type": "task_started", "turn_id": "t"})]
    steps += [("compacted", {"message": "", "replacement_history": [steps[0][1], told("user", SUMMARY, "x")]})]
    steps += [("response_item", item) for said_now in talk(1, "later") for item in items(said_now)]
    steps += [("event_msg", {"type": "thread_rolled_back", "num_turns": 1})]
    for kind, payload in steps:
        agent.append("s", kind, payload)
        lineage = reader._lineage(session_id)  # type: ignore[attr-defined]
        read_on, anew = messages_of(session_id, lineage), replayed(lineage)
        assert read_on.replay.live == anew.live and read_on.replay.responses == anew.responses
        assert read_on.replay.abandoned == anew.abandoned and read_on.replay.first == anew.first
        assert [each.after for each in read_on.replay.compactions] == [each.after for each in anew.compactions]


def test_a_line_that_is_not_finished_is_read_once_it_is(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(1))
    whole = agent.path("s").read_bytes()
    agent.say("s", {"role": "user", "content": "whole"})
    longer = agent.path("s").read_bytes()
    agent.path("s").write_bytes(longer[: len(whole) + 40])
    assert sent(reader, session_id) == heard(talk(1))
    agent.path("s").write_bytes(longer)
    assert sent(reader, session_id)[-1] == ("user", "whole")


def test_what_the_service_did_itself_is_shown_as_it_is(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", [])
    add(agent, ask("Search"), {"type": "web_search_call", "id": "ws_1", "status": "completed", INTERNAL: {}})
    assert reader.live(session_id)[1].content == [{"type": "web_search_call", "id": "ws_1", "status": "completed"}]
