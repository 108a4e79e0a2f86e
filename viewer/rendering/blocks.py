"""The pieces of a message's content, one class per kind; each names the template that renders it.

Content has any shape (`docs/hermes.md` section 1): text, a list of parts in OpenAI's or Anthropic's format, an object,
nothing. Unknown content is shown raw with a label, never dropped. Every kind is limited in characters before its
renderer starts; `whole` is the URL that shows the whole text.

Colouring code is slow, so code is plain unless `colours` is set; `waits` says that it could be coloured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from django.template.loader import get_template
from django.utils.safestring import SafeString, mark_safe

from compaction import messages as engine

from . import diffs, formats, highlight, markdown, terminal
from .images import address_of, data_image
from .texts import as_text, clean, json_value, line, pretty

MARKDOWN_LIMIT = 16_000  # characters of a message shown at once; the rest is one click away
OUTPUT_LIMIT = 6_000  # of a tool's output, which is in one of many folds
IMAGE_LIMIT = 8_000_000
INLINE_IMAGE = 32_000  # characters of an image that comes with its page; a larger one is loaded from its own address
PARTS, TEXTS = 100, 5  # parts of one content, texts of one object
AT_ONCE = 500  # characters of code in a message that are coloured without being asked for


@dataclass(frozen=True, slots=True)
class Rest:
    """A text of `length` characters (or more of another `noun`) that was cut off: `href` shows the whole."""

    href: str
    length: int
    noun: str = "character"


@dataclass(frozen=True, slots=True)
class Markdown:
    template: ClassVar[str] = "blocks/markdown.html"
    html: SafeString
    rest: Rest | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Plain:
    template: ClassVar[str] = "blocks/plain.html"
    text: str
    rest: Rest | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Terminal:
    """Terminal output, in its colours."""

    template: ClassVar[str] = "blocks/terminal.html"
    html: SafeString
    rest: Rest | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    template: ClassVar[str] = "blocks/code.html"
    html: SafeString
    rest: Rest | None = None
    waits: bool = False
    label: str = ""


@dataclass(frozen=True, slots=True)
class Diff:
    """A change; `added` and `removed` are None if it was too long to count. `is_called`: the line of its call has the
    counts, and the file if it is one.
    """

    template: ClassVar[str] = "blocks/diff.html"
    html: SafeString
    added: int | None
    removed: int | None
    rest: Rest | None = None
    label: str = ""
    waits: bool = False
    is_called: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """An item of a to-do list: its `state` as a sign and in words, "done", "in progress", "open" or "cancelled"."""

    sign: str
    state: str
    text: str


@dataclass(frozen=True, slots=True)
class Tasks:
    """A to-do list, and what the agent says about it."""

    template: ClassVar[str] = "blocks/tasks.html"
    tasks: tuple[Task, ...]
    note: str = ""
    left: int = 0


@dataclass(frozen=True, slots=True)
class Thinking:
    template: ClassVar[str] = "blocks/thinking.html"
    html: SafeString
    length: int
    rest: Rest | None = None


@dataclass(frozen=True, slots=True)
class Image:
    template: ClassVar[str] = "blocks/image.html"
    source: str
    label: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class Remote:
    """An image or file somewhere else: a link, or only the text if it is not a web address."""

    template: ClassVar[str] = "blocks/remote.html"
    label: str
    href: str
    text: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """Data that only a model's provider can read, such as a checkpoint: one line. `size` is in bytes."""

    template: ClassVar[str] = "blocks/opaque.html"
    label: str
    size: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value of a kind this site does not know, raw and folded."""

    template: ClassVar[str] = "blocks/unknown.html"
    label: str
    text: str
    rest: Rest | None = None


@dataclass(frozen=True, slots=True)
class AddedText:
    """Text that a client added to a person's words, folded; `begins` is its element, or its first line."""

    template: ClassVar[str] = "blocks/added.html"
    by: str
    begins: str
    length: int
    text: str
    rest: Rest | None = None


@dataclass(frozen=True, slots=True)
class More:
    """Parts that are not shown here."""

    template: ClassVar[str] = "blocks/more.html"
    rest: Rest


Block = (
    Markdown | Plain | Terminal | Code | Diff | Tasks | Thinking | Image | Remote | Opaque | Unknown | AddedText | More
)


def as_html(shown: Sequence[Block]) -> SafeString:
    """Blocks rendered by their templates, one after the other."""
    return mark_safe("".join([by_template(block.template, block) for block in shown]))  # noqa: S308  all are safe


def by_template(template: str, block: object) -> SafeString:
    return mark_safe(get_template(template).render({"block": block}))  # noqa: S308  templates escape


# -- content -> blocks -----------------------------------------------------------------------------------------------


def of_content(content: Any, whole: str, *, colours: bool = False) -> tuple[Block, ...]:
    """The blocks of a message from a person or a model. `whole` is the URL of the whole text."""
    return tuple(_parts(content, whole, lambda part, at: _of_part(part, whole, at, colours)))


def of_output(content: Any, whole: str, *, language: str = "", colours: bool = False) -> tuple[Block, ...]:
    """The blocks of a tool's result: JSON, diffs and terminal output formatted; other text as code of `language`."""
    if isinstance(content, str):
        return tuple(_output(content, whole, language, colours))
    return tuple(_parts(content, whole, lambda part, at: _of_output_part(part, whole, at, language, colours)))


def of_reasoning(reasoning: str, extra: dict[str, Any], whole: str, *, colours: bool = False) -> tuple[Block, ...]:
    """A row's thinking, folded, and a line for each opaque item of its provider."""
    shown: list[Block] = [thinking(reasoning, whole, colours=colours)] if reasoning.strip() else []
    for name in ("reasoning_details", "codex_reasoning_items", "codex_message_items"):
        shown += _opaque(name, extra.get(name))
    return tuple(shown)


def _parts(content: Any, whole: str, shown: Callable[[Any, str], Iterator[Block]]) -> Iterator[Block]:
    parts = engine.blocks(content)
    for at, part in enumerate(parts[:PARTS]):
        yield from shown(part, str(at))
    if len(parts) > PARTS:
        yield More(Rest(whole, len(parts) - PARTS, "more part"))


def _of_part(part: Any, whole: str, at: str, colours: bool) -> Iterator[Block]:
    kind = part.get("type") if isinstance(part, dict) else None
    text = _text(part)
    if text is not None:
        if text.strip():
            yield markdown_block(text, whole, colours=colours)
    elif engine.is_image(part):
        yield image(part, f"{whole}&image={at}" if whole else "")
    elif kind == "thinking" and isinstance(part.get("thinking"), str):
        yield thinking(part["thinking"], whole, colours=colours)
    elif kind == "tool_result":
        inner = part.get("content")
        if isinstance(inner, str):
            yield from _output(inner, whole, "", colours)
        else:
            yield from _parts(inner, whole, lambda each, i: _of_output_part(each, whole, f"{at}.{i}", "", colours))
    elif isinstance(kind, str) and kind in _OPAQUE and (sealed := _sealed(part)):
        yield sealed
    elif kind != "tool_use":  # a call: shown with the calls of its message
        yield unknown(f"block of type {kind[:80]}" if isinstance(kind, str) else "block", part, whole)


def _text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type") in ("text", "input_text", "output_text"):
        text = part.get("text")
        return text if isinstance(text, str) else None
    return None


def _of_output_part(part: Any, whole: str, at: str, language: str, colours: bool) -> Iterator[Block]:
    text = _text(part)
    if text is not None:
        yield from _output(text, whole, language, colours)
    elif isinstance(part, dict) and "type" not in part:  # a result that is an object
        yield from fields_of(part, whole, len(engine.as_json(part)), language, colours)
    elif isinstance(part, dict) and part.get("type") == "tool_result":  # results are not nested
        yield unknown("block of type tool_result", part, whole)
    else:
        yield from _of_part(part, whole, at, colours)


def _output(text: str, whole: str, language: str, colours: bool) -> Iterator[Block]:
    value = json_value(text)
    if isinstance(value, dict):
        yield from fields_of(value, whole, len(text), language, colours)
    elif value is not None:
        yield json_code(value, whole, len(text), colours=colours)
    elif text.strip():
        yield _laid_out(text, whole, language, colours)


def _laid_out(text: str, whole: str, language: str, colours: bool) -> Plain | Terminal | Code | Diff:
    if diffs.is_diff(text) or text.startswith(diffs.ENVELOPE):
        return diff(text, whole)
    if terminal.is_terminal(text[: terminal.SCANNED]):
        return terminal_block(text, whole)
    if highlight.is_known(language) and not _NUMBERED.match(text[:200]):
        return code(text, language, whole, colours=colours)
    return plain(text, whole)


def fields_of(value: dict[str, Any], whole: str, length: int, language: str, colours: bool) -> Iterator[Block]:
    """An object as JSON, but each of its texts with several lines separately, in its own format and under its name.

    `length` is that of the stored text.
    """
    if listed := tasks(value):
        yield listed
        shown = {_listed_in(value), "merge"} | ({"explanation"} if isinstance(value.get("explanation"), str) else set())
        value = {name: each for name, each in value.items() if name not in shown}
        if not value:
            return
    texts = {name: text for name, text in list(value.items())[:PARTS] if isinstance(text, str) and _is_long(text)}
    texts = dict(list(texts.items())[:TEXTS])
    rest = {name: each for name, each in value.items() if name not in texts}
    if rest or not texts:
        yield json_code(rest, whole, length, colours=colours)
    for name, text in texts.items():
        spoken = "bash" if name in _COMMANDS else language if name in _CODE else ""
        yield replace(_laid_out(text, whole, spoken, colours), label=line(name, 60))


_COMMANDS = ("command", "cmd")
_CODE = ("content", "code", "new_source", "replacement_text")
_NUMBERED = re.compile(r"\s*\d+\s?[|\t→]")  # lines that a reading tool numbered: no language any more


def _is_long(text: str) -> bool:
    return "\n" in text.strip() or "\x1b" in text


# -- one block of each kind ------------------------------------------------------------------------------------------


def markdown_block(text: str, whole: str, *, colours: bool = False) -> Markdown:
    shown, rest = _cut(text, MARKDOWN_LIMIT, whole)
    size = 0 if colours else markdown.code_size(shown)
    return Markdown(markdown.rendered(shown, colours=colours or size <= AT_ONCE), rest, size > AT_ONCE)


def thinking(text: str, whole: str, *, colours: bool = False) -> Thinking:
    shown, rest = _cut(text, MARKDOWN_LIMIT, whole)
    return Thinking(markdown.rendered(shown, colours=colours), len(text), rest)


def plain(text: str, whole: str) -> Plain:
    shown, rest = _cut(text, OUTPUT_LIMIT, whole)
    return Plain(clean(shown), rest)


def terminal_block(text: str, whole: str) -> Terminal:
    lines, cut = terminal.started(terminal.played(text), OUTPUT_LIMIT)
    cut = cut or len(text) > terminal.SCANNED
    return Terminal(terminal.as_html(lines), Rest(whole, len(text)) if cut else None)


def code(text: str, language: str, whole: str, *, colours: bool = False, length: int = 0) -> Code:
    """Code in a known language. `length` is that of the original text, if it is another one."""
    shown, rest = _cut(text, OUTPUT_LIMIT, whole)
    if rest is not None and length:
        rest = replace(rest, length=length)
    waits = not colours and highlight.is_known(language)
    return Code(markdown.code(shown, language if colours else ""), rest, waits)


def json_code(value: Any, whole: str, length: int, *, colours: bool = False) -> Code:
    """A value as JSON, formatted as far as it is shown."""
    return code(pretty(value, 2 * OUTPUT_LIMIT), "json", whole, colours=colours, length=length)


def unknown(label: str, value: Any, whole: str) -> Unknown:
    shown, rest = _cut(as_text(value), OUTPUT_LIMIT, whole)
    return Unknown(line(label, 80), clean(shown), rest)


def added(text: str, by: str, whole: str) -> AddedText:
    shown, rest = _cut(text, OUTPUT_LIMIT, whole)
    element = _ELEMENT.match(text)
    begins = element[1] if element else text.strip().partition("\n")[0].strip("# :")
    return AddedText(by, line(begins, 60), len(text), clean(shown), rest)


_ELEMENT = re.compile(r"<([\w-]{1,60})")


def diff(text: str, whole: str) -> Diff:
    return changed(diffs.written(text), whole)


def changed(change: diffs.Change, whole: str) -> Diff:
    """A change as a diff, cut if it is long."""
    shown, rest = _change_cut(change, whole)
    return Diff(diffs.as_html(shown), change.added, change.removed, rest)


def called(change: diffs.Change, whole: str, cwd: str, *, colours: bool = False) -> Diff:
    """The change that a call makes, whose line names its file, in the directory `cwd` of its session."""
    shown, rest = _change_cut(change, whole)
    files = [each.name for each in change.files]
    language = highlight.language_of(files[0]) if len(files) == 1 else ""
    made = diffs.as_html(shown, cwd=cwd, is_named=len(files) > 1, language=language, colours=colours)
    waits = not colours and any(map(highlight.language_of, files))
    return Diff(made, change.added, change.removed, rest, waits=waits, is_called=True)


def _change_cut(change: diffs.Change, whole: str) -> tuple[str, Rest | None]:
    shown, rest = _cut(change.text, OUTPUT_LIMIT, whole)
    return shown, Rest(whole, change.length) if rest is None and change.added is None else rest


def tasks(value: Any) -> Tasks | None:
    """The to-do list in the arguments or the result of a tool that keeps one; None for other values.

    Items are objects with a text and a status, as those of Claude Code, Codex and Hermes.
    """
    listed = value.get(_listed_in(value)) if isinstance(value, dict) else None
    if not isinstance(listed, list) or not listed:
        return None
    items = [_task(item) for item in listed[:PARTS]]
    shown = tuple(task for task in items if task is not None)
    if len(shown) < len(items):
        return None
    note = value.get("explanation")
    return Tasks(shown, line(note, 1_000) if isinstance(note, str) else "", len(listed) - len(items))


def _listed_in(value: dict[str, Any]) -> str:
    return "todos" if "todos" in value else "plan"


_STATES = {
    "completed": ("✓", "done"), "done": ("✓", "done"), "in_progress": ("◐", "in progress"), "pending": ("○", "open"),
    "cancelled": ("✕", "cancelled"),
}  # fmt: skip


def _task(item: Any) -> Task | None:
    if not isinstance(item, dict):
        return None
    text = next((item[name] for name in ("content", "step", "text") if isinstance(item.get(name), str)), None)
    state = item.get("status")
    if text is None or not isinstance(state, str):
        return None
    sign, word = _STATES.get(state, ("○", line(state, 30)))
    return Task(sign, word, line(text, 1_000))


def image(part: dict[str, Any], href: str = "") -> Image | Remote:
    """An image in OpenAI's, the Responses API's or Anthropic's shape; shown only from a data: URL.

    At `href`, if given, it is alone and in its full size; a large one is loaded from there.
    """
    url = data_url(part)
    if url:
        label = f"Image in the message, {formats.size(len(url) * 3 // 4)}"
        return Image(href if href and len(url) > INLINE_IMAGE else url, label, href)
    address = address_of(part)
    web = address.startswith(("https://", "http://"))
    return Remote("Image, not loaded", clean(address[:4_000]) if web else "", line(address, 120) or "no address")


def data_url(part: dict[str, Any]) -> str:
    """The data: URL of an image part, "" if it has none that this site shows."""
    url = address_of(part)
    return url if len(url) <= IMAGE_LIMIT and data_image(url) else ""


def _cut(text: str, limit: int, whole: str) -> tuple[str, Rest | None]:
    """At most `limit` characters, up to the end of a line if one is near."""
    if len(text) <= limit * 1.1:
        return text, None
    end = text.rfind("\n", limit - 400, limit)
    return text[: end if end > 0 else limit], Rest(whole, len(text))


# -- data that only a provider can read ------------------------------------------------------------------------------

CHECKPOINT = "Checkpoint of the model's provider"
_OPAQUE = {
    "compaction": CHECKPOINT,
    "compaction_summary": CHECKPOINT,
    "context_compaction": CHECKPOINT,
    "redacted_thinking": "Thinking that its provider encrypted",
    "reasoning": "Thinking that its provider encrypted",
}


def _sealed(part: dict[str, Any]) -> Opaque | None:
    """A part of which nothing is readable: encrypted, without any text."""
    readable = any(part.get(name) for name in ("content", "summary", "text"))
    data = next((part[name] for name in ("encrypted_content", "data") if isinstance(part.get(name), str)), None)
    if readable or (data is None and part.get("type") == "reasoning"):
        return None
    return Opaque(_OPAQUE[part["type"]], len(data or ""))


def _opaque(name: str, stored: Any) -> Iterator[Block]:
    items = json_value(stored, limit=4_000_000) if isinstance(stored, str) else stored
    for item in items[:PARTS] if isinstance(items, list) else []:
        kind = item.get("type") if isinstance(item, dict) else None
        if kind == "compaction" or (
            name != "codex_message_items" and isinstance(item, dict) and "encrypted_content" in item
        ):
            label = CHECKPOINT if kind == "compaction" else f"Provider's own data ({line(str(kind)[:200], 40)})"
            yield Opaque(label, len(engine.as_json(item)))
