"""Before and after: the model's context before a compaction next to the context directly after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, cast

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from compaction import messages as engine
from viewer.exports import before_after as files
from viewer.exports import download
from viewer.exports.before_after import ComparedMessages, messages_of
from viewer.exports.source import ExportedMessage
from viewer.history.before_after import ComparedRow, Fate, compare
from viewer.pages.http import is_fragment, page, shows_refusals, start_of
from viewer.pages.parts.boundary import ShownSummary, find, shown_change, summary_text
from viewer.pages.parts.message_notes import notes_of
from viewer.pages.parts.opened import OpenSession, open_session
from viewer.pages.redaction import redacted, redacts
from viewer.rendering import blocks, cache, calls
from viewer.rendering.texts import line, role_label
from viewer.runs import compaction_list
from viewer.stores.message import StoredMessage, parted, row_tokens
from viewer.stores.registry import get_store, open_store
from viewer.stores.transcript import Boundary
from viewer.usage import counting

WINDOW = 40  # rows shown at once
LEAD = 3  # first rows of a stretch that are shown; the messages after them that the summary replaces are folded
SHORTEST_FOLD = 3
CHANGED, EVERY = "changed", "every"


@dataclass(frozen=True, slots=True)
class ShownCell:
    """A message or a summary on one side. `result` names the tool whose result it is, "" for none; `href` leads to it
    in History, "" if that does not show it; `number` is its place there, counted from 1, or 0; `merged` says where the
    summary is in a row that it shares; `notes` are those of the session's page.
    """

    id: int
    number: int
    href: str
    kind: str
    who: str
    fate: Fate
    tokens: int | None
    html: SafeString
    result: str
    calls: tuple[cache.RenderedBlocks, ...]
    calls_left: int
    calls_href: str
    summary: ShownSummary | None
    merged: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownBand:
    """A message that is on both sides, or the messages between two such; `skipped` is the number of kept rows left out
    before it, and `change` the difference of the message on the right. `folded` counts the messages after it that are
    folded, `rest` is the query of those.
    """

    left: tuple[ShownCell, ...]
    right: tuple[ShownCell, ...]
    skipped: int
    shortened: bool
    change: blocks.Diff | None
    folded: int
    rest: str


@dataclass(frozen=True, slots=True)
class RowWindow:
    """The rows shown at once; the queries of other windows are "" if there is none. `begun` is the query of the window
    in which the first band begins, "" if that is this one; `previous_at` is the position of the row before these.
    `folded` counts the rows that are left out after the one at a position.
    """

    rows: Sequence[ComparedRow]
    folded: Mapping[int, int]
    previous_at: int
    view: str
    shown: str
    begun: str
    previous: str
    next: str
    last: str


@require_safe
@shows_refusals
def before_after(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    """The page; with `as`, one side as text to copy, or both as a file."""
    kind = request.GET.get("as", "")
    if kind == "html" or kind in files.SIDES:
        return _file(request, files.comparison(store, session_id, handoff_id), kind)
    with open_store(get_store(store)) as reader:
        opened = open_session(reader, session_id, redacting=redacts(request))
        boundary = find(opened, handoff_id)
        rows = compare(reader, opened.session.id, opened.index, boundary)
        if is_fragment(request):
            return page(request, "boundary/_stretch.html", _stretch(request, opened, boundary, rows))
        data = _page(request, opened, boundary, rows)
    return page(request, "boundary/before_after.html", data)


def _file(request: HttpRequest, comparison: files.Comparison, kind: str) -> HttpResponse:
    if kind == "html":
        export = files.as_page(comparison, redact=request.GET.get("redact") != "0")
        return cast(HttpResponse, download(export))  # pages' wrappers know of one kind of answer
    side: files.Side = "before" if kind == "before" else "after"
    text = files.as_text(comparison, side, redact=redacts(request))
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return cast(HttpResponse, StreamingHttpResponse(text, content_type="text/plain; charset=utf-8", headers=headers))


def _page(request: HttpRequest, opened: OpenSession, boundary: Boundary, rows: Sequence[ComparedRow]) -> dict[str, Any]:
    window = _window(request, rows)
    before, after = compaction_list.weights(opened.index, [boundary])[boundary.handoff_id]
    return {
        "session": opened.session,
        "place": opened.urls,
        "boundary": boundary,
        "by": compaction_list.by_in(opened.reader, opened.session.id, boundary),
        "tokens_before": before,
        "tokens_after": after,
        "notes": [*files.unknown(boundary), files.ABOUT],
        "bands": list(_bands(opened, boundary, window)),
        "window": window,
    }


def _stretch(
    request: HttpRequest, opened: OpenSession, boundary: Boundary, rows: Sequence[ComparedRow]
) -> dict[str, Any]:
    """The messages of a fold from row `start` on, and the query of those after them, "" for none."""
    start = min(start_of(request, "start"), len(rows) - 1)
    stretch = [row for row in rows[start:] if row.band == rows[start].band]
    shown, left = stretch[:WINDOW], len(stretch[WINDOW:])
    return {
        "address": opened.urls.listed(boundary.handoff_id, "before-after"),
        "cells": [cell for band in _bands(opened, boundary, _as_window(shown)) for cell in band.left],
        "left": left,
        "next": _rest(start + WINDOW) if left else "",
    }


def _rest(at: int) -> str:
    return f"?rows={EVERY}&start={at}"


def _window(request: HttpRequest, rows: Sequence[ComparedRow]) -> RowWindow:
    view = CHANGED if request.GET.get("only") == CHANGED else EVERY if request.GET.get("rows") == EVERY else ""
    listed = [row for row in rows if not row.is_kept] if view == CHANGED else rows
    folded: dict[int, int] = {}
    if view != EVERY:
        listed, folded = _folded(listed)
    total = len(listed)
    start = min(start_of(request, "start"), max(0, total - 1))
    stop = min(start + WINDOW, total)
    begun = start
    while begun and listed[begun - 1].band == listed[start].band:
        begun -= 1
    kept = {CHANGED: f"only={CHANGED}&", EVERY: f"rows={EVERY}&", "": ""}[view]

    def query(at: int, *, has_window: bool = True) -> str:
        return f"?{kept}start={at}" if has_window else ""

    return RowWindow(
        rows=listed[start:stop],
        folded=folded,
        previous_at=_end(listed[start - 1], folded) if start else -1,
        view=view,
        shown=f"Rows {start + 1:,} to {stop:,} of {total:,}" if stop - start < total else "",
        begun=query(begun, has_window=begun < start and listed[begun].after is not None),
        previous=query(max(0, start - WINDOW), has_window=start > 0),
        next=query(stop, has_window=stop < total),
        last=query(max(0, total - WINDOW), has_window=stop < total),
    )


def _as_window(rows: Sequence[ComparedRow]) -> RowWindow:
    return RowWindow(rows, {}, -1, EVERY, shown="", begun="", previous="", next="", last="")


def _folded(rows: Sequence[ComparedRow]) -> tuple[list[ComparedRow], dict[int, int]]:
    """The rows without those that are folded, and how many are folded after the row at a position."""
    shown: list[ComparedRow] = []
    folded: dict[int, int] = {}
    for _, grouped in groupby(rows, key=lambda each: each.band):
        stretch = list(grouped)
        lead = max(LEAD, sum(row.after is not None for row in stretch))
        rest = stretch[lead:]
        if len(rest) >= SHORTEST_FOLD and all(row.left == "summarised" for row in rest):
            folded[stretch[lead - 1].at] = len(rest)
            stretch = stretch[:lead]
        shown += stretch
    return shown, folded


def _end(row: ComparedRow, folded: Mapping[int, int]) -> int:
    """The position of the last row that is folded after a row; its own if none is."""
    return row.at + folded.get(row.at, 0)


def _bands(opened: OpenSession, boundary: Boundary, window: RowWindow) -> Iterator[ShownBand]:
    """The bands of a window."""
    ids = sorted({part.row_id for row in window.rows for part in (row.before, row.after) if part is not None})
    stored = opened.reader.messages(opened.session.id, ids)
    if opened.redacting:
        stored = {row_id: redacted(row) for row_id, row in stored.items()}
    previous = window.previous_at
    for _, grouped in groupby(window.rows, key=lambda each: each.band):
        band = [_read(row, stored) for row in grouped]
        last = band[-1].row
        skipped = band[0].row.at - previous - 1
        previous = _end(last, window.folded)
        change = files.changed(band[0])
        yield ShownBand(
            left=tuple(_cell(opened, boundary, each, row.row.left, stored) for row in band for each in row.before),
            right=tuple(_cell(opened, boundary, each, row.row.right, stored) for row in band for each in row.after),
            skipped=skipped,
            shortened=band[0].row.left == "shortened",
            change=None if change is None else shown_change(change),
            folded=window.folded.get(last.at, 0),
            rest=_rest(last.at + 1) if last.at in window.folded else "",
        )


def _read(row: ComparedRow, stored: Mapping[int, StoredMessage]) -> ComparedMessages:
    before, after = (
        tuple(messages_of(stored[part.row_id], part)) if part is not None and part.row_id in stored else ()
        for part in (row.before, row.after)
    )
    return ComparedMessages(row, before, after)


def _cell(
    opened: OpenSession,
    boundary: Boundary,
    message: ExportedMessage,
    fate: str,
    stored: Mapping[int, StoredMessage],
) -> ShownCell:
    row, urls = message.row, opened.urls
    is_result = message.kind == "message" and row.role in engine.RESULT_ROLES
    calls_left = calls.left_out(row)
    return ShownCell(
        id=row.id,
        number=opened.number_of(row.id) if message.kind == "message" else 0,
        href=_href(opened, message),
        kind=row.role if row.role in ("user", "assistant") else "other",
        who=role_label(row.role),
        fate=cast(Fate, fate),
        tokens=_tokens(opened, message, stored[row.id]),
        html=_html(opened, message, is_result=is_result),
        result=f"Result of {line(row.tool_name, 80)}" if is_result and row.tool_name else "Result" if is_result else "",
        calls=() if is_result or message.kind == "handoff" else tuple(_calls(opened, row)),
        calls_left=calls_left,
        calls_href=urls.whole(row.id, "calls") if calls_left else "",
        summary=_summary(opened, boundary, stored[row.id]) if message.kind == "handoff" else None,
        merged=_merged(stored[row.id]) if message.kind == "handoff" else "",
        notes=_notes(row, stored[row.id]) if message.kind == "message" and not is_result else (),
    )


def _tokens(opened: OpenSession, message: ExportedMessage, row: StoredMessage) -> int | None:
    """Tokens of the message or the summary alone, where one row has both; None while the row is not counted."""
    tokens, own = opened.index.tokens_of(row.id), parted(row).message
    if tokens is None or own is None or not parted(row).has_handoff:
        return tokens
    words = row_tokens(own, counting.counter_for(opened.session.model))
    return words if message.kind == "message" else max(0, tokens - words)


def _notes(shown: StoredMessage, row: StoredMessage) -> tuple[str, ...]:
    """The notes on a message, which is exported without the fields that say them."""
    return notes_of(replace(shown, extra=row.extra, flagged=row.flagged))


def _href(opened: OpenSession, message: ExportedMessage) -> str:
    if message.kind == "handoff":
        return opened.urls.boundary(message.id) if opened.index.boundary_at(message.id) is not None else ""
    return opened.urls.message(message.id) if opened.index.place_of(message.id) is not None else ""


def _html(opened: OpenSession, message: ExportedMessage, *, is_result: bool) -> SafeString:
    if message.kind == "handoff":
        return SafeString()
    return (cache.answered if is_result else cache.said)(message.row, opened.urls).html


def _calls(opened: OpenSession, row: StoredMessage) -> Iterator[cache.RenderedBlocks]:
    for call in calls.calls_of(row):
        yield cache.asked(call, opened.urls.whole(row.id, "calls"), None, cwd=opened.session.cwd)


def _merged(row: StoredMessage) -> str:
    text = parted(row)
    if text.message is None:
        return ""
    return f"Sent {'behind' if text.comes_first else 'in front of'} the words of the next message."


def _summary(opened: OpenSession, boundary: Boundary, row: StoredMessage) -> ShownSummary:
    text = parted(row)
    run = boundary.run if row.id == boundary.handoff_id else None
    return summary_text(text.summary, text.directive, run, redacting=opened.redacting)
