"""Putting many sessions into the archive, or taking them out: the agent's own flag; nothing is deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from viewer.catalog import lines, sync
from viewer.pages.http import is_fragment, page, shows_refusals
from viewer.pages.redaction import redacts
from viewer.rendering import formats
from viewer.rendering.texts import line
from viewer.stores.errors import StoreError
from viewer.stores.registry import get_store, writer_of
from viewer.web.url_segments import segment

from .chosen import chosen
from .lines import named


@dataclass(frozen=True, slots=True)
class NotArchived:
    """Sessions that stay as they were, and the reason they share."""

    reason: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArchivePage:
    """What was done: `keys` are the sessions that changed, `marks` their lines on the page, `undo` the opposite value.
    `back` is the query of the list.
    """

    archived: bool
    done: str
    keys: tuple[str, ...]
    marks: tuple[str, ...]
    refused: tuple[NotArchived, ...]
    undo: str
    back: str


@require_POST
@shows_refusals
def archive(request: HttpRequest) -> HttpResponse:
    keys, archived = chosen(request), request.POST.get("archived") != "no"
    data = _archived(keys, archived, _query(request.POST.get("back", "")), redacting=redacts(request))
    if "unlisted" in request.POST:  # asked for from the receipt: their lines have left the page already
        data = replace(data, marks=())
    return page(request, "sessions/_archived.html" if is_fragment(request) else "sessions/archived.html", data)


def _query(back: str) -> str:
    """By which the list was narrowed; never a place elsewhere."""
    return back if back.startswith("?") else ""


def _archived(keys: Sequence[tuple[str, str]], archived: bool, back: str, *, redacting: bool) -> ArchivePage:
    by_store: dict[str, list[str]] = {}
    for store, session_id in keys:
        by_store.setdefault(store, []).append(session_id)
    done: list[str] = []
    marks: list[str] = []
    refused: list[NotArchived] = []
    for store, ids in by_store.items():
        changed, reasons, shown = _of_store(store, ids, archived, redacting=redacting)
        done += [f"{segment(store)}/{segment(session_id)}" for session_id in changed]
        marks += shown
        refused += reasons
    return ArchivePage(
        archived=archived,
        done=formats.counted(len(done), "session"),
        keys=tuple(done),
        marks=tuple(marks),
        refused=tuple(refused),
        undo="no" if archived else "yes",
        back=back,
    )


def _of_store(
    name: str, ids: Sequence[str], archived: bool, *, redacting: bool
) -> tuple[list[str], list[NotArchived], list[str]]:
    """The sessions of one store that were changed, those that were not, and the lines of the changed."""
    try:
        store = get_store(name)
        known = {each.session_id: each for each in lines.of_sessions(store, ids)}
    except StoreError as problem:
        return [], [NotArchived(problem.message, tuple(line(each, 80) for each in ids))], []
    names = named(list(known.values()), redacting=redacting)
    changed: list[str] = []
    reasons: dict[str, list[str]] = {}
    for session_id in ids:
        try:
            writer_of(store).set_archived(session_id, archived)
            changed.append(session_id)
        except StoreError as problem:
            reasons.setdefault(problem.message, []).append(names.get(session_id) or line(session_id, 80))
    sync.bring(store, ids)
    marks = [f"l{known[session_id].pk}" for session_id in changed if session_id in known]
    return changed, [NotArchived(reason, tuple(each)) for reason, each in reasons.items()], marks
