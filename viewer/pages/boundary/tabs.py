"""Two tabs of a boundary: details kept and lost, and changes from the previous summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from viewer.pages.http import is_fragment, page, shows_refusals, start_of
from viewer.pages.parts.boundary import earlier_boundary, find, shown_change, summary_of
from viewer.pages.parts.lost_lists import LISTS, details_page, lost_lists
from viewer.pages.parts.opened import OpenSession, open_session
from viewer.pages.redaction import redacts, text_for
from viewer.rendering import blocks, diffs
from viewer.rendering.texts import line
from viewer.runs.detail_loss import losses
from viewer.stores.errors import NotFound
from viewer.stores.registry import get_store, open_store


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
        found = open_session(reader, session_id, redacting=redacts(request))
        noted = losses(reader, found.session.id, found.index, find(found, handoff_id))
    which, start = request.GET.get("list", ""), start_of(request)
    more = found.place.listed(handoff_id, "details")
    lists = tuple(each for each in lost_lists(noted, found.place, more, start) if not which or each.name == which)
    if which in LISTS and lists and is_fragment(request):
        return page(request, "boundary/_more_lost.html", lists[0])
    data = details_page(noted, lists, **_top(found, handoff_id))
    return page(request, data.fragment if is_fragment(request) else "boundary/tab.html", data)


@require_safe
@shows_refusals
def update(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    """What the summary of a later compaction made of the one before it."""
    with open_store(get_store(store)) as reader:
        found = open_session(reader, session_id, redacting=redacts(request))
        earlier = earlier_boundary(found.index, find(found, handoff_id))
        if earlier is None:
            raise NotFound("This is the first summary of the session, so it changes no earlier one.")
        old, new = (
            text_for(request, summary_of(reader, found.session.id, row_id))
            for row_id in (earlier.handoff_id, handoff_id)
        )
    data = UpdatePage(
        **_top(found, handoff_id),
        heading="Changes to the summary",
        explained="This summary next to the one before it, line by line.",
        change=shown_change(diffs.between(old, new)) if old != new else None,
    )
    return page(request, data.fragment if is_fragment(request) else "boundary/tab.html", data)


def _top(found: OpenSession, handoff_id: int) -> dict[str, str]:
    return {"name": line(found.session.name, 120), "back": found.place.boundary(handoff_id)}
