"""Runs: one run's page, and applying, discarding and cancelling it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh

from viewer.pages.http import asking_path, is_fragment, on_page_of, page, refused, shows_refusals
from viewer.pages.parts.boundary import summary_text
from viewer.pages.parts.run_card import RunCard, mark_of, run_card, ticks
from viewer.pages.redaction import redacts, session_for, text_for
from viewer.rendering.texts import clean
from viewer.runs import drafts, service
from viewer.runs.errors import BadSummary
from viewer.runs.models import OPEN_STATUSES, Run
from viewer.stores.errors import CompactionConflict, StoreError
from viewer.stores.registry import get_store, open_store
from viewer.web.session_urls import SessionUrls

from .candidate import candidate_of, edited


@never_cache
@require_safe
@shows_refusals
def run(request: HttpRequest, run_id: int) -> HttpResponse:
    """A run's page. htmx gets only the card, or if the card has not changed, only the tokens and seconds. When the run
    has ended, its own page is loaded anew, or leads to the session if that was compacted.
    """
    if (
        is_fragment(request)
        and (summary_row := service.get_summary_row(run_id))
        and request.GET.get("mark") == mark_of(summary_row, redacting=redacts(request))
    ):
        return _ticks(request, summary_row)
    run = service.get_run(run_id)
    if is_fragment(request) and _has_ended(request, run):
        if run.status == "applied":
            return HttpResponseClientRedirect(_landing(run))
        return HttpResponseClientRefresh()  # the page has a candidate or a summary now
    card = run_card(run, redacting=redacts(request))
    if is_fragment(request):
        return page(request, "compact/_news.html", replace(card, just_applied=_just_applied(request, run)))
    return page(request, "compact/run.html", _whole(request, run, card))


def _whole(request: HttpRequest, run: Run, card: RunCard) -> dict[str, Any]:
    """The page of a run: with the candidate to review if there is one, else with the summary."""
    text, shown = text_for(request, card.summary), None
    if text and run.status != "ready":
        shown = summary_text(text, "", run.pk, redacting=redacts(request))
    candidate = candidate_of(request, run, card)
    return {"card": card, "session": _session_name(request, run), "candidate": candidate, "summary": shown}


def _ticks(request: HttpRequest, run: Run) -> HttpResponse:
    """Only tokens and seconds: they change in place, and screen readers do not announce them."""
    text = ticks(run)
    if not text:
        return HttpResponse(status=204)
    response = page(request, "compact/_ticks.html", {"id": run.pk, "ticks": text})
    response["HX-Reswap"] = "none"  # of the card: the part is swapped out of band
    return response


def _has_ended(request: HttpRequest, run: Run) -> bool:
    """Whether a run's own page asks for the first time since its run is open no more."""
    was_open = request.GET.get("seen", "") in OPEN_STATUSES and not run.is_open
    return was_open and asking_path(request) == reverse("pages:run", args=[run.pk])


def _landing(run: Run) -> str:
    """Where a form leads: to the session at its new boundary, and to the run's page while there is none."""
    if run.status != "applied" or run.handoff_id is None:
        return reverse("pages:run", args=[run.pk])
    return SessionUrls(run.store, run.new_session_id or run.session_id).boundary(run.handoff_id)


def _just_applied(request: HttpRequest, run: Run) -> bool:
    """Whether the card shows on a session's page for the first time that the session was compacted."""
    news = run.status == "applied" and request.GET.get("seen", "") not in ("", "applied")
    return news and on_page_of(request, SessionUrls(run.store, run.session_id))


def _session_name(request: HttpRequest, run: Run) -> str:
    """The name of a run's session, its id while the store cannot be read."""
    try:
        with open_store(get_store(run.store)) as reader:
            return session_for(request, reader.session(run.session_id)).name
    except StoreError:
        return run.session_id


def changes_run(view: Callable[[HttpRequest, Run], HttpResponse]) -> Callable[[HttpRequest, int], HttpResponse]:
    """The view for POST, with refusals shown; a GET of its address is redirected to the run's page."""

    @require_http_methods(["GET", "HEAD", "POST"])
    @shows_refusals
    @wraps(view)
    def answered(request: HttpRequest, run_id: int) -> HttpResponse:
        run = service.get_run(run_id)
        if request.method != "POST":
            return redirect("pages:run", run_id)
        try:
            return view(request, run)
        except StoreError as refusal:
            return refused(request, refusal, back=_ways(run))

    return answered


def _ways(run: Run) -> list[tuple[str, str]]:
    """Where a refusal leads: address and label of the run, and of its session."""
    session = SessionUrls(run.store, run.new_session_id or run.session_id)
    return [(reverse("pages:run", args=[run.pk]), f"Run {run.pk}"), (session.href, "Its session")]


@changes_run
def apply(request: HttpRequest, run: Run) -> HttpResponse:
    """Write the candidate to the store, with the text as edited in the form."""
    text = request.POST.get("summary")
    sent = None if text is None else text.replace("\r\n", "\n")
    unchanged = sent is not None and sent.strip() == clean(run.summary).strip()
    typed = None if unchanged else sent
    try:
        if sent is not None and run.status == "ready":
            drafts.keep(run, run.summary if unchanged else sent)
        return _answer(request, service.apply(run, typed))
    except CompactionConflict as refusal:
        if is_fragment(request):
            card = run_card(run, redacting=redacts(request))
            return page(
                request, "compact/_conflict.html", replace(card, kept=clean(typed or "")), status=refusal.status
            )
        return refused(request, refusal, clean(typed or ""), _ways(run))
    except StoreError as refusal:
        run.refresh_from_db()
        if run.status == "ready":
            return _refused_edit(request, run, refusal, typed)
        return refused(request, refusal, clean(typed or ""), _ways(run))


def _refused_edit(request: HttpRequest, run: Run, refusal: StoreError, typed: str | None) -> HttpResponse:
    """The candidate again with the text as typed, and above it why it was not applied."""
    card = run_card(run, redacting=redacts(request))
    card = replace(card, refused=refusal.message, typed=None if typed is None else clean(typed))
    if is_fragment(request):
        return page(request, "compact/_news.html", card, status=refusal.status)
    return page(request, "compact/run.html", _whole(request, run, card), status=refusal.status)


@changes_run
def draft(request: HttpRequest, run: Run) -> HttpResponse:
    """Store the text as typed, followed by the lost lines that the form names to `put` in; or `restore` the summary."""
    if "restore" in request.POST:
        drafts.keep(run, run.summary)
        return _answer(request, run)
    text = request.POST.get("summary", run.draft or clean(run.summary)).replace("\r\n", "\n")
    put = request.POST.get("put", "")
    drafts.keep(run, drafts.with_lost(run, text, put) if put else text)
    if is_fragment(request):
        return edited(request, run, put)
    return redirect(f"{reverse('pages:run', args=[run.pk])}#{'report' if put else 'summary'}-title")


@changes_run
def count(request: HttpRequest, run: Run) -> HttpResponse:
    """Take the text as typed for the summary, and count what it loses."""
    text = request.POST.get("summary", run.draft or clean(run.summary)).replace("\r\n", "\n")
    drafts.keep(run, text)
    try:
        service.count_again(run, text)
    except BadSummary as refusal:
        return _refused_edit(request, run, refusal, text)
    if is_fragment(request):
        return _answer(request, run)
    return redirect(f"{reverse('pages:run', args=[run.pk])}#report-title")


@changes_run
def discard(request: HttpRequest, run: Run) -> HttpResponse:
    return _answer(request, service.discard(run))


@changes_run
def redo(request: HttpRequest, run: Run) -> HttpResponse:
    """Apply the run again after it was undone."""
    service.redo_run(run)
    return _answer(request, run)


@changes_run
def cancel(request: HttpRequest, run: Run) -> HttpResponse:
    return _answer(request, service.cancel(run))


def _answer(request: HttpRequest, run: Run) -> HttpResponse:
    if is_fragment(request):
        return page(request, "compact/_news.html", run_card(run, redacting=redacts(request)))
    return redirect(_landing(run))
