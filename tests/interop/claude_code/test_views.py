"""Requests of the client and rows of a reader are told in one form, and what the client says by itself apart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents.base import Block
from tests.agents.claude_code.views import conversation, sent, told
from viewer.stores.message import StoredMessage

from .scenes import picture, text

CALL = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls", "all": True}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("a.txt"), picture(2)]}


def row(role: str, content: Any, **more: Any) -> StoredMessage:
    return StoredMessage(id=1, session_id="s", role=role, content=content, state="live", timestamp=0.0, **more)


def test_a_request_and_the_rows_of_it_are_told_alike() -> None:
    thought = {"type": "thinking", "thinking": "Look first.", "signature": "signed"}
    body = {
        "messages": [
            {"role": "user", "content": [text("What is here?\n"), picture(2)]},
            {"role": "assistant", "content": [thought, text("I look."), CALL]},
            {"role": "user", "content": [RESULT, text("And now?")]},
        ]
    }
    called = {"id": "toolu_1", "function": {"name": "Bash", "arguments": json.dumps({"all": True, "command": "ls"})}}
    rows = [
        row("user", [text("What is here?"), picture(2)]),
        row("assistant", [thought, text("I look.")], tool_calls=[called]),
        row("tool", RESULT["content"], tool_call_id="toolu_1"),
        row("user", "And now?"),
    ]
    assert told(rows) == sent(body) == conversation(sent(body))
    assert [block.kind for block in told(rows)] == [
        "text",
        "image",
        "thinking",
        "text",
        "call",
        "result",
        "result",
        "text",
    ]


@pytest.mark.parametrize(
    ("role", "content"),
    [
        ("system", "Some environment."),
        ("user", "<system-reminder>\nToday is Sunday.\n</system-reminder>"),
        ("assistant", "No response requested."),
        ("user", [RESULT | {"content": "[Tool call interrupted: the session ended]"}]),
        ("user", "<task-notification>\nIt didn't finish before the previous session ended\n</task-notification>"),
    ],
)
def test_what_the_client_says_by_itself(role: str, content: Any) -> None:
    body = {"messages": [{"role": role, "content": content}]}
    assert sent(body) and not conversation(sent(body))


@pytest.mark.parametrize("role", ["user", "system"])
def test_a_prompt_that_was_given_while_a_turn_ran_is_told_as_it_was_given(role: str) -> None:
    around = (
        "The user sent a new message while you were working:\nAnd look.\n\nThis is how Claude Code surfaces messages "
        "the user sends mid-turn. Address the message above as you continue this turn."
    )
    for wrapped in (around, f"<system-reminder>\n{around}\n</system-reminder>", f"Some environment.\n\n{around}"):
        body = {"messages": [{"role": role, "content": wrapped}]}
        assert Block("user", "text", "And look.") in conversation(sent(body))


def test_an_answer_of_a_helper_is_told_as_it_is_stored() -> None:
    stored = "<task-notification>\n<result>Three files.</result>\n</task-notification>"
    wrapped = f"<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\nNo human.\n\n{stored}\n</system-reminder>"
    assert sent({"messages": [{"role": "user", "content": wrapped}]}) == told([row("user", stored)])
