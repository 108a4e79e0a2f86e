"""Messages that clients keep as Google's `Content`, a role and parts: Gemini CLI, and Qwen Code, which comes from it.

A part is a text (a thought, where it says so), data, the call of a tool, or the result of one. Decoding never fails: a
part of an unknown form stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from viewer.stores.base import ReportedUsage
from viewer.stores.envelopes import Added, Envelopes, from_line, tags
from viewer.stores.message import StoredMessage
from viewer.usage.pricing import TokenUsage, by_quarter, price, total

ACKNOWLEDGED = "Got it. Thanks for the additional context!"  # what the client has the model answer to a summary
SUMMARY = "<state_snapshot>"  # a summary begins so
FILES, END_OF_FILES = "--- Content from referenced files ---", "--- End of content ---"  # around what `@file` names


def parts_of(content: Any) -> list[dict[str, Any]]:
    """The parts of a content of any type."""
    values = content if isinstance(content, list) else [] if content is None else [content]
    return [each if isinstance(each, dict) else {"text": text_of(each)} for each in values]


def joined_text(content: Any) -> str:
    """The texts of a content, one behind the other."""
    return "".join(text_of(each.get("text")) for each in parts_of(content))


def rows_of(content: Any, message: StoredMessage) -> list[StoredMessage]:
    """What parts say: `message` with content, calls and thoughts, unless there are only results; and each result."""
    spoken: list[Any] = []
    results: list[tuple[dict[str, Any], list[Any]]] = []
    calls, thoughts = [], []
    for part in parts_of(content):
        if isinstance(response := part.get("functionResponse"), dict):
            results.append((response, []))
        elif isinstance(call := part.get("functionCall"), dict):
            calls.append(call_of(call))
        elif part.get("thought"):
            thoughts.append(text_of(part.get("text")))
        else:
            (results[-1][1] if results and "text" not in part else spoken).append(part)
    main = replace(
        message,
        content=_content(spoken),
        tool_calls=message.tool_calls or calls,
        reasoning=message.reasoning or "\n\n".join(thoughts),
    )
    is_result = bool(results) and not spoken and not calls
    return [*([] if is_result else [main]), *(_result(message, *each) for each in results)]


def call_of(call: dict[str, Any]) -> dict[str, Any]:
    """A call in OpenAI's shape."""
    function = {"name": text_of(call.get("name")), "arguments": text_of(call.get("args") or {})}
    return {"id": text_of(call.get("id")), "type": "function", "function": function}


def _result(message: StoredMessage, response: dict[str, Any], data: Sequence[dict[str, Any]]) -> StoredMessage:
    answer = response.get("response")
    values = answer if isinstance(answer, dict) else {}
    output = next((values[name] for name in ("output", "error") if values.get(name) is not None), answer)
    return StoredMessage(
        message.id, message.session_id, "tool", _content([{"text": text_of(output)}, *data]), message.state,
        message.timestamp, tool_call_id=text_of(response.get("id")), tool_name=text_of(response.get("name")),
        extra={} if values.get("error") is None else {"is_error": True},
    )  # fmt: skip


def _content(parts: Sequence[dict[str, Any]]) -> Any:
    """Text where there is nothing else, texts in a row as one; else blocks in OpenAI's shape."""
    blocks: list[dict[str, Any]] = []
    for part in parts:
        text, data = part.get("text"), part.get("inlineData")
        if isinstance(text, str):
            if blocks and blocks[-1].get("type") == "text":
                blocks[-1]["text"] += text
            elif text:
                blocks.append({"type": "text", "text": text})
        elif isinstance(data, dict) and text_of(data.get("mimeType")).startswith("image/"):
            address = f"data:{data['mimeType']};base64,{text_of(data.get('data'))}"
            blocks.append({"type": "image_url", "image_url": {"url": address}})
        else:
            blocks.append(part)
    is_text = len(blocks) == 1 and blocks[0].get("type") == "text"
    return blocks[0]["text"] if is_text else blocks or ""


def text_of(value: Any) -> str:
    """A text; of any other value its JSON, "" for None."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def repeated(new: Sequence[StoredMessage], old: Sequence[StoredMessage]) -> list[int | None]:
    """Of each new message, the id of the old one that it repeats, both in order; None for none. They are compared from
    the end, because clients keep the end of a context.
    """
    texts, ids, at = [_identity(each) for each in old], list[int | None](), len(old)
    for row in reversed(new):
        text = _identity(row)
        same = next((each for each in range(at - 1, -1, -1) if texts[each] == text), None)
        at = at if same is None else same
        ids.append(None if same is None else old[same].id)
    return ids[::-1]


def _identity(row: StoredMessage) -> tuple[str, ...]:
    calls = [(each["id"], each["function"]["name"], each["function"]["arguments"]) for each in row.tool_calls]
    return row.role, row.tool_call_id, text_of(row.content), repr(calls)


def _end_of_files(text: str, at: int) -> Added | None:
    """The rest of a text that ends the files which `@file` names, and begins behind a picture among them."""
    return Added(len(text)) if text.endswith(END_OF_FILES) and FILES not in text else None


def envelopes(client: str) -> Envelopes:
    """What a client adds to a person's words."""
    names = ("system-reminder", "session_context", "hook_context", "task-notification")
    return Envelopes(client, leading=(tags(*names), _end_of_files), rest=(from_line(FILES),))


class CountedRequest(NamedTuple):
    """The tokens of a request and its answer. `read` includes what was `cached`; `sum` is all that was read and
    written; `is_inherited` says that it was made in another session.
    """

    time: float
    model: str
    read: int
    cached: int
    sum: int
    is_inherited: bool = False


def reported(requests: Iterable[CountedRequest], in_context: int | None, provider: str) -> ReportedUsage:
    """The cost of requests by the public price list, and the tokens in context."""
    prices = [(each, _price(each, provider)) for each in requests]
    own = [(each.time, dollars) for each, dollars in prices if not each.is_inherited]
    copied = [dollars for each, dollars in prices if each.is_inherited]
    cost = total([dollars for _, dollars in prices], copied)
    return ReportedUsage(in_context, cost, sum(each.sum for each, _ in prices) or None, by_quarter(own))


def _price(request: CountedRequest, provider: str) -> float | None:
    cached = min(request.cached, request.read)
    used = TokenUsage(request.read - cached, 0, 0, cached, max(0, request.sum - request.read))
    return price(request.model, used, provider)


def number(values: Any, name: str) -> int:
    """A count of tokens in an object, 0 for none."""
    value = values.get(name) if isinstance(values, dict) else None
    return value if type(value) is int and 0 <= value < 10**12 else 0
