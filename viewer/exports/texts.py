"""A message's content on its way to a file for people, taken apart by kind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from compaction import messages as engine
from compaction import protocol

_IMAGE = re.compile(r"data:(image/(?:png|jpeg|jpg|gif|webp|avif|bmp));base64,([A-Za-z0-9+/=\s]+)")


def pretty(value: Any) -> str:
    """A value, or the JSON text it is, over several lines; any other text as it is."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        if len(value) > 1_000_000 or not value.lstrip().startswith(("{", "[")):
            return value
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return str(value)
    try:
        return json.dumps(value, ensure_ascii=False, indent=2, default=repr)
    except (ValueError, RecursionError):
        return f"({type(value).__name__}, nested too deeply to be shown)"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a content. `kind` "prose" is Markdown, "result" and "raw" are shown as they are, "image" is a data URL
    or an address; `name` is a tool's, or the type of a block nobody knows.
    """

    kind: Literal["prose", "thinking", "call", "result", "image", "raw"]
    text: str
    name: str = ""


def parts(role: str, content: Any) -> Iterator[Part]:
    """The parts of a message's content; what is not understood comes raw, nothing is dropped."""
    if content is None or content == "":
        return
    if role in engine.RESULT_ROLES:
        yield from _output(content)
    elif role not in ("user", "assistant"):
        yield Part("raw", pretty(content))
    elif isinstance(content, str):
        yield Part("prose", content)
    else:
        for block in content if isinstance(content, list) else [content]:
            yield from _block(block)


def _block(block: Any) -> Iterator[Part]:
    kind = block.get("type") if isinstance(block, dict) else None
    if engine.is_image(block):
        yield _image(block)
    elif kind == "thinking" and isinstance(block.get("thinking"), str):
        yield Part("thinking", block["thinking"])
    elif kind == "tool_use":
        yield Part("call", pretty(block.get("input")), str(block.get("name") or ""))
    elif kind == "tool_result":
        yield from _output(block.get("content"))
    elif isinstance(block, str) or protocol.block_text(block):
        yield Part("prose", block if isinstance(block, str) else protocol.block_text(block))
    else:
        yield Part("raw", pretty(block), str(kind or ""))


def _output(content: Any) -> Iterator[Part]:
    """What a tool gave: texts as they are, images as images."""
    for block in content if isinstance(content, list) else [content]:
        if engine.is_image(block):
            yield _image(block)
        else:
            yield Part("result", pretty((protocol.block_text(block) if isinstance(block, dict) else "") or block))


def _image(block: dict[str, Any]) -> Part:
    """In the shapes of OpenAI chat, Responses and Anthropic; the address of one that stands elsewhere."""
    found = block.get("image_url")
    source = block.get("source")
    if isinstance(found, dict):
        found = found.get("url")
    if isinstance(source, dict):
        found = source.get("url") or f"data:{source.get('media_type')};base64,{source.get('data')}"
    return Part("image", found) if isinstance(found, str) else Part("raw", pretty(block), "image")


def data_image(address: str) -> tuple[str, int] | None:
    """Type and octets of an image that is a data URL of a picture format; None for any other address."""
    found = _IMAGE.fullmatch(address)
    return (found[1], len(found[2]) * 3 // 4) if found else None
