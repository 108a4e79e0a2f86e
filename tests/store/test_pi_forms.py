"""pi's files of other forms: older ones are read as pi migrates them, and what is not known is not written to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.agents.base import Line
from tests.agents.pi.by_hand import HEADER, PiByHand, agent, ask, entry, put, row, session_id, wrapped
from tests.agents.reading import history, opened, sent, shown, store_of
from viewer.stores.errors import StoreReadOnly
from viewer.stores.registry import writer_of
from viewer.usage.pricing import Cost

__all__ = ["agent", "session_id"]  # fixtures

TALK = row("m1", "m2", "m3", "m4")


def refusal(agent: PiByHand, session_id: str) -> str:
    """Why nothing is written to the session, "" where something is. The writer refuses in the same words."""
    with opened(agent) as reader:
        problem = reader.refusal(session_id)
    said = problem.message if problem else ""
    if said:
        with pytest.raises(StoreReadOnly) as refused:
            writer_of(store_of(agent)).apply(session_id, {}, [], mode="in_place", holder="", now=0.0)
        assert refused.value.message == said
    return said


# -- what is not known -------------------------------------------------------------------------------------------------

NARRATED = {"role": "narrator", "content": "Once."}
UNKNOWN: dict[str, tuple[Sequence[Line], str]] = {
    "a type": ([entry("x", "m4", "context_reset"), entry("m5", "x")], "an entry of the type “context_reset”"),
    "a type at the end": ([entry("x", "m4", "compaction_v2", summary="So far.")], "of the type “compaction_v2”"),
    "a type beside the path": ([entry("x", "gone", "leaf", targetId="m2"), entry("m5", "m4")], "of the type “leaf”"),
    "no type": ([entry("x", "m4", "x") | {"type": None}], "an entry of the type “None”"),
    "a role": ([entry("x", "m4", message=NARRATED), entry("m5", "x")], "a message of the role “narrator”"),
    "no message": ([entry("x", "m4", message=None)], "a message of the role “None”"),
    "a content": ([entry("x", "m4", message={"role": "user", "content": 7})], "a message whose content is no text"),
    "no id": ([entry("m5", "m4") | {"id": ""}], "an entry without an id"),
    "an id that is a number": ([entry("m5", "m4") | {"id": 5}], "an entry without an id"),
    "a parent that is a number": ([entry("m5", "m4") | {"parentId": 5}], "an entry whose parent is no id"),
    "a compaction": ([entry("x", "m4", "compaction", summary="So far.", keptIds=["m3"])], "does not say what it keeps"),
    "an edit": ([entry("x", "m4", "context_edit", targetId="m1", replacement={"parts": []})], "an edit"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_is_not_known_is_not_written_to(agent: PiByHand, session_id: str, case: str) -> None:
    more, named = UNKNOWN[case]
    put(agent, [HEADER, *TALK, *more])
    before = agent.path("s").read_bytes()
    said = refusal(agent, session_id)
    assert named in said and "not known here" in said
    with opened(agent) as reader:
        problem = reader.refusal(session_id, "branch")
        assert problem is not None and problem.message == said
        assert len(shown(reader, session_id)) >= 4
    assert agent.path("s").read_bytes() == before


def test_what_was_left_by_going_back_may_be_of_any_form(agent: PiByHand, session_id: str) -> None:
    put(agent, [HEADER, *TALK, entry("x", "m2", "novelty"), entry("m6", "x"), entry("m5", "m2")])
    assert refusal(agent, session_id) == ""


def test_a_role_that_is_not_known_is_shown_and_not_sent(agent: PiByHand, session_id: str) -> None:
    put(agent, [HEADER, *TALK, entry("x", "m4", message=NARRATED), entry("m5", "x")])
    with opened(agent) as reader:
        assert [content for _, content in sent(reader, session_id)] == ["m1", "m2", "m3", "m4", "m5"]
        assert shown(reader, session_id) == ["m1", "m2", "m3", "m4", "Once.", "m5"]
        index = history(reader, session_id)
        assert (len(index.live), index.records) == (5, 1)


def test_a_long_name_is_said_in_part(agent: PiByHand, session_id: str) -> None:
    put(agent, [HEADER, *TALK, entry("x", "m4", "n" * 5_000), entry("m5", "x")])
    assert len(refusal(agent, session_id)) < 300


HEADERS: dict[str, tuple[Any, str]] = {
    "newer": (4, "the version 4 of its form, which is newer"),
    "much newer": (12.5, "the version 12.5 of its form, which is newer"),
    "older": (2, "has an older form"),
    "none": (None, "has an older form"),
    "words": ("next", "names no version of its form that is known"),
}


@pytest.mark.parametrize("case", HEADERS)
def test_the_version_of_a_file(agent: PiByHand, session_id: str, case: str) -> None:
    version, told = HEADERS[case]
    put(agent, [HEADER | {"version": version}, *TALK])
    assert told in refusal(agent, session_id)


FILES: dict[str, tuple[list[Line | bytes], str]] = {
    "nothing": ([], "nothing in this session yet"),
    "no header": ([*TALK], "no header of a session"),
    "a header that is cut": ([b'{"type":"session","vers', *TALK], "no header of a session"),
    "a header behind another line": ([TALK[0], HEADER, *TALK[1:]], "no header of a session"),
    "a header without an id": ([HEADER | {"id": None}, *TALK], "no header of a session"),
    "a broken line before the header": ([b"\0\0\0", HEADER, *TALK], ""),
}


@pytest.mark.parametrize("case", FILES)
def test_files_that_pi_does_not_open(agent: PiByHand, session_id: str, case: str) -> None:
    lines, told = FILES[case]
    put(agent, lines)
    said = refusal(agent, session_id)
    assert told in said and bool(told) is bool(said)


def test_every_form_of_the_clients_that_are_known_is(agent: PiByHand, session_id: str) -> None:
    """As pi 0.73 to 1.6 write them."""
    usage = {"input": 5, "output": 1, "cost": {"total": 0.1, "totalFromProvider": False}}
    first = ask(agent, "one")
    agent.append("s", "thinking_level_change", thinkingLevel="medium")
    agent.append("s", "usage", kind="cache_warm", provider="p", model="m", usage=usage)
    agent.append("s", "custom", customType="pi.virtual-model-state", data={"state": {}})
    agent.append("s", "custom_message", customType="note", content="Mind.", display=True)
    agent.append("s", "message", message={"role": "system", "content": "", "sections": {"role": "pi"}})
    agent.append("s", "message", message={"role": "system", "sections": [], "toolsAdded": []})
    agent.append("s", "message", message={"role": "bashExecution", "command": "ls", "output": "", "exitCode": 0})
    agent.append("s", "message", message={"role": "custom", "customType": "x", "content": [], "display": False})
    agent.append("s", "message", message={"role": "user", "content": None})
    agent.append("s", "branch_summary", fromId="root", summary="We tried.")
    agent.append("s", "label", targetId=first, label="here")
    agent.append("s", "label", targetId=first)
    agent.append("s", "context_edit", targetId=first, replacement=None)
    agent.append("s", "context_edit", targetId=first, replacement={"content": "shorter"})
    agent.append("s", "compaction", summary="So far.", firstKeptEntryId=first, tokensBefore=1, systemMessage={})
    assert refusal(agent, session_id) == ""


# -- older files -------------------------------------------------------------------------------------------------------


def old(line: Line) -> Line:
    return {name: each for name, each in line.items() if name not in ("id", "parentId")}


def test_a_file_of_the_first_version(agent: PiByHand, session_id: str) -> None:
    compaction = old(entry("x", None, "compaction", summary="So far.", firstKeptEntryIndex=3, tokensBefore=9))
    header = {name: each for name, each in HEADER.items() if name != "version"}
    lines = [*map(old, row(*(f"m{at}" for at in range(1, 7)))), compaction, *map(old, row("m7", "m8", "m9", "m10"))]
    put(agent, [header, b"half a li", *lines])
    with opened(agent) as reader:
        said = [content for _, content in sent(reader, session_id)]
        assert said == [wrapped("So far."), "m3", "m4", "m5", "m6", "m7", "m8", "m9", "m10"]
        assert shown(reader, session_id) == ["m1", "m2", "|", *(f"m{at}" for at in range(3, 11))]
        assert (history(reader, session_id).unlinked, reader.abandoned(session_id)) == (0, [])
        assert reader.usage(session_id).cost == Cost(0.5), "of five replies"
    assert "older form" in refusal(agent, session_id)


@pytest.mark.parametrize("first", [0, 9, -1, None, "3", 1e9])
def test_a_compaction_that_keeps_no_place(agent: PiByHand, session_id: str, first: Any) -> None:
    compaction = old(entry("x", None, "compaction", summary="So far.", firstKeptEntryIndex=first))
    put(agent, [HEADER | {"version": 1}, *map(old, TALK), compaction, old(entry("m5", None))])
    with opened(agent) as reader:
        assert [content for _, content in sent(reader, session_id)] == [wrapped("So far."), "m5"]
        assert len(shown(reader, session_id)) == 6


def test_a_list_under_a_header_of_a_tree(agent: PiByHand, session_id: str) -> None:
    """pi goes on with the last entry alone; all are shown."""
    put(agent, [HEADER, *map(old, TALK)])
    with opened(agent) as reader:
        assert [content for _, content in sent(reader, session_id)] == ["m4"]
        assert shown(reader, session_id) == ["m1", "m2", "m3", "m4"]
        assert history(reader, session_id).unlinked == 3
    assert "an entry without an id" in refusal(agent, session_id)


def test_a_message_of_an_extension_in_the_second_version(agent: PiByHand, session_id: str) -> None:
    hook = entry("x", "m4", message={"role": "hookMessage", "customType": "todo", "content": "Do it.", "display": True})
    put(agent, [HEADER | {"version": 2}, *TALK, hook])
    with opened(agent) as reader:
        newest = reader.live(session_id)[-1]
        assert (newest.role, newest.content, newest.extra["display_kind"]) == ("user", "Do it.", "todo")
    put(agent, [HEADER, *TALK, hook])
    with opened(agent) as reader:
        assert len(reader.live(session_id)) == len(history(reader, session_id).live) == 4
    assert "a message of the role “hookMessage”" in refusal(agent, session_id)
