"""The table of contents of a session: what people asked, and where it was compacted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from viewer.store.alignment import LightRow
from viewer.store.history import Boundary, Entry, History

from .addresses import Place
from .texts import line

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


def contents(history: History, rows: dict[int, LightRow], window: Sequence[Entry | Boundary], place: Place) -> Contents:
    """The prompts nearest to the window, and every boundary."""
    shown = {id(item) for item in window}
    prompts = [item for item in history.items if isinstance(item, Entry) and _is_prompt(rows[item.full_id])]
    inside = [index for index, item in enumerate(prompts) if id(item) in shown] or [len(prompts) - 1]
    start = max(0, min((inside[0] + inside[-1] - PROMPTS) // 2, len(prompts) - PROMPTS))
    kept = {id(item) for item in prompts[start : start + PROMPTS]}
    listed = [item for item in history.items if isinstance(item, Boundary) or id(item) in kept]
    return Contents(
        items=tuple(_items(listed, rows, shown, place)),
        before=place.message(prompts[start - 1].id) if start > 0 else "",
        after=place.message(prompts[start + PROMPTS].id) if start + PROMPTS < len(prompts) else "",
    )


def _is_prompt(row: LightRow) -> bool:
    return row.role == "user" and not row.scaffold and bool(row.text)


def _items(
    listed: Sequence[Entry | Boundary], rows: dict[int, LightRow], shown: set[int], place: Place
) -> Iterator[Item]:
    for item in listed:
        here = id(item) in shown
        if isinstance(item, Boundary):
            numbers = f"{item.messages_before:,} → {item.messages_after:,}"
            label = "begins with a summary" if item.inherited else f"compacted, {numbers}"
            yield Item(label, f"#b{item.handoff_id}" if here else place.boundary(item.handoff_id), True, here)
        else:
            href = f"#m{item.id}" if here else place.message(item.id)
            yield Item(line(rows[item.full_id].text, 90), href, False, here)
