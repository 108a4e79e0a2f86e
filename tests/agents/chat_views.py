"""What a model is told by pi or OpenClaw, as a flat list that can be compared: by a request, by the context that the
client itself builds of its files, and by rows of our reader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tests.agents.base import Block, Json
from viewer.stores.message import StoredMessage

UNANSWERED = "No result provided"  # what the clients say to a call that they find without a result
PICTURES = "Attached image(s) from tool result:"  # begins a message with the pictures of results, which have none


# -- a request ---------------------------------------------------------------------------------------------------------


def of_request(messages: Sequence[Json]) -> list[Block]:
    """The blocks of the messages of a request, without the system prompt and results that the client made up."""
    return [block for each in messages if not _is_own(each) for block in _sent(each)]


def _is_own(message: Json) -> bool:
    if message["role"] in ("system", "developer"):
        return True
    return bool(message["role"] == "tool" and message["content"] == UNANSWERED)


def _sent(message: Json) -> Iterator[Block]:
    role, content = message["role"], message.get("content")
    call_id = plain_id(message.get("tool_call_id", ""))
    if message.get("reasoning_content"):
        yield Block(role, "reasoning", message["reasoning_content"])
    parts: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    if parts and parts[0].get("text") == PICTURES:
        role, parts = "tool", parts[1:]
    for part in parts:
        if part["type"] == "image_url":
            yield Block(role, "image", part["image_url"]["url"].partition(",")[2][-40:])
        else:
            yield Block(role, "text", part["text"], call_id)
    for call in message.get("tool_calls") or []:
        yield _called(call["id"], call["function"]["name"], call["function"]["arguments"])


# -- the client's own context ------------------------------------------------------------------------------------------


def of_context(messages: Sequence[Json], *, unasked: bool = False) -> list[Block]:
    """The blocks of messages in the shape that the clients keep, as far as a request has them: the client has put those
    of its own roles into words already. `unasked` says that results without a call count as well.
    """
    called = {part["id"] for each in messages for part in _parts(each) if part["type"] == "toolCall"}
    told = (each for each in messages if each.get("stopReason") not in ("error", "aborted"))
    sent = (each for each in told if unasked or each["role"] != "toolResult" or each["toolCallId"] in called)
    return _gathered(block for each in sent for block in _kept(each))


def _parts(message: Json) -> list[Json]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _kept(message: Json) -> Iterator[Block]:
    role, call_id = message["role"], plain_id(message.get("toolCallId", ""))
    role = "tool" if role == "toolResult" else role
    parts = _parts(message)
    texts = [part["text"] for part in parts if part["type"] == "text"]
    thoughts = [part["thinking"] for part in parts if part["type"] == "thinking"]
    if thoughts:
        yield Block(role, "reasoning", "\n".join(thoughts))
    if role == "user":
        yield from (_told(role, part, call_id) for part in parts)
        return
    if "".join(texts).strip() or role == "tool":
        yield Block(role, "text", ("\n" if role == "tool" else "").join(texts), call_id)
    for part in parts:
        if part["type"] == "toolCall":
            yield _called(part["id"], part["name"], json.dumps(part["arguments"]))
        elif part["type"] == "image":
            yield Block(role, "image", part["data"][-40:])


def _told(role: str, part: Json, call_id: str) -> Block:
    if part["type"] == "image":
        return Block(role, "image", part["data"][-40:])
    return Block(role, "text", part["text"], call_id)


# -- our reader --------------------------------------------------------------------------------------------------------


def of_rows(rows: Iterable[StoredMessage]) -> list[Block]:
    """The blocks of the rows of a reader, as far as a request has them."""
    return _gathered(block for row in rows for block in _of_row(row))


def _gathered(blocks: Iterable[Block]) -> list[Block]:
    """With the pictures of results behind all results that stand together, where a request has them."""
    told: list[Block] = []
    pictures: list[Block] = []
    for block in blocks:
        if block.role == "tool" and block.kind == "image":
            pictures.append(block)
            continue
        if block.role != "tool":
            told += pictures
            pictures = []
        told.append(block)
    return told + pictures


def _of_row(row: StoredMessage) -> Iterator[Block]:
    if row.finish_reason in ("error", "aborted"):  # a reply that never came to its end is not sent
        return
    if row.reasoning:
        yield Block(row.role, "reasoning", row.reasoning.replace("\n\n", "\n"))
    parts = [{"type": "text", "text": row.content}] if isinstance(row.content, str) else row.content or []
    texts = [part["text"] for part in parts if part["type"] == "text"]
    if row.role == "user":
        yield from (_shown(row, part) for part in parts)
        return
    if "".join(texts).strip() or row.role == "tool":
        yield Block(row.role, "text", ("\n" if row.role == "tool" else "").join(texts), plain_id(row.tool_call_id))
    for call in row.tool_calls:
        yield _called(call["id"], call["function"]["name"], call["function"]["arguments"])
    yield from (_shown(row, part) for part in parts if part["type"] == "image")


def _shown(row: StoredMessage, part: Any) -> Block:
    if part["type"] == "image":
        return Block(row.role, "image", part["source"]["data"][-40:])
    return Block(row.role, "text", part["text"], plain_id(row.tool_call_id))


# -- all of them -------------------------------------------------------------------------------------------------------


def _called(call_id: str, name: str, arguments: str) -> Block:
    return Block("assistant", "call", _sorted(arguments), plain_id(call_id), name)


def _sorted(arguments: str) -> str:
    return json.dumps(json.loads(arguments), sort_keys=True, ensure_ascii=False)


def plain_id(call_id: str) -> str:
    """An id of a call without the characters that OpenClaw leaves out when it sends it."""
    return re.sub(r"[^A-Za-z0-9]", "", call_id)


def text_of(message: Json) -> str:
    """All text of a message, one part a line."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text") or "" for part in content)
