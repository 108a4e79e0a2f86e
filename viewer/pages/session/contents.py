"""The table of contents of a session: people's prompts, and its compactions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from viewer.pages.http import is_fragment, page, shows_refusals, start_of
from viewer.pages.parts.opened import OpenSession, open_session
from viewer.pages.redaction import redacted_text, redacts
from viewer.rendering import formats
from viewer.rendering.texts import prose
from viewer.stores.registry import get_store, open_store
from viewer.stores.transcript import Boundary, HistoryWindow
from viewer.web.session_urls import SessionUrls

from .header import header

PROMPTS = 80  # of a part; a page has the part around its window


@dataclass(frozen=True, slots=True)
class Item:
    """One line: a prompt or a boundary. `number` is the message's in History, counted
    from 1; of a boundary, that of the message below it. `nth` is a prompt's number among the prompts, 0 of a boundary.
    """

    label: str
    href: str
    boundary: bool
    number: int
    nth: int = 0


@dataclass(frozen=True, slots=True)
class FurtherItems:
    """The lines on one side of a part: their address, their number, and the nearest boundary among them."""

    href: str
    count: int
    boundary: Item | None


@dataclass(frozen=True, slots=True)
class Contents:
    """A part of the table of contents, and what is before and after it."""

    items: tuple[Item, ...]
    before: FurtherItems | None
    after: FurtherItems | None


@require_safe
@shows_refusals
def part(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    """The part before or after a prompt, by its number in order: `?before=` or `?after=`; else the first."""
    before, after = start_of(request, "before"), start_of(request, "after")
    with open_store(get_store(store)) as reader:
        opened = open_session(reader, session_id, redacting=redacts(request))
        start = max(0, before - PROMPTS) if before else after
        listed = _part(opened, start, before or start + PROMPTS, (0, 0), frozenset())
        if is_fragment(request):
            one_side = replace(listed, after=None) if before else replace(listed, before=None)
            return page(request, "session/_part.html", one_side)
        data = {"header": header(opened), "contents": listed}
    return page(request, "session/contents.html", data)


def contents(opened: OpenSession, window: HistoryWindow) -> Contents:
    """The prompts nearest to the window, with the boundaries between them."""
    index = opened.index
    prompts, stop = index.prompts, index.messages - window.later
    first, last = bisect_left(prompts, window.earlier), bisect_left(prompts, stop) - 1
    middle = first + last if last >= first else 2 * first
    start = max(0, min((middle - PROMPTS) // 2, len(prompts) - PROMPTS))
    here = frozenset(boundary.handoff_id for boundary in window.items if isinstance(boundary, Boundary))
    return _part(opened, start, start + PROMPTS, (window.earlier, stop), here)


def _part(opened: OpenSession, start: int, stop: int, window: tuple[int, int], here: frozenset[int]) -> Contents:
    """The prompts of these numbers. A boundary is listed with the prompts before it, a boundary before all prompts with
    the first.
    """
    prompts = opened.index.prompts
    start, stop = min(start, len(prompts)), min(stop, len(prompts))
    low = prompts[start] if 0 < start < len(prompts) else 0
    high = prompts[stop] if stop < len(prompts) else opened.index.messages + 1
    listed = prompts[start:stop]
    shown = prompt_items(opened, listed, window, opened.redacting)
    lines = [(at, 1, each) for at, each in zip(listed, shown, strict=True)]
    boundaries = [
        (each.place, _boundary(each, opened.urls, each.handoff_id in here)) for each in opened.index.boundaries
    ]
    lines += [(at, 0, item) for at, item in boundaries if low <= at < high]
    view, remaining = opened.urls.view, len(prompts) - stop
    return Contents(
        items=tuple(item for _, _, item in sorted(lines, key=lambda each: each[:2])),
        before=FurtherItems(
            view("contents", before=start),
            start,
            next((item for at, item in reversed(boundaries) if at < low), None),
        )
        if start
        else None,
        after=FurtherItems(
            view("contents", after=stop),
            remaining,
            next((item for at, item in boundaries if at >= high), None),
        )
        if remaining
        else None,
    )


def new_items(opened: OpenSession, seen: int, *, redacting: bool) -> tuple[Item, ...]:
    """The lines of prompts after the first `seen` messages."""
    index = opened.index
    listed = index.prompts[bisect_left(index.prompts, seen) :][:PROMPTS]
    return tuple(prompt_items(opened, listed, (seen, index.messages), redacting))


def prompt_items(opened: OpenSession, places: Sequence[int], window: tuple[int, int], redacting: bool) -> list[Item]:
    """The lines of the prompts at these places; those in the `window` of places are linked on the page."""
    entries = [opened.index.entry(place) for place in places]
    rows = opened.reader.previews(opened.session.id, [entry.full_id for entry in entries])
    items = []
    for place, entry in zip(places, entries, strict=True):
        here = window[0] <= place < window[1]
        row = rows.get(entry.full_id)
        text = "" if row is None else redacted_text(row) if redacting else row.text
        href = f"#m{entry.id}" if here else opened.urls.message(entry.id)
        nth = bisect_left(opened.index.prompts, place) + 1
        items.append(Item(prose(text, 90) or "A message without words", href, False, place + 1, nth))
    return items


def _boundary(boundary: Boundary, urls: SessionUrls, here: bool) -> Item:
    numbers = f"{boundary.messages_before:,} → {boundary.messages_after:,}"
    shortened = f"shortened {formats.counted(boundary.shortened, 'message')}" if boundary.shortens else ""
    label = "begins with a summary" if boundary.inherited else shortened or f"compacted, {numbers}"
    return Item(
        label,
        f"#b{boundary.handoff_id}" if here else urls.boundary(boundary.handoff_id),
        True,
        boundary.place + 1,
    )
