"""The table of contents of a session: what people asked, and where it was compacted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from viewer.pages.redaction import redacted_text
from viewer.places import Place
from viewer.rendering import formats
from viewer.rendering.texts import prose
from viewer.stores.transcript import HistoryWindow, IndexedBoundary

from .loading import Opened

PROMPTS = 80  # shown at most; those around the window where there are more


@dataclass(frozen=True, slots=True)
class Item:
    """One line: a prompt or a boundary. `shown` says that it stands in the window."""

    label: str
    href: str
    boundary: bool
    shown: bool


@dataclass(frozen=True, slots=True)
class Contents:
    """`before` and `after` are addresses of the nearest prompts that were left out, "" where none was."""

    items: tuple[Item, ...]
    before: str
    after: str


def contents(found: Opened, window: HistoryWindow, *, redacting: bool) -> Contents:
    """The prompts nearest to the window, and every boundary."""
    outline, place = found.outline, found.place
    prompts, stop = outline.prompts, outline.messages - window.later
    first, last = bisect_left(prompts, window.earlier), bisect_left(prompts, stop) - 1
    middle = first + last if last >= first else 2 * first
    start = max(0, min((middle - PROMPTS) // 2, len(prompts) - PROMPTS))
    listed = prompts[start : start + PROMPTS]
    lines = [
        (at, 1, each)
        for at, each in zip(listed, _prompts(found, listed, (window.earlier, stop), redacting), strict=True)
    ]
    cuts = {cut.handoff_id for cut in window.items if isinstance(cut, IndexedBoundary)}
    lines += [(cut.place, 0, _boundary(cut, place, cut.handoff_id in cuts)) for cut in outline.cuts]
    return Contents(
        items=tuple(item for _, _, item in sorted(lines, key=lambda each: each[:2])),
        before=_link(found, prompts[start - 1]) if start > 0 else "",
        after=_link(found, prompts[start + PROMPTS]) if start + PROMPTS < len(prompts) else "",
    )


def new_items(found: Opened, seen: int, *, redacting: bool) -> tuple[Item, ...]:
    """The lines of prompts behind the first so many messages."""
    outline = found.outline
    listed = outline.prompts[bisect_left(outline.prompts, seen) :][:PROMPTS]
    return tuple(_prompts(found, listed, (seen, outline.messages), redacting))


def _link(found: Opened, place: int) -> str:
    return found.place.message(found.outline.ids[found.outline.first[place]])


def _prompts(found: Opened, places: Sequence[int], window: tuple[int, int], redacting: bool) -> list[Item]:
    entries = [found.outline.entry(place) for place in places]
    rows = found.reader.previews(found.session.id, [entry.full_id for entry in entries])
    items = []
    for place, entry in zip(places, entries, strict=True):
        here = window[0] <= place < window[1]
        row = rows.get(entry.full_id)
        text = "" if row is None else redacted_text(row) if redacting else row.text
        href = f"#m{entry.id}" if here else found.place.message(entry.id)
        items.append(Item(prose(text, 90) or "A message without words", href, False, here))
    return items


def _boundary(cut: IndexedBoundary, place: Place, here: bool) -> Item:
    numbers = f"{cut.messages_before:,} → {cut.messages_after:,}"
    shortened = f"shortened {formats.counted(cut.shortened, 'message')}" if cut.shortened and not cut.summarised else ""
    label = "begins with a summary" if cut.inherited else shortened or f"compacted, {numbers}"
    return Item(label, f"#b{cut.handoff_id}" if here else place.boundary(cut.handoff_id), True, here)
