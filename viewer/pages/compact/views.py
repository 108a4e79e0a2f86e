"""The page of a plan, which is only the compact panel, and starting a run from it."""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from compaction.strategy import named
from viewer.pages.http import asking_path, is_fragment, page, refused, shows_refusals
from viewer.pages.parts.compact_panel import panel, usual_summarizer
from viewer.pages.parts.run_card import run_card
from viewer.pages.redaction import redacts, session_for
from viewer.rendering.texts import line
from viewer.runs import service
from viewer.runs.errors import AlreadyOpen
from viewer.runs.planning import AS_SET, Options
from viewer.runs.providers import PROVIDERS
from viewer.runs.providers.summarizers import OFFLINE
from viewer.stores.base import Store
from viewer.stores.changes import MODES
from viewer.stores.registry import get_store, open_store

FOCUS_LIMIT = 500  # characters


def options_from(query: QueryDict, store: Store) -> Options:
    """The options in the form, without invalid values. A model that is not set up any more is not replaced.

    A strategy that the panel `offered` in place of the store's is not a person's choice. A checkbox sends "1" after the
    "0" of a hidden field, so that a link without either means the default.
    """
    keep = query.get("keep", "")
    summarizer, strategy = query.get("summarizer", ""), query.get("strategy", "")
    return Options(
        strategy=chosen.name if (chosen := named(strategy)) and strategy != query.get("offered") else AS_SET,
        focus=line(query.get("focus", ""), FOCUS_LIMIT),
        keep_last=int(keep) if keep.isascii() and keep.isdigit() and 0 < len(keep) < 7 and int(keep) else None,
        summarizer=summarizer if summarizer in (OFFLINE.name, *PROVIDERS) else usual_summarizer(store),
        mode=mode if (mode := query.get("mode", "")) in MODES else AS_SET,
        carry=query.get("carry") != "0",
    )


@require_http_methods(["GET", "HEAD", "POST"])
@shows_refusals
def plan(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    """The panel alone, planned with the form's options; `confirm` asks the question before *Compact now*.

    The form is sent as POST, which changes nothing here: its token must not be in an address.
    """
    query = request.POST if request.method == "POST" else request.GET
    target_store = get_store(store)
    with open_store(target_store) as reader:
        session = session_for(request, reader.session(session_id))
        data = panel(reader, session, options_from(query, target_store), redacting=redacts(request))
    data = replace(data, confirming="confirm" in query)
    return page(request, "compact/_plan.html" if is_fragment(request) else "compact/plan.html", data)


@require_POST
@shows_refusals
def start(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    """Start a run: a preview, or with `apply` one that is applied directly."""
    target_store = get_store(store)
    options, apply = options_from(request.POST, target_store), request.POST.get("apply") == "1"
    if "without_model" in request.POST:  # after a model has failed: looked at before it counts
        options, apply = replace(options, summarizer=OFFLINE.name), False
    try:
        run = service.start(target_store, session_id, options, apply=apply)
    except AlreadyOpen as refusal:
        if not is_fragment(request):
            return refused(request, refusal, back=[(reverse("pages:run", args=[refusal.run]), f"Run {refusal.run}")])
        card = run_card(service.get_run(refusal.run), redacting=redacts(request))
        return page(request, "compact/_news.html", replace(card, refused=refusal.message), status=refusal.status)
    if not is_fragment(request):
        return redirect("pages:run", run.pk)
    if asking_path(request) == reverse("pages:plan", args=[store, session_id]):
        return HttpResponseClientRedirect(reverse("pages:run", args=[run.pk]))  # no History there to show the result in
    return page(request, "compact/_news.html", run_card(run, redacting=redacts(request)))
