"""A message's content for export to people, split by kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from compaction import messages as engine
from compaction.handoff import block_text
from viewer.rendering.images import address_of
from viewer.rendering.texts import as_text, json_value
from viewer.stores.envelopes import split
from viewer.stores.message import StoredMessage

LONGEST = 1_000_000  # characters of JSON that are laid out


def pretty(value: Any) -> str:
    """A value, or a JSON text, over several lines; any other text is unchanged."""
    text = as_text(value)
    parsed = json_value(text, LONGEST) if isinstance(value, (str, bytes)) else None
    return text if parsed is None else as_text(parsed)


@dataclass(frozen=True, slots=True)
class ContentPart:
    """A part of a content. `kind` "prose" is Markdown, "result" and "raw" are shown unchanged, "image" is a data URL or
    an address; `name` is a tool's name, or the type of an unknown block.
    """

    kind: Literal["prose", "thinking", "call", "result", "image", "raw"]
    text: str
    name: str = ""


def parts(row: StoredMessage) -> Iterator[ContentPart]:
    """The parts of a message's content; texts that a client added come last, with the client's name. Unknown parts come
    raw; nothing is dropped.
    """
    pieces = split(row.content, row.envelopes)
    if row.envelopes is None or pieces.kind or not pieces.added:
        yield from _parts(row.role, row.content)
        return
    yield from _parts(row.role, pieces.typed)
    yield from (ContentPart("raw", text, f"added by {row.envelopes.by}") for text in pieces.added)


def _parts(role: str, content: Any) -> Iterator[ContentPart]:
    if content is None or content == "":
        return
    if role in engine.RESULT_ROLES:
        yield from _output(content)
    elif role not in ("user", "assistant"):
        yield ContentPart("raw", pretty(content))
    elif isinstance(content, str):
        yield ContentPart("prose", content)
    else:
        for block in content if isinstance(content, list) else [content]:
            yield from _block(block)


def _block(block: Any) -> Iterator[ContentPart]:
    kind = block.get("type") if isinstance(block, dict) else None
    if engine.is_image(block):
        yield _image(block)
    elif kind == "thinking" and isinstance(block.get("thinking"), str):
        yield ContentPart("thinking", block["thinking"])
    elif kind == "tool_use":
        yield ContentPart("call", pretty(block.get("input")), str(block.get("name") or ""))
    elif kind == "tool_result":
        yield from _output(block.get("content"))
    elif isinstance(block, str) or block_text(block):
        yield ContentPart("prose", block if isinstance(block, str) else block_text(block))
    else:
        yield ContentPart("raw", pretty(block), str(kind or ""))


def _output(content: Any) -> Iterator[ContentPart]:
    """A tool's output: texts unchanged, images as images."""
    for block in content if isinstance(content, list) else [content]:
        if engine.is_image(block):
            yield _image(block)
        else:
            yield ContentPart("result", pretty((block_text(block) if isinstance(block, dict) else "") or block))


def _image(block: dict[str, Any]) -> ContentPart:
    """The image's data URL, or its address if it is elsewhere."""
    address = address_of(block)
    return ContentPart("image", address) if address else ContentPart("raw", pretty(block), "image")
