"""All that a compaction lost, in lists: behind a boundary's tab, and of a run that is not written yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viewer.web.session_urls import SessionUrls

from .losses import Loss, Lost, label, lost_parts, named_lost
from .run_card import RunCard

LISTS = {"lost_statements": "Statements", "lost": "Details", "lost_printed": "Printed by tools only"}


@dataclass(frozen=True, slots=True)
class LostList:
    """One list of lost things: a page of them; `next` leads to those after, `left` says how many more there are.
    `putting` is the candidate whose summary they can be put into, None where there is none.
    """

    name: str
    title: str
    loss: Loss
    named: tuple[Lost, ...]
    next: str
    left: int
    putting: RunCard | None = None


def lost_page(noted: Mapping[str, Any], lists: Sequence[LostList]) -> dict[str, Any]:
    """What the page of lost details says of them, as `noted` (`detail_loss.noted`)."""
    return {"details": lost_parts(noted)[0], "lists": lists}


def lost_heading(noted: Mapping[str, Any]) -> str:
    details, statements, _ = lost_parts(noted)
    return label((details, statements))[0] or "details lost"


def lost_lists(noted: Mapping[str, Any], place: SessionUrls, href: str, start: int) -> Iterator[LostList]:
    """The lists from the one at `start` on; `href` is where more of them are found."""
    details, statements, printed = lost_parts(noted)
    for (name, title), loss in zip(LISTS.items(), (statements, details, printed), strict=True):
        if loss is not None:
            all_of_them = noted.get(name, ())
            named = named_lost(all_of_them, place, start)
            stop = start + len(named)
            more = f"{href}?list={name}&from={stop}" if stop < len(all_of_them) else ""
            yield LostList(name, title, loss, named, more, max(0, loss.lost - stop))
