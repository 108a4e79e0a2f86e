"""Runs: one run's card (on the session page and alone), applying, discarding, cancelling, and the list of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from zlib import crc32

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST, require_safe

from viewer.runs import life
from viewer.runs.models import Run
from viewer.runs.planning import STRATEGIES
from viewer.runs.summarizers import KINDS, OFFLINE
from viewer.store.errors import StoreError
from viewer.store.sessions import get_session
from viewer.store.stores import get_store, open_store

from . import formats
from .addresses import Place
from .answers import is_fragment, on_page_of, page, refused, shows_refusals
from .texts import clean, line

# What a status is called on pages. Progress sentences come from the run itself.
STATUS = {
    "queued": "Waiting for a worker", "planning": "Planning", "summarizing": "Summarising",
    "ready": "Ready for you to look at", "waiting": "Waiting to be written", "applying": "Writing",
    "applied": "Compacted", "undone": "Undone", "discarded": "Discarded",
    "cancelled": "Cancelled", "failed": "Failed", "conflict": "Conflict",
}  # fmt: skip
STEPS = ("queued", "planning", "summarizing", "waiting", "applying")
SUMMARY_LIMIT = 400_000  # characters taken from the form
LOST_SHOWN, LOST_LENGTH = 100, 160  # details that were lost: how many are named, characters of one
SHOWN_FOR = timedelta(days=1)
QUIET_SECONDS = 120  # without a heartbeat before the card says that no worker seems to be there


@dataclass(frozen=True, slots=True)
class Lost:
    """An exact detail that is not found after the compaction, with a link to the message it stood in."""

    kind: str
    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a summary replaces: messages summarised and kept, earlier summaries folded in, what else was done.

    `masks`: there is no summary, and nothing is summarised. `lost` of `details` exact things stand neither in the
    summary nor in a kept message.
    """

    kept: str
    shortened: int
    summarised: str
    masks: bool
    folded: int
    remarks: tuple[str, ...]
    details: int
    lost: int
    named: tuple[Lost, ...]

    @property
    def unnamed(self) -> int:
        """Lost details that the page does not name."""
        return self.lost - len(self.named)


@dataclass(frozen=True, slots=True)
class RunCard:
    """A run as both its page and the session page show it."""

    id: int
    href: str
    place: Place
    status: str
    label: str
    sentence: str
    open: bool
    cancellable: bool
    step: int
    steps: int
    messages_before: str
    messages_after: str
    tokens_before: SafeString
    tokens_after: SafeString
    summary: str
    report: Report
    error: str
    stalled: bool
    boundary: str
    handoff_id: int | None
    pick_up: str
    picked_up: SafeString
    facts: tuple[tuple[str, str | SafeString], ...]
    just_applied: bool = False

    @property
    def mark(self) -> str:
        """Changes when the card has something new to say."""
        told = (self.status, self.sentence, self.stalled, self.pick_up, self.picked_up)
        return f"{crc32(repr(told).encode()):08x}"

    @property
    def poll(self) -> str:
        """The address that says how it goes. It answers only what is new: the card stands in a live region."""
        return f"{self.href}?seen={self.status}&mark={self.mark}"


def run_card(run: Run) -> RunCard:
    """The card's data."""
    place = Place(run.store, run.session_id)
    waiting, picked_up = _pick_up(run)
    return RunCard(
        id=run.pk,
        href=reverse("pages:run", args=[run.pk]),
        place=place,
        status=run.status,
        label=STATUS.get(run.status, run.status),
        sentence=clean(str(run.progress.get("sentence", ""))),
        open=run.is_open,
        cancellable=run.status in life.CANCELLABLE,
        step=STEPS.index(run.status) if run.status in STEPS else 0,
        steps=len(STEPS),
        messages_before=formats.exact(run.messages_before or 0),
        messages_after=formats.exact(run.messages_after or 0),
        tokens_before=formats.number(run.tokens_before or 0, "tokens"),
        tokens_after=formats.number(run.tokens_after or 0, "tokens"),
        summary=clean(run.summary),
        report=_report(run, place),
        error=clean(run.error_message),
        stalled=run.is_open and (timezone.now() - run.heartbeat_at).total_seconds() > QUIET_SECONDS,
        boundary=place.boundary(run.handoff_id) if run.handoff_id else "",
        handoff_id=run.handoff_id,
        pick_up=waiting,
        picked_up=picked_up,
        facts=_facts(run),
    )


def _report(run: Run, place: Place) -> Report:
    found = run.report or {}
    counts = found.get("anchors", {}).values()
    return Report(
        masks=run.strategy == "mask",
        kept=formats.exact(len(found.get("kept", ()))),
        shortened=len(found.get("shortened", ())),
        summarised=formats.exact(len(run.plan.get("middle", ()))),
        folded=len(run.plan.get("lifted", ())),
        remarks=tuple(clean(str(remark)) for remark in (*found.get("repairs", ()), *found.get("notes", ()))),
        details=sum(total for _, total in counts),
        lost=sum(total - still for still, total in counts),
        named=_lost(found.get("lost", ()), place),
    )


def _lost(found: Sequence[Any], place: Place) -> tuple[Lost, ...]:
    """What was said or reported first, then names; each the newest first."""
    newest = list(reversed(found))
    order = sorted(newest, key=lambda one: one["kind"] not in ("constraint", "error", "command"))
    return tuple(
        Lost(one["kind"], line(one["text"], LOST_LENGTH), place.message(one["message"]) if one["message"] else "")
        for one in order[:LOST_SHOWN]
    )


def _pick_up(run: Run) -> tuple[str, SafeString]:
    """What is known of the agent since the commit: a sentence, and when it went on ("" while it has not)."""
    if run.status != "applied":
        return "", SafeString()
    try:
        with open_store(get_store(run.store)) as reader:
            found = life.pick_up(run, reader)
    except StoreError as problem:
        return problem.message, SafeString()
    return found.sentence, formats.moment(found.noticed_at) if found.noticed_at else SafeString()


def _facts(run: Run) -> tuple[tuple[str, str | SafeString], ...]:
    facts: list[tuple[str, str | SafeString]] = [
        ("How", STRATEGIES.get(run.strategy, run.strategy)),
        ("Started", formats.clock(run.created_at)),
    ]
    if run.strategy == "summary":
        facts.insert(1, ("Summary by", clean(_summarised_by(run))))
    if run.focus:
        facts.append(("Focus", clean(run.focus)))
    if run.keep_last:
        facts.append(("Keep", f"at least the last {run.keep_last}"))
    if run.finished_at:
        facts.append(("Took", formats.seconds((run.finished_at - run.created_at).total_seconds())))
    return tuple(facts)


def _summarised_by(run: Run) -> str:
    if run.summarizer == OFFLINE.name:
        return OFFLINE.label
    kind = KINDS.get(run.summarizer)
    label = kind.label if kind else run.summarizer
    return f"{run.model} ({label})" if run.model else label


def matters(run: Run) -> bool:
    """Whether the session's page still has to show a run: while something is to be done, and a day after it ended."""
    if run.is_open or run.status == "ready":
        return True
    ended = run.finished_at or run.created_at
    return run.status in ("applied", "failed", "conflict") and timezone.now() - ended < SHOWN_FOR


# -- the pages -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunPage:
    """One run; `session` is its session's name."""

    card: RunCard
    session: str


@require_safe
@shows_refusals
def run(request: HttpRequest, run_id: int) -> HttpResponse:
    """A run's page; for htmx its card alone."""
    found = life.get_run(run_id)
    card = run_card(found)
    if is_fragment(request):
        if request.GET.get("mark") == card.mark:
            return HttpResponse(status=204)
        return page(request, "runs/_card.html", replace(card, just_applied=_just_applied(request, card)))
    return page(request, "runs/run.html", RunPage(card, session_name(found)))


def _just_applied(request: HttpRequest, card: RunCard) -> bool:
    """Whether the card tells a session's page for the first time that the session was compacted."""
    news = card.status == "applied" and request.GET.get("seen", "") not in ("", "applied")
    return news and on_page_of(request, card.place)


def session_name(run: Run) -> str:
    """The name of a run's session, its id while the store cannot be read."""
    try:
        with open_store(get_store(run.store)) as reader:
            return line(get_session(reader, run.session_id).name, 120)
    except StoreError:
        return line(run.session_id, 120)


@require_POST
@shows_refusals
def apply(request: HttpRequest, run_id: int) -> HttpResponse:
    """Have the candidate written, with the text as edited in the form."""
    found = life.get_run(run_id)
    text = request.POST.get("summary")
    edited = None if text is None else text[:SUMMARY_LIMIT].replace("\r\n", "\n")
    unchanged = edited is not None and edited.strip() == clean(found.summary).strip()
    typed = None if unchanged else edited
    try:
        return _answer(request, life.apply(found, typed))
    except StoreError as refusal:
        return refused(request, refusal, clean(typed or ""))


@require_POST
@shows_refusals
def discard(request: HttpRequest, run_id: int) -> HttpResponse:
    return _answer(request, life.discard(life.get_run(run_id)))


@require_POST
@shows_refusals
def cancel(request: HttpRequest, run_id: int) -> HttpResponse:
    return _answer(request, life.cancel(life.get_run(run_id)))


def _answer(request: HttpRequest, run: Run) -> HttpResponse:
    if is_fragment(request):
        return page(request, "runs/_card.html", run_card(run))
    return redirect("pages:run", run.pk)
