"""Messages that the contract's sessions consist of."""

from __future__ import annotations

import json
from typing import Any

from tests.agents.base import Message

FILLING = "The quick brown fox jumps over the lazy dog. " * 19 + "The end."


def talk(turns: int, of: str = "") -> list[Message]:
    """Turns of a request, two calls at once, their results and a reply; each text has a word of its own."""
    return [message for number in range(turns) for message in turn(f"{of}{number}")]


def turn(name: str) -> list[Message]:
    calls: list[dict[str, Any]] = [
        {
            "id": f"call_{name}_{part}",
            "type": "function",
            "function": {"name": "terminal", "arguments": json.dumps({"command": f"step {name} {part}"})},
        }
        for part in range(2)
    ]
    results = [
        {"role": "tool", "content": f"result{name}x{part} {FILLING}", "tool_call_id": call["id"]}
        for part, call in enumerate(calls)
    ]
    return [
        {"role": "user", "content": f"request{name} {FILLING}"},
        {"role": "assistant", "content": f"looking{name}", "tool_calls": calls},
        *results,
        {"role": "assistant", "content": f"reply{name} {FILLING}"},
    ]


def heard(messages: list[Any]) -> list[tuple[str, Any]]:
    """Role and content of messages, however they are given."""
    return [(message["role"], message["content"]) for message in messages]
