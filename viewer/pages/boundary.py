"""A boundary on the page: what one compaction did, its handoff, the messages it summarised and kept, and undoing it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from viewer.runs.ours import known_blocks
from viewer.store.alignment import LightRow
from viewer.store.errors import NotFound
from viewer.store.history import Boundary, History, build
from viewer.store.light import light_rows
from viewer.store.reading import Handoff
from viewer.store.sessions import get_session
from viewer.store.stores import get_store, open_store

from . import formats, markup
from .addresses import Place
from .answers import is_fragment, page, shows_refusals
from .messages import who
from .texts import clean, line

CLAMP, CLAMP_LINES = 900, 16  # a handoff longer than this is clamped until "Show all"
FIRST_WORDS = 160
KEPT = "These stayed in context when this compaction was made."
LATER_FIRST = "Undo the later one first."
COVERED = "A later compaction stands on top of this one."
SUMMARISED = "The summary stands for these. They stay in the database, in History and in search."


@dataclass(frozen=True, slots=True)
class Summary:
    """The handoff of a compaction as text: never shown as somebody's words."""

    html: SafeString
    long: bool
    size: str
    directive: str
    directive_size: str


@dataclass(frozen=True, slots=True)
class ShownBoundary:
    """One compaction, or an `inherited` handoff that the session began with.

    `undo` is the address that says what undoing would do, "" with the reason in `no_undo`.
    """

    template: ClassVar[str] = "session/_boundary.html"
    id: int
    href: str
    inherited: bool
    by: str
    run: str
    time: SafeString
    messages_before: str
    messages_after: str
    tokens_before: SafeString
    tokens_after: SafeString
    summary: Summary
    summarised: str
    kept: str
    shortened: int
    summarised_href: str
    kept_href: str
    undo: str
    no_undo: str
    branch: str
    marked: bool


@dataclass(frozen=True, slots=True)
class Compacted:
    """What is known of a session's compactions beside its rows.

    Tokens by row, the newest compaction and why it cannot be undone ("" when it can).
    """

    weights: dict[int, int]
    newest: int
    no_undo: str


def shown_boundary(handoff: Handoff, place: Place, known: Compacted, marked: int | None) -> ShownBoundary:
    """A boundary as the page shows it."""
    boundary = handoff.boundary
    older = COVERED if known.no_undo else LATER_FIRST
    no_undo = known.no_undo if boundary.handoff_id == known.newest else older
    return ShownBoundary(
        id=boundary.handoff_id,
        href=place.boundary(boundary.handoff_id),
        inherited=boundary.inherited,
        by="by you, here" if boundary.run else "by Hermes",
        run=f"/runs/{boundary.run}" if boundary.run else "",
        time=formats.moment(boundary.time),
        messages_before=formats.exact(boundary.messages_before),
        messages_after=formats.exact(boundary.messages_after),
        tokens_before=_tokens(known, boundary.before_ids),
        tokens_after=_tokens(known, boundary.block_ids),
        summary=summary_text(handoff.summary, handoff.directive),
        summarised=formats.exact(len(boundary.summarised_ids)),
        kept=formats.exact(len(boundary.kept_ids)),
        shortened=len(boundary.shortened_ids),
        summarised_href=place.listed(boundary.handoff_id, "summarised"),
        kept_href=place.listed(boundary.handoff_id, "kept"),
        undo="" if no_undo else place.listed(boundary.handoff_id, "undo"),
        no_undo=no_undo,
        branch=place.listed(boundary.handoff_id, "branch"),
        marked=boundary.handoff_id == marked,
    )


def summary_text(text: str, directive: str) -> Summary:
    """A handoff's body as Markdown, its instructions to the model beside it."""
    text, directive = text.strip(), directive.strip()
    return Summary(
        html=markup.markdown(text),
        long=len(text) > CLAMP or text.count("\n") > CLAMP_LINES,
        size=formats.counted(len(text), "character"),
        directive=clean(directive),
        directive_size=formats.counted(len(directive), "character"),
    )


def _tokens(known: Compacted, ids: Iterable[int]) -> SafeString:
    return formats.number(sum(known.weights.get(row_id, 0) for row_id in ids), "tokens")


# -- the lists behind the tabs ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Listed:
    """One message in a list: its first words, leading to it."""

    id: int
    href: str
    who: str
    words: str
    shortened: bool


@dataclass(frozen=True, slots=True)
class ListPage:
    """The messages that a compaction summarised or kept."""

    name: str
    back: str
    heading: str
    explained: str
    items: tuple[Listed, ...]


@require_safe
@shows_refusals
def summarised(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    return _list(request, Place(store, session_id), handoff_id, kept=False)


@require_safe
@shows_refusals
def kept(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    return _list(request, Place(store, session_id), handoff_id, kept=True)


def _list(request: HttpRequest, place: Place, handoff_id: int, *, kept: bool) -> HttpResponse:
    with open_store(get_store(place.store)) as reader:
        name = get_session(reader, place.session).name
        rows = light_rows(reader, place.session)
        history = build(rows, known_blocks(reader, place.session))
    found = find(history, handoff_id)
    ids = found.kept_ids if kept else found.summarised_ids
    data = ListPage(
        name=line(name, 120),
        back=place.boundary(handoff_id),
        heading=f"{formats.counted(len(ids), 'message')} {'kept' if kept else 'summarised away'}",
        explained=KEPT if kept else SUMMARISED,
        items=tuple(_listed(ids, {row.id: row for row in rows}, set(found.shortened_ids) if kept else set(), place)),
    )
    return page(request, "session/_list.html" if is_fragment(request) else "session/list.html", data)


def find(history: History, handoff_id: int) -> Boundary:
    """The boundary of this handoff. Raises NotFound."""
    for boundary in history.boundaries:
        if boundary.handoff_id == handoff_id:
            return boundary
    raise NotFound(f"Message {handoff_id} is not the handoff of a compaction of this session.")


def _listed(ids: Sequence[int], rows: dict[int, LightRow], shortened: set[int], place: Place) -> Iterable[Listed]:
    for message_id in ids:
        row = rows[message_id]
        words = line(row.text, FIRST_WORDS) or ("calls a tool" if row.calls else "no text")
        yield Listed(message_id, place.message(message_id), who(row.role), words, message_id in shortened)
