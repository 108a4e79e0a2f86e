"""What a model is told, as a flat list that can be compared: by a request of the client, and by rows of our reader."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence

from tests.agents.base import Block, Json
from viewer.stores.message import StoredMessage

WRAPPERS = ("<environment_context>", "# AGENTS.md instructions", "<turn_aborted>", "<skill>")
ABORTED = "aborted"  # what the client says to a call that it finds without an output
UNTOLD = ("id", "internal_chat_message_metadata_passthrough")
_ENCRYPTED = re.compile(r"\[The summary is encrypted: ([\d,]+) characters")  # how our reader says it


def is_context(block: Block) -> bool:
    """Whether the client says by it where it is and what it is to do."""
    return block.role == "developer" or (block.role == "user" and block.said.startswith(WRAPPERS))


def of_session(body: Json) -> list[Json]:
    """The items of a request without what the client adds by itself: its instructions, and the prompt at the end."""
    instructed = "tools" in body and "instructions" not in body  # by a message before those of the session
    items: list[Json] = body["input"]
    end = len(items) - 1
    while any(map(is_context, told(items[end : end + 1]))):  # of hooks and skills, beside the prompt
        end -= 1
    return items[int(instructed) : end]


def told(items: Sequence[Json]) -> list[Block]:
    """The blocks of the items of a request or file, without outputs that the client made up."""
    return [block for item in items if not is_made_up(item) for block in _blocks(item)]


def is_made_up(item: Json) -> bool:
    """Whether the client says this output by itself, in each request, since there is none of the call in its file."""
    if item.get("output") != ABORTED:
        return False
    return uuid.UUID(item["id"].partition("_")[2]).version == 5  # made of the call's id; those of its file are of 7


def conversation(blocks: Iterable[Block]) -> list[Block]:
    """Without what the client says of itself."""
    return [block for block in blocks if not is_context(block)]


def of_rows(rows: Iterable[StoredMessage]) -> list[Block]:
    """The blocks of the rows of a reader."""
    return [block for row in rows for block in _of_row(row)]


def _of_row(row: StoredMessage) -> Iterator[Block]:
    if row.reasoning:
        yield Block(row.role, "reasoning", row.reasoning)
    if found := _ENCRYPTED.match(str(row.content)):
        yield Block("user", "encrypted", found[1])
    elif row.content or not row.tool_calls:
        yield from _parts(row.role, row.content or "", row.tool_call_id)
    for call in row.tool_calls:
        called = call["function"]
        yield Block(row.role, "call", called["arguments"], call["id"], called["name"])


def _blocks(item: Json) -> Iterator[Block]:
    match item["type"]:
        case "message":
            yield from _parts(item["role"], item["content"])
        case "agent_message":
            yield from _parts("user", item["content"])
        case "reasoning":
            if item["summary"]:  # of one that is encrypted alone, nothing can be told
                yield Block("assistant", "reasoning", "\n\n".join(part["text"] for part in item["summary"]))
        case "function_call":
            name = f"{item['namespace']}.{item['name']}" if item.get("namespace") else item["name"]
            yield Block("assistant", "call", item["arguments"], item["call_id"], name)
        case "custom_tool_call":
            yield Block("assistant", "call", item["input"], item["call_id"], item["name"])
        case "function_call_output" | "custom_tool_call_output":
            yield from _parts("tool", item["output"], item["call_id"])
        case "compaction":
            yield Block("user", "encrypted", f"{len(item['encrypted_content']):,}")
        case kind:
            yield Block("developer" if kind == "additional_tools" else "assistant", kind, _sorted(item))


def _parts(role: str, content: str | Sequence[Json], call_id: str = "") -> Iterator[Block]:
    for part in [{"type": "input_text", "text": content}] if isinstance(content, str) else content:
        if part["type"] == "input_image":
            yield Block(role, "image", str(len(part["image_url"])), call_id)
        elif "text" in part:
            yield Block(role, "text", part["text"], call_id)
        else:
            yield Block(role, part["type"], _sorted(part), call_id)


def _sorted(value: Json) -> str:
    said = {name: each for name, each in value.items() if name not in UNTOLD}
    return json.dumps(said, sort_keys=True, ensure_ascii=False)
