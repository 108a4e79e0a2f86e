"""Reading one message: its text in any content shape, its tool calls and results, its images, its author.

Shapes understood: OpenAI chat (string or parts; `tool_calls`, `tool_call_id`), Responses-style `call_id` and
`input_text`/`input_image`, Responses items that are rows without a role (`function_call`, `custom_tool_call` and their
`..._output`), Anthropic blocks inside a content list (`tool_use`, `tool_result`, `thinking`, `image`), tool calls as
dicts or as JSON text. Anything else reads as empty, or as `unread`; nothing here raises.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from .handoff import MEDIA_STUB, SYNTHETIC_USER_STARTS, block_text, flag_of, is_handoff, split

Message = dict[str, Any]

# Keys of a message in which a client put words of its own around those of a person (the caller splits them; its content
# stays as it is sent): `TYPED` is what the person typed, as text, and `ADDED` the texts of the client, a list.
TYPED, ADDED = "typed", "added"
SYSTEM_ROLES = ("system", "developer")
RESULT_ROLES = ("tool", "function")
# Keys next to a message for reasoning that agents send back; the names are those of Hermes Agent's columns.
REPLAYED = ("reasoning", "reasoning_content", "reasoning_details", "codex_reasoning_items", "codex_message_items")
NOTES = "agent_notes"  # key of texts that an agent sends only with this message: their tokens count with it
INNER = "inner_calls"  # key of the calls made by the script whose result this is: each has an `output`
CALL_ITEMS = ("function_call", "custom_tool_call")  # https://platform.openai.com/docs/api-reference/responses
RESULT_ITEMS = ("function_call_output", "custom_tool_call_output")
_TIMES = ("timestamp", "created_at")  # Hermes; other stores
_MILLISECONDS = 1e11  # a larger number of seconds would be the year 5138
IMAGE_TYPES = ("image_url", "input_image", "image")  # OpenAI chat, Responses, Anthropic


class Call(NamedTuple):
    """One tool call: every id that a result may name, the tool's name, its arguments as text."""

    ids: tuple[str, ...]
    name: str
    arguments: str


def role(message: Message) -> str:
    """The message's role, or the one a Responses item has in chat shape; "" if it has none that is a string."""
    value = message.get("role")
    if value is None:
        return "assistant" if is_call_item(message) else "tool" if message.get("type") in RESULT_ITEMS else ""
    return value if isinstance(value, str) else ""


def is_call_item(message: Message) -> bool:
    """Whether the row is a Responses item that is one tool call."""
    return message.get("type") in CALL_ITEMS and message.get("role") is None


def role_beside(message: Message) -> str:
    """The role that a neighbouring message must not have; "" for a call item, which only continues a turn."""
    return "" if is_call_item(message) else role(message)


def patched(message: Message, changes: dict[str, Any]) -> Message:
    """A copy of the message with the changes applied; a value of None removes its key."""
    return {key: value for key, value in {**message, **changes}.items() if key not in changes or value is not None}


def body_key(message: Message) -> str:
    """The key of `body`."""
    return "output" if message.get("role") is None and message.get("type") in RESULT_ITEMS else "content"


def body(message: Message) -> Any:
    """What the message says, in any content shape: its `content`, or the `output` of a Responses item."""
    return message.get(body_key(message))


def unread(message: Message) -> dict[str, Any]:
    """What no other reader here understands: `tool_calls` of unknown shape; for a row without a role, everything but
    content.

    Such rows are Responses items of further types (`reasoning`, `web_search_call`), and garbage.
    """
    if role(message):
        odd = {"tool_calls": message.get("tool_calls")}
    else:
        odd = {key: value for key, value in message.items() if key != "content"}
    if odd.get("tool_calls") and call_entries(message):
        del odd["tool_calls"]
    return {key: value for key, value in odd.items() if value not in (None, "", [], {}, "[]", "null")}


def blocks(content: Any) -> list[Any]:
    """The content as a list of blocks: a string or a dict is a list of one, a number its text, anything else an empty
    list.
    """
    if isinstance(content, list):
        return content
    if isinstance(content, (str, dict)):
        return [content]
    return [as_json(content)] if isinstance(content, (bool, int, float)) else []


def text(content: Any) -> str:
    """What a person reads in the content, tool results included; images, calls and thinking are not text."""
    if isinstance(content, str):
        return content
    return "\n".join(piece for piece in map(_text_of_block, blocks(content)) if piece)


def said(content: Any) -> str:
    """The text of the content without tool results."""
    if isinstance(content, str):
        return content
    return "\n".join(piece for piece in map(block_text, blocks(content)) if piece)


def _text_of_block(block: Any) -> str:
    if isinstance(block, dict) and block.get("type") == "tool_result":
        inner = block.get("content")
        return "\n".join(piece for piece in map(block_text, blocks(inner)) if piece)
    return block_text(block)


def calls(message: Message) -> list[Call]:
    """The tool calls of a message, in order, from `tool_calls` (list or JSON text) and from `tool_use` blocks."""
    result = [_call(entry) for entry in call_entries(message)]
    content = message.get("content")
    if isinstance(content, list):
        result += [_call(b) for b in content if isinstance(b, dict) and b.get("type") == "tool_use"]
    return result


def call_entries(message: Message) -> list[dict[str, Any]]:
    """The dicts of `tool_calls`, decoded from JSON text if needed; for a Responses item that is a call, the item
    itself.
    """
    value = message.get("tool_calls")
    if not value:
        return [message] if is_call_item(message) else []
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def call_ids(entry: dict[str, Any]) -> tuple[str, ...]:
    """The ids by which a result may name this call: `call_id` (Responses) and `id`; ("",) if it has none."""
    ids = tuple(v for v in (entry.get("call_id"), entry.get("id")) if isinstance(v, str) and v)
    return tuple(dict.fromkeys(ids)) or ("",)


def _call(entry: dict[str, Any]) -> Call:
    inner = entry.get("function")
    inner = inner if isinstance(inner, dict) else entry
    arguments = inner.get("arguments", inner.get("input"))
    name = inner.get("name")
    return Call(
        call_ids(entry),
        name if isinstance(name, str) else "",
        arguments if isinstance(arguments, str) else as_json(arguments),
    )


def answers(message: Message) -> tuple[str, ...]:
    """The ids of the calls this message answers; "" for a result without an id; () if it is not a tool result."""
    if role(message) in RESULT_ROLES:
        value = message.get("tool_call_id") or message.get("call_id")
        return (value if isinstance(value, str) else "",)
    content = message.get("content")
    if not isinstance(content, list) or message.get("role") == "assistant":
        return ()
    results = (b for b in content if isinstance(b, dict) and b.get("type") == "tool_result")
    return tuple(v if isinstance(v := b.get("tool_use_id"), str) else "" for b in results)


def results(message: Message) -> tuple[tuple[str, str], ...]:
    """The tool results in this message: the id that each names ("" if none) and its text; () if it is not a tool
    result.
    """
    if role(message) in RESULT_ROLES:
        return ((answers(message)[0], text(body(message))),)
    if not answers(message):
        return ()
    inner = (b for b in blocks(message["content"]) if isinstance(b, dict) and b.get("type") == "tool_result")
    return tuple((id_, _text_of_block(block)) for id_, block in zip(answers(message), inner, strict=True))


def is_system(message: Message) -> bool:
    """Whether the message is a system prompt (or OpenAI's newer `developer` role)."""
    return message.get("role") in SYSTEM_ROLES


def live_content(message: Message) -> Any:
    """The content without an earlier handoff; unchanged if there is none, "" if the row has nothing else."""
    content = body(message)
    if not is_handoff(message):
        return content
    own = [p.content for p in split(content, flag_of(message)) if p.kind != "summary"]
    if not own:
        return ""
    if all(isinstance(c, str) for c in own):
        return "\n\n".join(own)
    return [block for c in own for block in blocks(c)]


def words(message: Message) -> str:
    """The words of the message's author, without handoff, tool results, and text that a client added."""
    typed = message.get(TYPED)
    return typed if isinstance(typed, str) else said(live_content(message))


def added(message: Message) -> list[str]:
    """The texts that a client added to what a person typed in this message."""
    texts = message.get(ADDED) if isinstance(message.get(TYPED), str) else None
    return [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []


def is_standalone_handoff(message: Message) -> bool:
    """Whether the row is only a handoff: it has no live text, image, call or result."""
    if not is_handoff(message):
        return False
    return not live_content(message) and not calls(message) and not answers(message)


def is_user_message(message: Message) -> bool:
    """Whether a user wrote something here: user role, neither a standalone handoff nor only tool results."""
    if message.get("role") != "user" or is_standalone_handoff(message):
        return False
    content = message.get("content")
    if not answers(message):
        return True
    own = [b for b in blocks(content) if not (isinstance(b, dict) and b.get("type") == "tool_result")]
    return bool(said(own).strip()) or image_count(own) > 0


def is_typed(message: Message) -> bool:
    """Whether a person typed this user message or part of it: it is not one of the agent's own notices (Hermes'
    synthetic rows), nor a message of which the client wrote everything.

    Also true for a request that was repeated after a summary, and for one that was delivered while a turn ran.
    """
    kind = message.get("display_kind")
    if not is_user_message(message) or (isinstance(kind, str) and kind not in ("", "steer")):
        return False
    said_here = words(message).lstrip()
    if TYPED in message and not said_here:
        return image_count(body(message)) > 0
    return kind == "steer" or not said_here.startswith(SYNTHETIC_USER_STARTS)


def is_readable_reply(message: Message) -> bool:
    """Whether this is an assistant message with text that a person can read."""
    return message.get("role") == "assistant" and bool(said(live_content(message)).strip())


def time_of(message: Message) -> datetime | None:
    """When the message was written, in UTC (unchanged if it has no time zone); None if it has no time."""
    value = next((message[key] for key in _TIMES if message.get(key)), None)
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            at = datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS else value, UTC)
        else:
            return None
        return at.astimezone(UTC) if at.tzinfo else at
    except (ValueError, OverflowError, OSError):
        return None


def image_count(content: Any) -> int:
    """Images in the content, those inside tool results included."""
    return sum(1 for _ in _images(content)) if isinstance(content, (list, dict)) else 0


def is_image(block: Any) -> bool:
    """Whether a content block is an image in one of the three shapes."""
    return isinstance(block, dict) and block.get("type") in IMAGE_TYPES


def _images(content: Any) -> Iterator[Any]:
    for block in blocks(content):
        if is_image(block):
            yield block
        elif isinstance(block, dict) and block.get("type") == "tool_result":
            yield from (inner for inner in blocks(block.get("content")) if is_image(inner))


def countable(message: Message) -> str:
    """All text of the message that is sent to a provider: words, thinking, calls and results with ids, the rest as
    JSON.
    """
    content = body(message)
    pieces = [content] if isinstance(content, str) else [_countable_block(block) for block in blocks(content)]
    pieces += map(as_json, call_entries(message))
    pieces += answers(message) if role(message) in RESULT_ROLES else ()
    pieces += [name] if isinstance(name := message.get("name"), str) and not is_call_item(message) else []
    pieces += dict.fromkeys(replayed(message))
    pieces += (note for note in blocks(message.get(NOTES)) if isinstance(note, str))
    pieces.append(as_json(unread(message) or None))
    return "\n".join(piece for piece in pieces if piece)


def replayed(message: Message) -> list[str]:
    """The reasoning next to a message that agents send back to its provider: one text per key, JSON unchanged."""
    values = (message.get(key) for key in REPLAYED)
    return [value if isinstance(value, str) else as_json(value) for value in values if value]


def _countable_block(block: Any) -> str:
    if is_image(block):
        return ""
    if isinstance(block, dict):
        if block.get("type") == "tool_result":
            inner = (b for b in blocks(block.get("content")) if not is_image(b))
            id_ = block.get("tool_use_id")
            texts = [id_] if isinstance(id_, str) else []
            return "\n".join([*texts, *(block_text(b) or (as_json(b) if b else "") for b in inner)])
        if block.get("type") == "tool_use":
            return as_json(block)
        if block.get("type") == "thinking" and isinstance(block.get("thinking"), str):
            return str(block["thinking"])
    return block_text(block) or (as_json(block) if block else "")


def as_json(value: Any) -> str:
    """The value as compact JSON text; "" for None and for values that JSON cannot express."""
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except (TypeError, ValueError, RecursionError):
        return ""


def without_old_images(content: Any) -> Any:
    """The content with a text stub for each image, those inside tool results included; the input is not changed."""
    if isinstance(content, list):
        return [_stubbed(block) for block in content]
    return [_stubbed(content)] if is_image(content) else _stubbed(content)


def _stubbed(block: Any) -> Any:
    if is_image(block):
        return {"type": "input_text" if block["type"] == "input_image" else "text", "text": MEDIA_STUB}
    if isinstance(block, dict) and block.get("type") == "tool_result":
        return {**block, "content": without_old_images(block.get("content"))}
    return block
