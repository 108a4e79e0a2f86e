"""The HTML of a row's content, calls and results, rendered once and cached by the text it is made from.

A key contains everything that its HTML depends on: the text, the kind of row, the URL of the whole text, and whether
code is coloured. A redacted text is another text and so has another key.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from compaction import messages as engine
from viewer.stores.envelopes import split
from viewer.stores.message import StoredMessage
from viewer.web.session_urls import SessionUrls

from . import blocks, diffs, highlight, lru, outcomes, tools
from .texts import as_text, json_value

ARGUMENTS = 2_000_000  # characters of a call's arguments that are read, such as a file it writes


@dataclass(frozen=True, slots=True)
class RenderedBlocks:
    """Blocks as HTML; `waits` says that code in them could be coloured. The other fields are set if they apply.

    `is_change`: they are a change or a to-do list, which says by itself what it is.
    """

    html: SafeString
    waits: bool
    is_change: bool = False
    title: tools.Title | None = None
    outcome: outcomes.CallOutcome = outcomes.CallOutcome()
    sessions: tuple[str, ...] = ()


_CACHE: lru.SizedCache[RenderedBlocks] = lru.SizedCache(lambda shown: sys.getsizeof(shown.html))


def clear() -> None:
    """Empty the cache."""
    _CACHE.clear()


def said(row: StoredMessage, urls: SessionUrls, *, part: str = "said", colours: bool = False) -> RenderedBlocks:
    """The blocks of a row's own words: thinking first, then its content by role, which is the thinking itself if `part`
    is "reasoning".
    """
    extras = [row.extra.get(name) for name in ("reasoning_details", "codex_reasoning_items", "codex_message_items")]
    key = (
        "said",
        _kind(row.role),
        urls.href,
        row.id,
        part,
        colours,
        row.envelopes and row.envelopes.by,
        *map(lru.digest, (row.content, row.reasoning, extras)),
    )
    return _CACHE.get(key, lambda: _shown(_blocks_of_row(row, urls, part, colours)))


def _kind(role: str) -> str:
    return "talk" if role in ("user", "assistant") else "raw"


def _blocks_of_row(row: StoredMessage, urls: SessionUrls, part: str, colours: bool) -> Iterable[blocks.Block]:
    yield from blocks.of_reasoning(row.reasoning, row.extra, urls.whole(row.id, "reasoning"), colours=colours)
    whole = urls.whole(row.id, part if part == "reasoning" else "content")
    if _kind(row.role) == "talk":
        parts = split(row.content, row.envelopes)
        own = row.content if parts.kind else parts.typed
        yield from blocks.of_content(own, whole, colours=colours)
        if row.envelopes is not None and not parts.kind:
            yield from (blocks.added(text, row.envelopes.by, whole) for text in parts.added)
    elif row.content is not None and row.content != "":  # system rows and rows of roles nobody knows: as they are
        yield blocks.plain(as_text(row.content), whole)


def answered(row: StoredMessage, urls: SessionUrls, language: str = "", *, colours: bool = False) -> RenderedBlocks:
    """The blocks of a tool's result, how it says that its call ended, and the sessions that it names."""
    is_error = row.extra.get("is_error") is True
    key = ("answered", urls.href, row.id, language, colours, is_error, lru.digest(row.content))

    def make() -> RenderedBlocks:
        shown_blocks = blocks.of_output(row.content, urls.whole(row.id, "content"), language=language, colours=colours)
        return _shown(shown_blocks, outcome=outcomes.of_row(row), sessions=outcomes.sessions_in(row.content))

    return _CACHE.get(key, make)


def asked(
    call: engine.Call,
    whole: str,
    result: outcomes.CallOutcome | None,
    *,
    cwd: str = "",
    noted: str = "",
    colours: bool = False,
) -> RenderedBlocks:
    """The line of a call in a session with the directory `cwd`, and the blocks of its arguments; `noted` is its change
    as the agent noted it (`calls.noted`).
    """
    key = ("asked", call.name, whole, result, cwd, lru.digest(noted), colours, lru.digest(call.arguments, in_full=True))

    def make() -> RenderedBlocks:
        arguments = json_value(call.arguments, limit=ARGUMENTS)
        change = tools.change(call.name, call.arguments, arguments, noted)
        title = tools.title(call.name, call.arguments, arguments, change, result, cwd)
        if change is not None:
            return _shown([blocks.called(change, whole, cwd, colours=colours)], title=title, is_change=True)
        listed = list(_arguments(call.arguments, arguments, whole, colours))
        return _shown(listed, title=title, is_change=any(isinstance(block, blocks.Tasks) for block in listed))

    return _CACHE.get(key, make)


def _arguments(text: str, arguments: Any, whole: str, colours: bool) -> Iterable[blocks.Block]:
    if isinstance(arguments, dict):
        language = highlight.language_of(diffs.file_of(arguments)) or ("python" if "code" in arguments else "")
        yield from blocks.fields_of(arguments, whole, len(text), language, colours) if arguments else ()
    elif text.strip():
        yield blocks.plain(text, whole)


def by_template(template: str, block: Hashable) -> SafeString:
    """A block rendered by its template; the block itself is the key, because the template gets nothing else."""
    return _CACHE.get((template, block), lambda: RenderedBlocks(blocks.by_template(template, block), waits=False)).html


def _shown(shown_blocks: Iterable[blocks.Block], **fields: Any) -> RenderedBlocks:
    listed = list(shown_blocks)
    waits = any(isinstance(block, (blocks.Code, blocks.Diff, blocks.Markdown)) and block.waits for block in listed)
    return RenderedBlocks(blocks.as_html(listed), waits, **fields)
