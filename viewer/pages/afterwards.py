"""What became of a compaction's details, and what its summary changed in the one before: two tabs of a boundary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from compaction.rules import without_rules
from viewer.runs.losses import losses
from viewer.store import reading
from viewer.store.errors import NotFound
from viewer.store.stores import Reader, get_store, open_store

from . import blocks, formats, patches
from .answers import is_fragment, page, shows_refusals
from .boundary import earlier_cut, find
from .masking import masks, text_for
from .opened import Opened, opened
from .report import Lost, lost_details
from .texts import line

NO_DETAILS = "Paths, numbers, ids, commands, errors and constraints are looked for; what was summarised holds none."


@dataclass(frozen=True, slots=True)
class DetailsPage:
    """The exact details that are not found after a compaction: `named` of them, `unnamed` more."""

    fragment: ClassVar[str] = "session/_details.html"
    name: str
    back: str
    heading: str
    explained: str
    named: tuple[Lost, ...]
    unnamed: int


@dataclass(frozen=True, slots=True)
class UpdatePage:
    """What a summary says otherwise than the summary before it."""

    fragment: ClassVar[str] = "session/_update.html"
    name: str
    back: str
    heading: str
    explained: str
    change: blocks.Diff | None


@require_safe
@shows_refusals
def details(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    with open_store(get_store(store)) as reader:
        found = opened(reader, session_id, masking=masks(request))
        noted = losses(reader, found.outline, find(found, handoff_id))
    lost, total, named = lost_details(noted, found.place)
    data = DetailsPage(
        **_top(found, handoff_id),
        heading=f"{lost:,} of {formats.counted(total, 'exact detail')} not found after",
        explained=f"{lost:,} of {total:,} stand neither in the summary nor in a kept message." if total else NO_DETAILS,
        named=named,
        unnamed=lost - len(named),
    )
    return page(request, data.fragment if is_fragment(request) else "session/tab.html", data)


@require_safe
@shows_refusals
def update(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    """What the summary of a later compaction made of the one before it."""
    with open_store(get_store(store)) as reader:
        found = opened(reader, session_id, masking=masks(request))
        earlier = earlier_cut(found.outline, find(found, handoff_id))
        if earlier is None:
            raise NotFound("This is the first summary of the session: there is none before it that it could change.")
        old, new = (text_for(request, _summary(reader, row_id)) for row_id in (earlier.handoff_id, handoff_id))
    data = UpdatePage(
        **_top(found, handoff_id),
        heading="Changes to the summary",
        explained="This summary beside the one before it, line by line.",
        change=_shown(patches.between(old, new)) if old != new else None,
    )
    return page(request, data.fragment if is_fragment(request) else "session/tab.html", data)


def _shown(change: patches.Change) -> blocks.Diff:
    return blocks.Diff(patches.as_html(change.text), change.added, change.removed)


def _top(found: Opened, handoff_id: int) -> dict[str, str]:
    return {"name": line(found.session.name, 120), "back": found.place.boundary(handoff_id)}


def _summary(reader: Reader, handoff_id: int) -> str:
    """Without the rules it carries along: those are the file's words, and no summary changes them."""
    row = reading.read_rows(reader, [handoff_id]).get(handoff_id)
    return without_rules(reading.summary_of(row)) if row is not None else ""
