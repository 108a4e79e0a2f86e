"""What a model is told, as a flat list that can be compared: by a request of the client, and by rows of our reader."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tests.agents.base import Block, Json
from viewer.stores.message import StoredMessage

# What the client says when it goes on from a request that nobody answered, or has nothing left of a message, ...
FILLERS = (
    "No response requested.", "Continue from where you left off.", "(no content)",
    "[Orphaned tool result removed due to conversation resume]",
)  # fmt: skip
INTERRUPTED = "[Tool call interrupted: "  # ... as the result of a call, ...
LOST = "didn't finish before the previous session ended"  # ... and of a sub-agent that it finds without an end.

# A helper's answer is stored as it stands inside of what is sent.
_NOTIFICATION = re.compile(
    r"<system-reminder>\n\[SYSTEM NOTIFICATION.*?(<task-notification>.*)\n</system-reminder>", re.S
)

# So is a prompt that was given while a turn ran, which is sent as a reminder or among results.
_QUEUED = re.compile(
    r"(?:<system-reminder>\n)?The user sent a new message while you were working:\n(.*?)\n\n"
    r"This is how Claude Code surfaces messages [^<]*? as you continue this turn\.(?:\n</system-reminder>)?",
    re.DOTALL,
)


def is_own(block: Block) -> bool:
    """Whether the client says it by itself, and says it anew in each process."""
    if block.role == "system":
        return True
    if block.kind == "result":
        return block.said.startswith(INTERRUPTED)
    return block.kind == "text" and (
        block.said in FILLERS
        or block.said.startswith("<system-reminder>")
        or (block.said.startswith("<task-notification>") and LOST in block.said)
    )


def sent(body: Json) -> list[Block]:
    """The blocks of one request."""
    return [block for message in body["messages"] for block in _blocks(message["role"], message["content"])]


def told(rows: Sequence[StoredMessage]) -> list[Block]:
    """The blocks of the rows of a reader."""
    return [block for row in rows for block in _of_row(row)]


def conversation(blocks: Iterable[Block]) -> list[Block]:
    """Without what the client says by itself."""
    return [block for block in blocks if not is_own(block)]


def _of_row(row: StoredMessage) -> Iterator[Block]:
    if row.role == "tool":
        yield from _result("user", row.tool_call_id, row.content)
        return
    if row.reasoning:
        yield Block(row.role, "thinking", row.reasoning.strip())
    yield from _blocks(row.role, row.content or [])
    for call in row.tool_calls:
        called = call["function"]
        yield Block(row.role, "call", _sorted(json.loads(called["arguments"])), call["id"], called["name"])


def _blocks(role: str, content: str | Sequence[Json | str]) -> Iterator[Block]:
    for block in [content] if isinstance(content, str) else content:
        if isinstance(block, str):
            yield from _texts(role, block)
        elif block["type"] == "text":
            yield from _texts(role, block["text"])
        elif block["type"] == "thinking":
            yield Block(role, "thinking", block["thinking"].strip())
        elif block["type"] == "image":
            yield Block(role, "image", _picture(block))
        elif block["type"] == "tool_use":
            yield Block(role, "call", _sorted(block["input"]), block["id"], block["name"])
        elif block["type"] == "tool_result":
            yield from _result(role, block["tool_use_id"], block.get("content") or "")
        else:
            yield Block(role, block["type"], _sorted(block))


def _texts(role: str, text: str) -> Iterator[Block]:
    """A text as it is stored, behind the prompts in it that were given while a turn ran."""
    yield from (Block("user", "text", prompt.strip()) for prompt in _QUEUED.findall(text))
    if rest := _NOTIFICATION.sub(r"\1", _QUEUED.sub("", text).strip()):
        yield Block(role, "text", rest)


def _result(role: str, call_id: str, content: str | Sequence[Json]) -> Iterator[Block]:
    """A result is one block for each part of it."""
    for part in [Block(role, "text", content.strip())] if isinstance(content, str) else _blocks(role, content):
        yield Block(role, "result", part.said if part.kind == "text" else f"{part.kind} {part.said}", call_id)


def _picture(block: Json) -> str:
    source = block["source"]
    return f"{source.get('media_type')} {len(source.get('data') or '')}"


def _sorted(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
