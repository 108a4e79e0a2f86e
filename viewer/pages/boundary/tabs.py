"""Two tabs of a boundary: details kept and lost, and changes from the previous summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from compaction.handoff import without_rules
from viewer.errors import NotFound
from viewer.pages.compact.card import RunCard
from viewer.pages.compact.report import Loss, Lost, label, lost_parts, named_lost
from viewer.pages.http import is_fragment, page, shows_refusals
from viewer.pages.redaction import redacts, text_for
from viewer.pages.session.loading import Opened, opened
from viewer.places import Place
from viewer.rendering import blocks, diffs, formats
from viewer.rendering.texts import line
from viewer.runs.detail_loss import losses
from viewer.stores.message import parted
from viewer.stores.registry import Reader, get_store, open_store

from .views import earlier_boundary, find, start_of

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


@dataclass(frozen=True, slots=True)
class UpdatePage:
    """What a summary says otherwise than the summary before it."""

    fragment: ClassVar[str] = "boundary/_update.html"
    name: str
    back: str
    heading: str
    explained: str
    change: blocks.Diff | None


@require_safe
@shows_refusals
def details(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    """All lists, or with `list` and `from` more of one."""
    with open_store(get_store(store)) as reader:
        found = opened(reader, session_id, redacting=redacts(request))
        noted = losses(reader, found.session.id, found.index, find(found, handoff_id))
    which, start = request.GET.get("list", ""), start_of(request)
    more = found.place.listed(handoff_id, "details")
    lists = tuple(each for each in lost_lists(noted, found.place, more, start) if not which or each.name == which)
    if which in LISTS and lists and is_fragment(request):
        return page(request, "boundary/_more_lost.html", lists[0])
    data = details_page(noted, lists, **_top(found, handoff_id))
    return page(request, data.fragment if is_fragment(request) else "boundary/tab.html", data)


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


def lost_lists(noted: Mapping[str, Any], place: Place, href: str, start: int) -> Iterator[LostList]:
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


@require_safe
@shows_refusals
def update(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    """What the summary of a later compaction made of the one before it."""
    with open_store(get_store(store)) as reader:
        found = opened(reader, session_id, redacting=redacts(request))
        earlier = earlier_boundary(found.index, find(found, handoff_id))
        if earlier is None:
            raise NotFound("This is the first summary of the session: there is none before it that it could change.")
        old, new = (
            text_for(request, summary_of(reader, found.session.id, row_id))
            for row_id in (earlier.handoff_id, handoff_id)
        )
    data = UpdatePage(
        **_top(found, handoff_id),
        heading="Changes to the summary",
        explained="This summary beside the one before it, line by line.",
        change=shown_change(diffs.between(old, new)) if old != new else None,
    )
    return page(request, data.fragment if is_fragment(request) else "boundary/tab.html", data)


def shown_change(change: diffs.Change) -> blocks.Diff:
    """A change as the block that pages show."""
    return blocks.Diff(diffs.as_html(change.text), change.added, change.removed)


def _top(found: Opened, handoff_id: int) -> dict[str, str]:
    return {"name": line(found.session.name, 120), "back": found.place.boundary(handoff_id)}


def summary_of(reader: Reader, session_id: str, handoff_id: int) -> str:
    """A handoff's summary without the rules it carries along: they are the file's words; no summary changes them."""
    row = reader.messages(session_id, [handoff_id]).get(handoff_id)
    return without_rules(parted(row).summary) if row is not None else ""
