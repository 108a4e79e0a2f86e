"""All that a compaction lost, in lists: behind a boundary's tab, and of a run that is not written yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from viewer.rendering import formats
from viewer.web.session_urls import SessionUrls

from .losses import Loss, Lost, label, lost_parts, named_lost
from .run_card import RunCard

RECOGNISED = (
    "Statements are what people and the agent said, but greetings, offers, and what the agent was about to do: "
    "instructions, decisions, causes, open tasks, preferences, circumstances and requests first. Details are paths, "
    "addresses, ids and codes, names, dates, amounts, versions, phone and account numbers, commands and errors. A "
    "statement is lost when no line that is left says it; one that a summary words anew counts as lost."
)
NO_DETAILS = "In what was summarised or shortened, people and the agent said no detail that we recognise."
OF_DETAILS = "Of the {} we recognise in what people and the agent said and calls were made with, {} {} lost."
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
    left: str
    putting: RunCard | None = None


@dataclass(frozen=True, slots=True)
class DetailsPage:
    """The exact details that are lost by a compaction, the statements they stood in, and those tools printed."""

    fragment: ClassVar[str] = "boundary/_details.html"
    name: str
    back: str
    heading: str
    explained: str
    recognised: str
    lists: tuple[LostList, ...]


def details_page(noted: Mapping[str, Any], lists: tuple[LostList, ...], name: str, back: str) -> DetailsPage:
    """The page of what is lost, as `noted` (`detail_loss.noted`)."""
    told, statements, _ = lost_parts(noted)
    heading = label((told, statements))[0] or "details lost"
    return DetailsPage(
        name=name,
        back=back,
        heading=heading[0].upper() + heading[1:],
        explained=_explained(told),
        recognised=RECOGNISED,
        lists=lists,
    )


def _explained(told: Loss | None) -> str:
    if told is None:
        return NO_DETAILS
    return OF_DETAILS.format(formats.counted(told.total, "detail"), f"{told.lost:,}", "is" if told.lost == 1 else "are")


def lost_lists(noted: Mapping[str, Any], place: SessionUrls, href: str, start: int) -> Iterator[LostList]:
    """The lists from the one at `start` on; `href` is where more of them are found."""
    details, statements, printed = lost_parts(noted)
    for (name, title), loss in zip(LISTS.items(), (statements, details, printed), strict=True):
        if loss is not None:
            all_of_them = noted.get(name, ())
            named = named_lost(all_of_them, place, start)
            stop = start + len(named)
            more = f"{href}?list={name}&from={stop}" if stop < len(all_of_them) else ""
            left = f"{loss.lost - stop:,} more" if loss.lost > stop else ""
            yield LostList(name, title, loss, named, more, left)
