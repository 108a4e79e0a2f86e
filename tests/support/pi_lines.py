"""pi's files of any lines: whole sessions to be damaged, and what our reader says of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.contract.pi import CWD, PiByHand, said

Line = dict[str, Any]
STAMP = "2026-11-26T10:00:{:02}.000Z"
HEADER: Line = {"type": "session", "version": 3, "id": "s", "timestamp": STAMP.format(0), "cwd": CWD}


def entry(name: str, parent: str | None, kind: str = "message", /, **more: Any) -> Line:
    """An entry; a message says its own name, in turns as a person and as a model."""
    number = int("".join(filter(str.isdigit, name)) or 0)
    if kind == "message" and "message" not in more:
        more["message"] = said({"role": "assistant" if number % 2 == 0 else "user", "content": name})
    return {"type": kind, "id": name, "parentId": parent, "timestamp": STAMP.format(number % 60), **more}


def row(*names: str) -> list[Line]:
    """Entries that hang on one another."""
    return [entry(name, parent) for name, parent in zip(names, (None, *names), strict=False)]


def put(agent: PiByHand, lines: Sequence[Line | bytes], session_id: str = "s") -> None:
    """Write a file of these lines, nobody being at it."""
    data = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines]
    agent.path(session_id).write_bytes(b"".join(each + b"\n" for each in data))
    agent._age(session_id)
