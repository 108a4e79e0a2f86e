"""Which turns there are after a compaction, and what they read of the files that they should have read."""

from __future__ import annotations

from typing import Any

import pytest

from compaction import Message
from compaction.handoff import EVENT_START, WARNING_START, handoff_text
from viewer.enforcement.findings import Finding, Requirement, TurnSpan, audit, turns
from viewer.enforcement.reads import Read


def test_the_audit_names_the_first_read_of_each_file() -> None:
    reads = [Read(3, "Bash", "memory\\a.md"), Read(5, "read", "./SOUL.md"), Read(7, "read", "/srv/ws/SOUL.md")]
    required = [
        Requirement("SOUL.md", ("/srv/ws/SOUL.md",)),
        Requirement("USER.md", ("/srv/ws/USER.md",)),
        Requirement("memory/YYYY-MM-DD.md", ("/srv/ws/memory/b.md", "/srv/ws/memory/a.md")),
        Requirement("x", ()),
    ]
    assert audit(reads, required, "/srv/ws") == (
        Finding("SOUL.md", "/srv/ws/SOUL.md", reads[1]),
        Finding("USER.md", "/srv/ws/USER.md", None),
        Finding("memory/YYYY-MM-DD.md", "/srv/ws/memory/a.md", reads[0]),
        Finding("x", "", None),
    )
    assert audit(reads, [], "/srv/ws") == ()


@pytest.mark.parametrize(
    ("read", "wanted", "workspace", "found"),
    [
        ("c:\\WS\\soul.MD", "c:/ws/SOUL.md", "C:\\ws", True),
        ("soul.md", "/srv/ws/SOUL.md", "/srv/ws", False),
        ("~/ws/SOUL.md", "/home/ana/ws/SOUL.md", "/home/ana/ws", True),
        ("memory/../SOUL.md", "/srv/ws/SOUL.md", "/srv/ws", True),
        ("/other/SOUL.md", "/srv/ws/SOUL.md", "/srv/ws", False),
        ("xSOUL.md", "/srv/ws/SOUL.md", "/srv/ws", False),
    ],
)
def test_the_audit_compares_files_not_spellings(read: str, wanted: str, workspace: str, found: bool) -> None:
    [finding] = audit([Read(0, "read", read)], [Requirement("SOUL.md", (wanted,))], workspace, "/home/ana")
    assert (finding.read is not None) is found


# --- turns -----------------------------------------------------------------------------------------------------------
def user(content: Any = "Please.") -> Message:
    return {"role": "user", "content": content}


def says(text: str | None = "Done.", *ids: str) -> Message:
    calls = [{"id": id_, "type": "function", "function": {"name": "read_file", "arguments": "{}"}} for id_ in ids]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def gives(id_: str) -> Message:
    return {"role": "tool", "tool_call_id": id_, "content": "text"}


SYSTEM: Message = {"role": "system", "content": "You help."}
HANDOFF = user(handoff_text("Summary."))
NOTE, WARNING = user(f"{EVENT_START}\n\nCompacted."), user(f"{WARNING_START}\n\nNot read.")
AGENTS_HANDOFF = {**HANDOFF, "role": "assistant"}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], []),
        ([user()], []),
        ([user(), says()], [(0, 2)]),
        ([SYSTEM, user(), says(), user(), says()], [(1, 3), (3, 5)]),
        ([user(), says(None, "a", "b"), gives("b"), gives("a"), says()], [(0, 5)]),
        ([user(), says(None, "a"), gives("a")], []),
        ([user(), says("Let me see.", "a"), gives("a")], []),
        ([user(), says("Let me see.", "a")], []),
        ([user(), says(" ")], []),
        ([user(), says(None, "a"), gives("a"), user(), says()], [(0, 3), (3, 5)]),
        ([user(), says(None, "a"), user()], [(0, 2)]),
        ([user(), user(), says()], [(0, 3)]),
        ([user(), says(), user(), user()], [(0, 2)]),
        ([user(), says(), user(), user(), says()], [(0, 2), (2, 5)]),
        ([says(), user(), says()], [(1, 3)]),
        ([HANDOFF, says()], []),
        ([HANDOFF, user(), says()], [(1, 3)]),
        ([user(), AGENTS_HANDOFF, user(), says()], [(0, 4)]),
        ([user(), says(), HANDOFF, user(), says()], [(0, 2), (3, 5)]),
        ([NOTE, user(), says()], [(1, 3)]),
        ([user(), says(), NOTE, WARNING, user(), says()], [(0, 2), (4, 6)]),
        ([user(), says(), WARNING, says(None, "a"), gives("a"), says()], [(0, 6)]),
        ([user(), says(), user("[System: a notice]")], [(0, 2)]),
        ([user(), says(), gives("late")], [(0, 3)]),
        ([user(), says(), user(), gives("late")], [(0, 2)]),
        ([user(), says(), user(), says(None, "a")], [(0, 2)]),
    ],
)
def test_turns(messages: list[Message], expected: list[tuple[int, int]]) -> None:
    assert turns(messages) == [TurnSpan(*each) for each in expected]


def test_turns_of_other_shapes() -> None:
    use = {"type": "tool_use", "id": "t", "name": "Read", "input": {}}
    back = {"type": "tool_result", "tool_use_id": "t", "content": "text"}
    claude = [user(), says(), user(), {"role": "assistant", "content": [{"type": "text", "text": "See."}, use]}]
    assert turns(claude) == turns([*claude, user([back])]) == [TurnSpan(0, 2)]
    assert turns([*claude, user([back]), says()]) == [TurnSpan(0, 2), TurnSpan(2, 6)]
    openclaw = [
        user(),
        {"role": "assistant", "content": [{"type": "text", "text": "See."}, {**use, "type": "toolCall"}]},
    ]
    assert turns(openclaw) == []
    assert turns([*openclaw, {"role": "toolResult", "toolCallId": "t", "content": "x"}, says()]) == [TurnSpan(0, 4)]
    item = {"type": "function_call", "call_id": "f", "name": "shell", "arguments": "{}"}
    assert turns([user(), says(), item]) == []
