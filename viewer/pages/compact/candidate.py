"""The page of a candidate: the messages that go, the summary as it is edited, and the messages that stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from compaction.handoff import without_rules
from viewer.pages.http import is_fragment, on_page_of, page, shows_refusals, start_of, tab
from viewer.pages.parts.audits import newest_boundary
from viewer.pages.parts.boundary import LISTED, ListedMessages, listed_messages, shown_change, summary_of
from viewer.pages.parts.losses import shown_lost
from viewer.pages.parts.opened import OpenSession, open_session
from viewer.pages.parts.run_card import RunCard, run_card
from viewer.pages.redaction import redacts, text_for
from viewer.rendering import blocks, diffs, formats, markdown
from viewer.runs import drafts, service
from viewer.runs.detail_loss import lost_detail
from viewer.runs.models import Run
from viewer.runs.planning import strategy_of
from viewer.stores.errors import StoreError
from viewer.stores.registry import get_store, open_store

FIRST = 50  # messages of a column
GOES = "The summary will replace these. They stay in the store, in History and in search."
STAYS = "These stay in context as they are."


@dataclass(frozen=True, slots=True)
class PutIn:
    """A line that was put into a summary; `fresh`: it was so by this request."""

    html: SafeString
    fresh: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate with its session's messages. `html` is the current text; if lines were put into it, only to where
    these begin, and `rest` is what follows them. `change` is the text's difference from the summary before it, None if
    there is none or nothing changed.
    """

    card: RunCard
    goes: ListedMessages
    stays: ListedMessages
    html: SafeString
    put_in: tuple[PutIn, ...]
    rest: SafeString
    change: blocks.Diff | None


def candidate_of(request: HttpRequest, run: Run, card: RunCard, put: Sequence[str] = ()) -> Candidate | None:
    """The candidate for its page, where the lines of these names were just `put` into it; None if the run has no
    summary to review, or its store cannot be read.
    """
    if run.status != "ready" or not strategy_of(run.strategy).asks_model:
        return None
    try:
        with open_store(get_store(run.store)) as reader:
            opened = open_session(reader, run.session_id, redacting=redacts(request))
            before = _summary_before(opened)
            goes, stays = (_column(opened, run, which) for which in ("goes", "stays"))
    except StoreError:
        return None
    new = text_for(request, without_rules(card.text))
    old = text_for(request, before)
    start, put_lines, rest = drafts.parted(run.report, new)
    fresh = {f"- {drafts.line_of(run.report, name)}" for name in put}
    return Candidate(
        card=replace(card, in_panel=on_page_of(request, opened.urls)),
        goes=goes,
        stays=stays,
        html=markdown.markdown(start),
        put_in=tuple(PutIn(markdown.markdown(each), each in fresh) for each in put_lines),
        rest=markdown.markdown(rest),
        change=shown_change(diffs.between(old, new)) if old and old != new else None,
    )


def _summary_before(opened: OpenSession) -> str:
    boundary = newest_boundary(opened.index)
    return summary_of(opened.reader, opened.session.id, boundary.handoff_id) if boundary else ""


def _ids(run: Run, which: str) -> list[int]:
    parts = ("middle",) if which == "goes" else ("head", "tail")
    return [message_id for part in parts for message_id in run.plan.get(part, ())]


def _column(opened: OpenSession, run: Run, which: str, start: int = 0, most: int = FIRST) -> ListedMessages:
    href, explained = reverse(f"pages:{which}", args=[run.pk]), GOES if which == "goes" else STAYS
    return listed_messages(opened, _ids(run, which), href, explained, start=start, most=most)


@require_safe
@shows_refusals
def goes(request: HttpRequest, run_id: int) -> HttpResponse:
    """All messages that the summary will replace."""
    return _list(request, run_id, "goes")


@require_safe
@shows_refusals
def stays(request: HttpRequest, run_id: int) -> HttpResponse:
    """All messages that stay in context."""
    return _list(request, run_id, "stays")


def _list(request: HttpRequest, run_id: int, which: str) -> HttpResponse:
    run = service.get_run(run_id)
    with open_store(get_store(run.store)) as reader:
        opened = open_session(reader, run.session_id, redacting=redacts(request))
        column = _column(opened, run, which, start_of(request), LISTED)
    if is_fragment(request):
        return page(request, "boundary/_more_listed.html", column)
    heading = f"{formats.counted(column.total, 'message')} {'to be summarised' if which == 'goes' else 'that stay'}"
    back = reverse("pages:run", args=[run.pk])
    return tab(request, "boundary/_list.html", column, name=opened.session.name, back=back, heading=heading)


def edited(request: HttpRequest, run: Run, put: str) -> HttpResponse:
    """The parts of the page that a draft changes; with the names of lines that were `put` in, also the text itself."""
    names = [name for name in put.split() if lost_detail(run.report, name)]
    shown = candidate_of(request, run, run_card(run, redacting=redacts(request)), names)
    if shown is None:
        return HttpResponse(status=204)
    if not names:
        return page(request, "compact/_edited_now.html", shown)
    first = shown_lost(run.report, names[:1], shown.card.place, names)[0]
    losses = shown.card.report.losses
    others = len(names) > 1 or bool(
        losses and names[0] not in (one.name for row in losses.few for one in (row, *row.like))
    )
    return page(request, "compact/_after_put.html", {"put": first, "others": others, "shown": shown})
