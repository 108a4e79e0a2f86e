"""Messages as the yardsticks read them, without the engine: OpenAI's shape (Hermes) and Anthropic's (Claude Code)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

Message = dict[str, Any]
_TAGGED = re.compile(r"<([a-z][\w-]*)>.*?</\1>", re.DOTALL)  # what Claude Code adds to a person's words
_NOTE = re.compile(r"\[Request interrupted by user[^\]]*\]")
# SWE-agent tells a person's task and the output of each command alike; both end with its prompt.
_PROMPT = re.compile(r"\(Open file: .*\)\n\(Current directory: .*\)\s*(?:bash-\$)?\s*\Z")
_TASK = "We're currently solving the following"


def blocks(message: Message) -> list[Any]:
    """The content as a list of blocks."""
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []


def words(message: Message) -> str:
    """What a person or an agent says in it: its text, without tool output, thoughts and what a client adds in tags."""
    if message.get("role") not in ("user", "assistant"):
        return ""
    texts = (block.get("text") or "" for block in blocks(message) if block.get("type") in ("text", "input_text"))
    text = _NOTE.sub("", _TAGGED.sub("", "\n".join(texts))).strip()
    printed = message["role"] == "user" and _PROMPT.search(text) and not text.startswith(_TASK)
    return "" if printed else text


def shown(message: Message) -> str:
    """The text as a model reads it, tags and all, without tool output: what is searched for what was kept."""
    if message.get("role") == "tool":
        return ""
    return "\n".join(block.get("text") or "" for block in blocks(message) if isinstance(block, dict))


def is_request(message: Message) -> bool:
    """Whether a person says something in it."""
    return message.get("role") == "user" and bool(words(message))


def calls(message: Message) -> list[tuple[str, str, str]]:
    """Id, name and arguments of its tool calls."""
    found = [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in message.get("tool_calls") or []]
    own = (block for block in blocks(message) if block.get("type") == "tool_use")
    return found + [(block["id"], block["name"], json.dumps(block["input"])) for block in own]


def results(message: Message) -> list[tuple[str, str, bool]]:
    """Id of the call, text and error flag of the tool results in it."""
    if message.get("role") == "tool":
        return [(message.get("tool_call_id") or "", _text(message.get("content")), False)]
    own = (block for block in blocks(message) if block.get("type") == "tool_result")
    return [(block["tool_use_id"], _text(block.get("content")), bool(block.get("is_error"))) for block in own]


def pieces(message: Message) -> Iterator[str]:
    """All texts in it that a model reads."""
    if message.get("role") != "tool":
        yield shown(message)
    yield from (arguments for _, _, arguments in calls(message))
    yield from (text for _, text, _ in results(message))


def whole_until(messages: Sequence[Message], share: float) -> int:
    """How many messages this share of them is, so many more that no call waits for its result."""
    at = int(len(messages) * share)
    while at < len(messages) and results(messages[at]):
        at += 1
    return at


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(block.get("text") or "" for block in content if isinstance(block, dict))
    return content or ""
