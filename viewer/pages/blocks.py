"""The pieces of a message's content, one class a kind; each names the template that renders it.

Content has any shape (`docs/hermes.md` section 1): text, a list of parts in OpenAI's or Anthropic's words, an
object, nothing.
What is not known is shown raw and labelled, never dropped.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from django.utils.safestring import SafeString

from compaction import messages as engine

from . import formats, markup
from .texts import as_text, clean, json_value, line, pretty

MARKDOWN_LIMIT = 40_000  # characters of a message shown at once; the rest is one click away
OUTPUT_LIMIT = 6_000  # of a tool's output, which stands in a fold among many
IMAGE_LIMIT = 8_000_000


@dataclass(frozen=True, slots=True)
class Rest:
    """What was cut off: `href` shows the whole."""

    href: str
    size: str


@dataclass(frozen=True, slots=True)
class Markdown:
    template: ClassVar[str] = "blocks/markdown.html"
    html: SafeString
    rest: Rest | None = None


@dataclass(frozen=True, slots=True)
class Plain:
    template: ClassVar[str] = "blocks/plain.html"
    text: str
    rest: Rest | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    template: ClassVar[str] = "blocks/code.html"
    html: SafeString
    rest: Rest | None = None


@dataclass(frozen=True, slots=True)
class Diff:
    """`lines` are (kind, text) with kind "add", "del", "hunk", "file" or ""."""

    template: ClassVar[str] = "blocks/diff.html"
    lines: tuple[tuple[str, str], ...]
    added: int
    removed: int
    rest: Rest | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Thinking:
    template: ClassVar[str] = "blocks/thinking.html"
    html: SafeString
    size: str
    rest: Rest | None = None


@dataclass(frozen=True, slots=True)
class Image:
    template: ClassVar[str] = "blocks/image.html"
    source: str
    label: str


@dataclass(frozen=True, slots=True)
class Remote:
    """An image or file somewhere else: a link, or the mere text when it is no web address."""

    template: ClassVar[str] = "blocks/remote.html"
    label: str
    href: str
    text: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """Data that only a model's provider can read, such as a checkpoint: one line."""

    template: ClassVar[str] = "blocks/opaque.html"
    label: str
    size: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value of a kind this site does not know, raw and folded."""

    template: ClassVar[str] = "blocks/unknown.html"
    label: str
    text: str
    rest: Rest | None = None


Block = Markdown | Plain | Code | Diff | Thinking | Image | Remote | Opaque | Unknown


# -- content -> blocks -----------------------------------------------------------------------------------------------


def of_content(content: Any, whole: str) -> tuple[Block, ...]:
    """The blocks of a message a person or a model wrote. `whole` is the address that shows the text uncut."""
    return tuple(block for part in engine.blocks(content) for block in _of_part(part, whole))


def of_output(content: Any, whole: str) -> tuple[Block, ...]:
    """The blocks of a tool's result: JSON and diffs laid out, anything else as plain text."""
    if isinstance(content, str):
        return tuple(_output(content, whole))
    return tuple(block for part in engine.blocks(content) for block in _of_output_part(part, whole))


def of_reasoning(reasoning: str, extra: dict[str, Any], whole: str) -> tuple[Block, ...]:
    """A row's thinking, folded, and a line for each opaque thing its provider left beside it."""
    shown: list[Block] = [thinking(reasoning, whole)] if reasoning.strip() else []
    for name in ("reasoning_details", "codex_reasoning_items", "codex_message_items"):
        shown += _opaque(name, extra.get(name))
    return tuple(shown)


def _of_part(part: Any, whole: str) -> Iterator[Block]:
    if isinstance(part, str):
        if part.strip():
            yield markdown(part, whole)
        return
    kind = part.get("type") if isinstance(part, dict) else None
    text = part.get("text") if isinstance(part, dict) else None
    if kind in ("text", "input_text", "output_text") and isinstance(text, str):
        if text.strip():
            yield markdown(text, whole)
    elif engine.is_image(part):
        yield image(part)
    elif kind == "thinking" and isinstance(part.get("thinking"), str):
        yield thinking(part["thinking"], whole)
    elif kind == "redacted_thinking":
        yield Opaque("Thinking that its provider encrypted", formats.size(len(str(part.get("data", "")))))
    elif kind == "tool_result":
        yield from of_output(part.get("content"), whole)
    elif kind != "tool_use":  # a call: shown with the calls of its message
        yield unknown(f"block of type {kind}" if isinstance(kind, str) else "block", part, whole)


def _of_output_part(part: Any, whole: str) -> Iterator[Block]:
    text = part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None
    if isinstance(text, str) and (isinstance(part, str) or part.get("type") in ("text", "input_text", "output_text")):
        yield from _output(text, whole)
    elif isinstance(part, dict) and "type" not in part:  # a result that is an object
        yield from _fields(part, whole)
    else:
        yield from _of_part(part, whole)


def _output(text: str, whole: str) -> Iterator[Block]:
    value = json_value(text)
    if isinstance(value, dict):
        yield from _fields(value, whole)
    elif value is not None:
        yield code(pretty(value), "json", whole)
    elif is_diff(text):
        yield diff(text, whole)
    elif text.strip():
        yield plain(text, whole)


def _fields(value: dict[str, Any], whole: str) -> Iterator[Block]:
    """An object as JSON, but its texts of several lines each as the text or diff they are, under their names."""
    texts = {name: text for name, text in value.items() if isinstance(text, str) and text.count("\n") > 1}
    rest = {name: each for name, each in value.items() if name not in texts}
    if rest or not texts:
        yield code(pretty(rest), "json", whole)
    for name, text in texts.items():
        made = diff(text, whole) if is_diff(text) else plain(text, whole)
        yield replace(made, label=line(name, 60))


# -- one block of each kind ------------------------------------------------------------------------------------------


def markdown(text: str, whole: str) -> Markdown:
    shown, rest = _cut(text, MARKDOWN_LIMIT, whole)
    return Markdown(markup.markdown(shown), rest)


def thinking(text: str, whole: str) -> Thinking:
    shown, rest = _cut(text, MARKDOWN_LIMIT, whole)
    return Thinking(markup.markdown(shown), formats.counted(len(text), "character"), rest)


def plain(text: str, whole: str) -> Plain:
    shown, rest = _cut(text, OUTPUT_LIMIT, whole)
    return Plain(clean(shown), rest)


def code(text: str, language: str, whole: str) -> Code:
    shown, rest = _cut(text, OUTPUT_LIMIT, whole)
    return Code(markup.code(shown, language), rest)


def unknown(label: str, value: Any, whole: str) -> Unknown:
    shown, rest = _cut(as_text(value), OUTPUT_LIMIT, whole)
    return Unknown(line(label, 80), clean(shown), rest)


def image(part: dict[str, Any]) -> Image | Remote:
    """An image in OpenAI's, the Responses API's or Anthropic's shape; shown only from a data: URL."""
    held = part.get("image_url") or part.get("source") or part.get("url") or ""
    url = held if isinstance(held, str) else _url(held) if isinstance(held, dict) else ""
    if len(url) <= IMAGE_LIMIT and markup.DATA_IMAGE.fullmatch(url):
        return Image(url, f"Image in the message, {formats.size(len(url) * 3 // 4)}")
    web = url.startswith(("https://", "http://"))
    return Remote("Image, not loaded", clean(url) if web else "", line(url, 120) or "no address")


def _url(held: dict[str, Any]) -> str:
    if held.get("type") == "base64":
        return f"data:{held.get('media_type')};base64,{held.get('data')}"
    url = held.get("url")
    return url if isinstance(url, str) else ""


def _cut(text: str, limit: int, whole: str) -> tuple[str, Rest | None]:
    """At most `limit` characters, up to the end of a line where one is near."""
    if len(text) <= limit * 1.1:
        return text, None
    end = text.rfind("\n", limit - 400, limit)
    return text[: end if end > 0 else limit], Rest(whole, formats.counted(len(text), "character"))


def _opaque(name: str, stored: Any) -> Iterator[Block]:
    items = json_value(stored, limit=4_000_000) if isinstance(stored, str) else stored
    for item in items if isinstance(items, list) else []:
        kind = item.get("type") if isinstance(item, dict) else None
        label = (
            "Checkpoint of the model's provider"
            if kind == "compaction"
            else f"Provider's own data ({line(str(kind), 40)})"
        )
        if kind == "compaction" or (
            name != "codex_message_items" and isinstance(item, dict) and "encrypted_content" in item
        ):
            yield Opaque(label, formats.size(len(pretty(item))))


# -- diffs -----------------------------------------------------------------------------------------------------------

_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)


def is_diff(text: str) -> bool:
    """Whether a text is a unified diff: it starts as one and has a hunk."""
    start = text.lstrip()[:400]
    return start.startswith(("diff ", "--- ", "@@ -", "Index: ")) and bool(_HUNK.search(text[:20_000]))


def diff(text: str, whole: str) -> Diff:
    shown, rest = _cut(text, OUTPUT_LIMIT, whole)
    lines = tuple((_kind(row), row) for row in clean(shown).rstrip("\n").split("\n"))
    kinds = [kind for kind, _ in lines]
    return Diff(lines, kinds.count("add"), kinds.count("del"), rest)


def diff_of(old: str, new: str, name: str, whole: str) -> Diff:
    """The change from one text to another, as an edit tool was asked to make it."""
    lines = difflib.unified_diff(
        old[:OUTPUT_LIMIT].splitlines(), new[:OUTPUT_LIMIT].splitlines(), name, name, lineterm=""
    )
    made = diff("\n".join(lines), whole)
    cut = (
        Rest(whole, formats.counted(len(old) + len(new), "character"))
        if max(len(old), len(new)) > OUTPUT_LIMIT
        else made.rest
    )
    return Diff(made.lines, made.added, made.removed, cut)


def _kind(row: str) -> str:
    if row.startswith(("+++", "---", "diff ", "index ")):
        return "file"
    return {"+": "add", "-": "del", "@": "hunk"}.get(row[:1], "")
