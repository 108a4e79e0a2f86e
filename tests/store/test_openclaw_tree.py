"""OpenClaw's and pi's trees of entries: which path is active, and what of it a model is sent."""

from __future__ import annotations

from typing import Any

import pytest

from viewer.stores.trees.plain_tree import EntryTree
from viewer.stores.trees.records import TreeEntry, entry_of
from viewer.stores.trees.replay import PathContext, tree_of

STAMP = "2026-11-26T10:00:00.000Z"


def entry(name: str, parent: str | None, kind: str = "message", **more: Any) -> dict[str, Any]:
    said = {"message": {"role": "user", "content": name}} if kind == "message" else {}
    return {"type": kind, "id": name, "parentId": parent, "timestamp": STAMP, **said, **more}


def compaction(name: str, parent: str, first: str | None, **more: Any) -> dict[str, Any]:
    kept = {} if first is None else {"firstKeptEntryId": first}
    return entry(name, parent, "compaction", summary="So far.", tokensBefore=100, **kept) | more


Values = list[dict[str, Any] | None]


def records(*values: dict[str, Any] | None) -> list[TreeEntry]:
    return [entry_of(value, at, at * 10, 9) for at, value in enumerate(values)]


def tree(*values: dict[str, Any] | None, is_strict: bool = True) -> EntryTree:
    return tree_of(records(*values), is_strict=is_strict)


def names(entries: Any) -> list[str]:
    return [each.id for each in entries]


HEADER = {"type": "session", "version": 4, "id": "s", "timestamp": STAMP, "cwd": "/w"}
LINE: Values = [HEADER, entry("a", None), entry("b", "a"), entry("c", "b")]

# What is said, and the path that OpenClaw and pi go on with.
PATHS: dict[str, tuple[Values, str, str]] = {
    "in a row": (LINE, "abc", "abc"),
    "from an earlier one": ([*LINE, entry("d", "a"), entry("e", "d")], "ade", "ade"),
    "a leaf entry": ([*LINE, entry("L", "c", "leaf", targetId="a")], "a", "abcL"),
    "behind a leaf entry": ([*LINE, entry("L", "c", "leaf", targetId="a"), entry("d", "a")], "ad", "ad"),
    "on a leaf entry": ([*LINE, entry("L", "c", "leaf", targetId="a"), entry("d", "L")], "ad", "abcLd"),
    "a leaf entry to nothing": ([*LINE, entry("L", "c", "leaf", targetId=None)], "", "abcL"),
    "the root again": ([*LINE, entry("L", "c", "leaf", targetId=None), entry("d", None)], "d", "d"),
    "at the side": ([*LINE, entry("d", "c", appendMode="side")], "abc", "abcd"),
    "an unknown type": ([*LINE, entry("d", "c", "novelty")], "abc", "abcd"),
    "a message on an unknown type": ([*LINE, entry("d", "c", "novelty"), entry("e", "d")], "abce", "abcde"),
    "one that is broken": ([*LINE, None, entry("d", "c")], "abcd", "abcd"),
    "one without a parent": ([*LINE, {"type": "message", "id": "d"}], "abc", "d"),
    "a parent that is missing": ([*LINE, entry("d", "gone"), entry("e", "d")], "de", "de"),
    "an id again": ([*LINE, entry("b", "a", text="b"), entry("d", "b")], "abd", "abd"),
    "a cycle": ([entry("a", "c"), entry("b", "a"), entry("c", "b")], "abc", "abc"),
    "itself": ([entry("a", "a")], "a", "a"),
}


@pytest.mark.parametrize("case", PATHS)
def test_the_active_path(case: str) -> None:
    values, openclaw, pi = PATHS[case]
    assert "".join(names(tree(*values).path)) == openclaw
    assert "".join(names(tree(*values, is_strict=False).path)) == pi


@pytest.mark.parametrize("case", PATHS)
def test_a_tree_that_grows_is_as_one_read_at_once(case: str) -> None:
    every = records(*PATHS[case][0])
    for cut in range(len(every)):
        grown = tree_of(every[:cut], is_strict=True).copy()
        grown.read(every[cut:])
        assert grown == tree_of(every, is_strict=True)


def test_what_the_path_ends_at() -> None:
    assert tree(*PATHS["a parent that is missing"][0]).missing == "gone"
    assert tree(*PATHS["a cycle"][0]).is_cyclic and not tree(*LINE).is_cyclic
    assert tree(*LINE, entry("L", "c", "leaf", targetId="a", appendParentId="b")).append_parent == "b"
    assert tree(*LINE, entry("L", "c", "leaf", targetId="a")).append_parent == "a"


R = entry("R", "c", "reset", reason="daily")
LINKS = {
    "a leaf before a reset is not set": ([*LINE, R, entry("d", "R"), entry("L", "d", "leaf", targetId="b")], "abcRd"),
    "a leaf behind a reset is": ([*LINE, R, entry("d", "R"), entry("L", "d", "leaf", targetId="R")], "abcR"),
    "no entry hangs before a reset": ([*LINE, R, entry("d", "b"), entry("e", "d")], "abcRde"),
    "behind one at the side": ([*LINE, entry("s", "c", appendMode="side"), entry("d", "s")], "abcd"),
    "a leaf to nothing that is there": ([*LINE, entry("L", "c", "leaf", targetId="gone"), entry("d", "c")], "abcd"),
    "a leaf to a link": ([*LINE, entry("x", "b", "novelty"), entry("L", "c", "leaf", targetId="x")], "ab"),
    "a label of nothing": ([*LINE, entry("x", "c", "label", targetId="gone"), entry("d", "x")], "abcd"),
    "no parent at all": ([*LINE, {"type": "session_info", "id": "d", "timestamp": STAMP}, entry("e", "d")], "abcde"),
    "a message of no known role": ([*LINE, entry("x", "c", message={"role": "narrator"}), entry("d", "x")], "abcd"),
    "a reset for no known reason": ([*LINE, entry("x", "c", "reset", reason="whim"), entry("d", "x")], "abcd"),
}  # fmt: skip


@pytest.mark.parametrize("case", LINKS)
def test_what_openclaw_passes_over(case: str) -> None:
    values, path = LINKS[case]
    assert "".join(names(tree(*values).path)) == path


def test_what_a_reset_keeps() -> None:
    """What was said and results of calls that it keeps; no notes, no results alone."""
    call = {"role": "assistant", "content": [{"type": "toolCall", "id": "k", "name": "x", "arguments": {}}]}
    result = {"role": "toolResult", "toolName": "x", "isError": False, "content": []}
    values = [
        *LINE[:2],
        entry("b", "a", message=result | {"toolCallId": "gone"}),
        entry("c", "b", message=call),
        entry("d", "c", message=result | {"toolCallId": "k"}),
        entry("e", "d", "custom_message", customType="t", content="x", display=True),
        entry("R", "e", "reset", reason="new", firstKeptEntryId="a"),
        entry("f", "R"),
    ]
    assert names(PathContext(tree(*values)).now) == list("Racdf")


def test_a_kept_entry_that_is_a_link() -> None:
    link = entry("x", "b", "novelty")
    assert names(PathContext(tree(*LINE[:3], link, entry("d", "x"), compaction("K", "d", "x"))).now) == list("Kbd")
    link = entry("x", None, "novelty")
    assert names(PathContext(tree(link, entry("d", "x"), entry("e", "d"), compaction("K", "e", "x"))).now) == list(
        "Kde"
    )


def test_a_copy_is_read_on_alone() -> None:
    first = tree(*LINE)
    second = first.copy()
    assert second.read(records(*LINE, entry("d", "c"))[-1:])
    assert (names(first.path), names(second.path)) == (list("abc"), list("abcd"))


# What is said behind a, b, c, and what is sent: the boundary, what it keeps, what came since.
CONTEXTS: dict[str, tuple[Values, str]] = {
    "nothing": ([], "abc"),
    "kept from": ([compaction("K", "c", "b"), entry("d", "K")], "Kbcd"),
    "the oldest": ([compaction("K", "c", "a")], "Kabc"),
    "itself": ([compaction("K", "c", "K"), entry("d", "K")], "Kd"),
    "an unknown one": ([compaction("K", "c", "gone"), entry("d", "K")], "Kd"),
    "a later one": ([compaction("K", "c", "d"), entry("d", "K")], "Kd"),
    "on top": ([compaction("K", "c", "b"), entry("d", "K"), compaction("M", "d", "d")], "Md"),
    "before an earlier one": ([compaction("K", "c", "c"), entry("d", "K"), compaction("M", "d", "b")], "Mbcd"),
    "a reset": ([entry("R", "c", "reset", reason="daily"), entry("d", "R")], "Rd"),
    "a reset that keeps": ([entry("R", "c", "reset", firstKeptEntryId="c"), entry("d", "R")], "Rcd"),
    "taken back": ([compaction("K", "c", "c"), entry("L", "K", "leaf", targetId="c"), entry("d", "c")], "abcd"),
    "no longer one": ([entry("K", "c", "custom"), entry("d", "K")], "abcKd"),
    "edited": ([entry("E", "c", "context_edit", targetId="a", replacement="A")], "Ebc"),
    "edited again": (
        [entry("E", "c", "context_edit", targetId="a", replacement="A"),
         entry("F", "E", "context_edit", targetId="a", replacement="B")], "Fbc"),
    "edited away": ([entry("E", "c", "context_edit", targetId="a", replacement=None)], "bc"),
}  # fmt: skip


@pytest.mark.parametrize("case", CONTEXTS)
def test_what_is_sent(case: str) -> None:
    values, sent = CONTEXTS[case]
    assert "".join(names(PathContext(tree(*LINE, *values, is_strict=False)).now)) == sent


@pytest.mark.parametrize(
    "flaw",
    [
        {"firstKeptEntryId": None},
        {"firstKeptEntryId": ""},
        {"summary": None},
        {"tokensBefore": "9"},
        {"timestamp": 5},
    ],
)
def test_openclaw_passes_over_a_compaction_that_lacks_a_field(flaw: dict[str, Any]) -> None:
    values = [*LINE, compaction("K", "c", "c") | flaw, entry("d", "K")]
    assert names(PathContext(tree(*values)).now) == list("abcd")
    assert names(PathContext(tree(*values, is_strict=False)).now)[0] == "K"


def test_what_an_entry_says() -> None:
    usage = {
        "input": 10, "output": 5, "cacheRead": 3, "cacheWrite": 2, "cacheWrite1h": 1, "totalTokens": 20,
        "contextUsage": {"state": "available", "totalTokens": 25}, "cost": {"total": 0.01},
    }  # fmt: skip
    call = {"type": "toolCall", "id": "call_1", "name": "read", "arguments": {"path": "a.py"}}
    said = {"role": "assistant", "content": [{"type": "text", "text": "Yes."}, call], "usage": usage, "model": "m"}
    reply, result, command, broken = records(
        entry("a", None, message=said),
        entry("b", "a", message={"role": "toolResult", "toolCallId": "call_1", "content": []}),
        entry("c", "b", message={"role": "bashExecution", "command": "ls", "output": "x", "excludeFromContext": True}),
        None,
    )
    assert (reply.role, reply.calls, reply.size) == ("assistant", ("call_1",), 12)
    assert reply.usage is not None
    assert (reply.usage.used.tokens, reply.usage.context, reply.usage.dollars) == ((10, 1, 1, 3, 5), 25, 0.01)
    assert (result.role, result.answers, result.is_prompt) == ("tool", "call_1", False)
    assert (command.role, command.size, broken.type) == ("session_meta", 3, "")
    assert reply.time == pytest.approx(1_795_687_200.0)
