"""pi's files: what is sent of a tree, what compactions, edits and ways back do to History, and files that break."""

from __future__ import annotations

import json
import os

import pytest

from compaction.handoff import handoff_text
from compaction.messages import INNER
from tests.agents.pi.by_hand import CWD, PiByHand, agent, ask, said, session_id, wrapped
from tests.agents.pi.strange import strange_entries
from tests.agents.reading import history, opened, sent, shown, store_of
from tests.agents.talk import talk
from tests.agents.writing import compacted
from tests.slow import one_in
from viewer.enforcement.reads import reads_of
from viewer.stores.message import ReportedCompaction, message_of
from viewer.stores.registry import agent_of
from viewer.stores.trees.messages import EntryMessages, grown
from viewer.stores.trees.records import entry_of
from viewer.stores.trees.replay import tree_of

__all__ = ["agent", "session_id"]  # fixtures


def answer(agent: PiByHand, text: str) -> str:
    return str(agent.append("s", "message", message=said({"role": "assistant", "content": text}))["id"])


# -- what is sent ------------------------------------------------------------------------------------------------------


def test_a_compaction(agent: PiByHand, session_id: str) -> None:
    ask(agent, "one")
    answer(agent, "1")
    kept = ask(agent, "two")
    answer(agent, "2")
    agent.append("s", "compaction", summary="One was said.", firstKeptEntryId=kept, tokensBefore=900, tokensAfter=90)
    ask(agent, "three")
    with opened(agent) as reader:
        assert sent(reader, session_id) == [
            ("user", wrapped("One was said.")), ("user", "two"), ("assistant", "2"), ("user", "three"),
        ]  # fmt: skip
        assert shown(reader, session_id) == ["one", "1", "|", "two", "2", "three"]
        index = history(reader, session_id)
        (boundary,) = index.boundaries
        assert (boundary.messages_before, boundary.summarised, boundary.kept) == (4, 2, 2)
        (handoff,) = reader.shown(session_id, [boundary])
        assert handoff.summary == "One was said."  # type: ignore[union-attr]
        assert "<summary>" in handoff.directive  # type: ignore[union-attr]
        assert handoff.reported == ReportedCompaction("", 900, 90, "")  # type: ignore[union-attr]
        assert reader.usage(session_id).tokens is None, "no request was made since"
        assert list(index.live_ids)[0] == boundary.handoff_id, "the summary is sent first"


def test_a_compaction_of_ours_is_read_without_its_framing(agent: PiByHand, session_id: str) -> None:
    ask(agent, "one")
    agent.append("s", "compaction", summary=handoff_text("One."), firstKeptEntryId="none", tokensBefore=9)
    with opened(agent) as reader:
        (handoff,) = reader.shown(session_id, list(history(reader, session_id).boundaries))
        assert handoff.summary == "One."  # type: ignore[union-attr]


def test_what_no_person_said_is_named(agent: PiByHand, session_id: str) -> None:
    shell = {"role": "bashExecution", "command": "false", "output": "", "exitCode": 1, "timestamp": 1}
    agent.append("s", "message", message=shell)
    agent.append("s", "message", message=shell | {"excludeFromContext": True, "command": "secret"})
    agent.append("s", "custom_message", customType="note", content="Mind the gap.", display=False)
    agent.append("s", "branch_summary", fromId="x", summary="We tried.")
    agent.append("s", "custom", customType="state", data={"a": 1})
    with opened(agent) as reader:
        rows = reader.live(session_id)
        kinds = [row.extra.get("display_kind") for row in rows]
        assert kinds == ["a command that somebody ran"] * 2 + ["note", "summary of a branch"]
        assert rows[0].content == "Ran `false`\n(no output)\n\nCommand exited with code 1"
        assert [row.role for row in rows] == ["user", "session_meta", "user", "user"]
        assert "We tried." in str(rows[3].content)
        index = history(reader, session_id)
        assert (index.in_context, len(index.live), index.records) == (4, 3, 1)
        assert reader.session(session_id).first_words == ""


@pytest.mark.django_db
def test_what_is_not_sent_may_be_among_what_is_kept(agent: PiByHand, session_id: str) -> None:
    """A command that the model is not shown; OpenClaw writes such a row for each call by its tool search."""
    for number in range(8):
        ask(agent, f"{number}: {'A great deal grows there. ' * 99}")
        answer(agent, f"{number}, and all of it. {'It is watered at noon. ' * 99}")
    shell = {"role": "bashExecution", "command": "ls", "output": "", "excludeFromContext": True, "timestamp": 1}
    ask(agent, "And now?")
    agent.append("s", "message", message=shell)
    answer(agent, "Now.")
    compacted(agent)
    with opened(agent) as reader:
        (_, summary), *kept = (each for each in sent(reader, session_id) if each[0] != "session_meta")
        assert "Finish." in summary and kept[-2:] == [("user", "And now?"), ("assistant", "Now.")] and len(kept) < 16


def test_an_edit_of_what_is_sent(agent: PiByHand, session_id: str) -> None:
    first = ask(agent, "the whole long story")
    second = ask(agent, "a slip")
    agent.append("s", "context_edit", targetId=first, replacement={"content": [{"type": "text", "text": "short"}]})
    agent.append("s", "context_edit", targetId=second, replacement=None)
    answer(agent, "Fine.")
    with opened(agent) as reader:
        assert sent(reader, session_id) == [("user", "short"), ("assistant", "Fine.")]
        assert shown(reader, session_id) == ["the whole long story", "a slip", "Fine."]
        story, slip, _ = history(reader, session_id).entries
        assert (story.shortened, story.state, slip.state) == (True, "live", "under")


def test_what_the_client_tells_of_itself_is_no_message(agent: PiByHand, session_id: str) -> None:
    sections = [{"id": "role", "text": "You are pi."}, {"id": "rules", "text": "Be kind."}]
    agent.append("s", "message", message={"role": "system", "sections": sections, "toolsAdded": []})
    ask(agent, "Hello")
    with opened(agent) as reader:
        (row,) = reader.live(session_id)
        (told,) = reader.additions(session_id, [row.id], end=True)
        assert (told.before, told.name, told.is_sent) == (row.id, "system prompt", True)
        assert told.text == "# role\nYou are pi.\n\n# rules\nBe kind."
        assert history(reader, session_id).messages == 1


def test_calls_that_were_cut_off(agent: PiByHand, session_id: str) -> None:
    for message in talk(1)[:2]:
        agent.say("s", message)
    agent.say("s", {"role": "tool", "content": "?", "tool_call_id": "nobody"})
    with opened(agent) as reader:
        assert [row.role for row in reader.live(session_id)] == ["user", "assistant", "tool"]
        notes = [each.name for each in reader.additions(session_id, [], end=True)]
        assert notes == ["results of calls that were not finished"]


def test_a_reply_that_broke_off_is_shown_and_not_sent(agent: PiByHand, session_id: str) -> None:
    ask(agent, "one")
    for reason in ("error", "aborted"):
        reply = said({"role": "assistant", "content": f"half of it, {reason}"}) | {"stopReason": reason}
        agent.append("s", "message", message=reply)
    ask(agent, "two")
    with opened(agent) as reader:
        assert [content for _, content in sent(reader, session_id)] == ["one", "two"]
        assert shown(reader, session_id) == ["one", "half of it, error", "half of it, aborted", "two"]
        index = history(reader, session_id)
        assert (len(index.live), index.records) == (2, 2)


def test_thoughts_pictures_and_errors(agent: PiByHand, session_id: str) -> None:
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    agent.append("s", "message", message={"role": "user", "content": [{"type": "text", "text": "See"}, picture]})
    thought = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "A cat."}]
    agent.append("s", "message", message={"role": "assistant", "content": thought, "stopReason": "length"})
    with opened(agent) as reader:
        asked, reply = reader.live(session_id)
        assert asked.content[1]["source"] == {"type": "base64", "media_type": "image/png", "data": "aGk="}
        assert (reply.reasoning, reply.content, reply.finish_reason) == ("Hm.", "A cat.", "length")


# -- ways back ---------------------------------------------------------------------------------------------------------


def test_what_was_left_is_still_there(agent: PiByHand, session_id: str) -> None:
    first = ask(agent, "one")
    answer(agent, "left")
    ask(agent, "left too")
    ask(agent, "instead", parentId=first)
    with opened(agent) as reader:
        assert [content for _, content in sent(reader, session_id)] == ["one", "instead"]
        assert shown(reader, session_id) == ["one", "instead"]
        (branch,) = reader.abandoned(session_id)
        rows = reader.messages(session_id, branch.ids)
        assert [rows[each].content for each in branch.ids] == ["left", "left too"]
        assert reader.messages(session_id, [branch.after or 0])[branch.after or 0].content == "one"
        assert {row.state for row in rows.values()} == {"out"}


def test_a_way_back_behind_a_compaction_takes_it_back(agent: PiByHand, session_id: str) -> None:
    first = ask(agent, "one")
    agent.append("s", "compaction", summary="One.", firstKeptEntryId="none", tokensBefore=9)
    ask(agent, "two")
    ask(agent, "instead", parentId=first)
    with opened(agent) as reader:
        assert [content for _, content in sent(reader, session_id)] == ["one", "instead"]
        assert not history(reader, session_id).boundaries
        (branch,) = reader.abandoned(session_id)
        assert len(branch.ids) == 1, "a summary is no message that somebody left"


# -- growing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", one_in(5, range(100)))
@pytest.mark.parametrize("is_strict", [True, False])
def test_a_session_that_grows_is_as_one_read_at_once(seed: int, is_strict: bool) -> None:
    records = [entry_of(value, at, at, 9) for at, value in enumerate(strange_entries(seed))]

    def read(stop: int) -> EntryMessages:
        return EntryMessages(records[:stop], tree_of(records[:stop], is_strict=is_strict), str(stop))

    before = read(1)
    for stop in range(2, len(records) + 1):
        now, again = grown(before, records[:stop], str(stop)), read(stop)
        assert now is not None and now.tree == again.tree
        for name in ("units", "ids", "live", "passed", "states", "compactions", "abandoned"):
            assert getattr(now, name) == getattr(again, name), (stop, name)
        before = now


def test_an_index_is_extended_as_it_would_be_made(agent: PiByHand, session_id: str) -> None:
    for message in talk(3):
        agent.say("s", message)
    agent.append("s", "compaction", summary="So far.", firstKeptEntryId="none", tokensBefore=9)
    ask(agent, "next")
    with opened(agent) as reader:
        before, index = reader.change_token(session_id), history(reader, session_id)
    answer(agent, "Now.")
    with opened(agent) as reader:
        now = reader.change_token(session_id)
        longer = reader.extended(session_id, index, before, now)
        assert longer is not None and longer.messages == index.messages + 1
        assert longer == history(reader, session_id)
    shell = {"role": "bashExecution", "command": "ls", "output": "", "excludeFromContext": True, "timestamp": 1}
    agent.append("s", "message", message=shell)
    with opened(agent) as reader:
        assert reader.extended(session_id, longer, now, reader.change_token(session_id)) is None, "it is not sent"
        longer, now = history(reader, session_id), reader.change_token(session_id)
        assert len(longer.live) == 3
    agent.append("s", "compaction", summary="All.", firstKeptEntryId="none", tokensBefore=9)
    with opened(agent) as reader:
        assert reader.extended(session_id, longer, now, reader.change_token(session_id)) is None


def test_search_goes_on_behind_its_cursor(agent: PiByHand, session_id: str) -> None:
    ask(agent, "a marmoset")
    with opened(agent) as reader:
        first = reader.searchable(session_id, "")
        assert first is not None and [each.text for each in first.messages] == ["a marmoset"]
    answer(agent, "An armadillo.")
    with opened(agent) as reader:
        second = reader.searchable(session_id, first.cursor)
        assert second is not None and [each.text for each in second.messages] == ["An armadillo."]
    path = agent.path("s")
    draft = path.with_suffix(".new")
    draft.write_bytes(path.read_bytes().replace(b"a marmoset", b"an ocelot!"))
    os.replace(draft, path)
    with opened(agent) as reader:
        assert reader.searchable(session_id, second.cursor) is None, "what was given before may be another text"


# -- lists -------------------------------------------------------------------------------------------------------------


def test_what_lists_say(agent: PiByHand, session_id: str) -> None:
    for message in talk(1):
        agent.say("s", message)
    agent.append("s", "session_info", name="Garden\nplans")
    agent.append(
        "s", "usage", kind="cache_warm", provider="test", model="m", usage={"input": 500, "cost": {"total": 0.05}}
    )
    with opened(agent) as reader:
        session = reader.session(session_id)
        assert (session.title, session.model, session.cwd) == ("Garden plans", "test-model", CWD)
        assert session.first_words.startswith("request0") and session.source == "pi"
        usage = reader.usage(session_id)
        assert usage.tokens == 135
        assert usage.cost and usage.cost.dollars == pytest.approx(0.25), "of two replies and a cache that was warmed"
        facts = reader.listing.sessions([session_id])[session_id]
        assert (facts.title, facts.model, facts.cwd) == (session.title, session.model, session.cwd)
    path = agent.path("s")
    command = f"cd {CWD} && pi --session {path}"
    assert agent_of(store_of(agent)).resume_command(session_id) == command
    assert agent_of(store_of(agent)).resume_command("nobody") == ""


def test_a_name_far_from_the_end_is_found(agent: PiByHand, session_id: str) -> None:
    agent.append("s", "session_info", name="Renamed")
    for number in range(5):
        ask(agent, f"{number} " + "x" * 700_000)
    with opened(agent) as reader:
        assert reader.session(session_id).title == "Renamed"
    ask(agent, "more")
    with opened(agent) as reader:
        assert reader.session(session_id).title == "Renamed"
    agent.append("s", "session_info", name="Again")
    with opened(agent) as reader:
        assert reader.session(session_id).title == "Again"


def test_a_fork_is_linked(agent: PiByHand, session_id: str) -> None:
    fork = agent.directory / "2026-11-26T11-00-00-000Z_fork.jsonl"
    header = {"type": "session", "version": 3, "id": "fork", "cwd": CWD, "parentSession": str(agent.path("s"))}
    fork.write_text(json.dumps(header) + "\n")
    with opened(agent) as reader:
        assert (reader.session("fork").parent, reader.session("fork").branched_from) == (session_id, session_id)
        assert [(each.id, each.kind) for each in reader.children([session_id])] == [("fork", "branch")]


def test_two_files_of_one_id_are_two_sessions(agent: PiByHand, session_id: str) -> None:
    other = agent.root / "sessions" / "--other--"
    other.mkdir()
    (other / agent.path("s").name).write_bytes(agent.path("s").read_bytes())
    with opened(agent) as reader:
        ids = {each.id for each in reader.listing.files()}  # type: ignore[attr-defined]
        assert len(ids) == 2 and session_id in ids


def test_calls_of_a_script_are_shown_and_count_as_reads(agent: PiByHand, session_id: str) -> None:
    """pi's `codemode`: what each call gave back is not stored; one that failed read nothing."""
    ask(agent, "Look.")
    called = {"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "codemode", "arguments": {}}]}
    agent.append("s", "message", message=called)
    nested = [
        {"id": "c/1", "name": "read", "status": "ok", "arguments": {"path": "AGENTS.md"}},
        {"id": "c/2", "name": "read", "status": "error", "error": "ENOENT", "arguments": {"path": "gone.md"}},
        {"id": "c/3", "name": "bash", "status": "unfinished", "argumentsBytes": 90_000},
        {"id": "c/4"},
    ]
    result = said({"role": "tool", "content": "Script completed", "tool_call_id": "c"})
    agent.append("s", "message", message=result | {"nestedCalls": {"calls": nested, "complete": True}})
    with opened(agent) as reader:
        rows = reader.live(session_id)
    assert [each["function"]["name"] for each in rows[-1].inner] == ["read", "read", "bash"]
    reads = reads_of([message_of(row) | {INNER: list(row.inner)} for row in rows])
    assert [each.path for each in reads] == ["AGENTS.md"]
