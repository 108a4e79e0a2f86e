"""A compaction as a card to share: what goes out is shown first, exactly as it is saved."""

from __future__ import annotations

from typing import cast
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

from viewer.exports import CONTENT_TYPES, Export, card, download
from viewer.exports.card import Choices
from viewer.exports.page import policy
from viewer.exports.source import ExportOutcome
from viewer.pages.http import page, shows_refusals
from viewer.rendering.texts import line
from viewer.stores.base import redacted_name
from viewer.stores.registry import get_store, open_store
from viewer.web.middleware import framing
from viewer.web.session_urls import SessionUrls


def _choices(query: QueryDict) -> Choices:
    """Only what was chosen is shown: a link without options shows the numbers alone."""
    title = line(query.get("name", ""), card.TITLE_CHARS) if "title" in query else ""
    return Choices(title, model="model" in query, summary="summary" in query)


@require_safe
@shows_refusals
def share(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    """The page with the options, and the card within it; with `as=html`, the card as a file."""
    choices = _choices(request.GET)
    with open_store(get_store(store)) as reader:
        shown_card = card.as_card(reader, session_id, handoff_id, choices)
        name = redacted_name(reader.session(session_id).name)
    if request.GET.get("as") == "html":
        chunks = iter([shown_card.encode("utf-8", "replace")])
        return cast(HttpResponse, download(Export(card.FILE_NAME, CONTENT_TYPES["html"], chunks, ExportOutcome())))
    urls = SessionUrls(store, session_id)
    kept = {key: value for key, value in request.GET.items() if key in ("title", "name", "model", "summary")}
    data = {
        "place": urls, "handoff_id": handoff_id, "address": urls.listed(handoff_id, "share"), "choices": choices,
        "session": name, "title": choices.title or line(name, card.TITLE_CHARS), "query": urlencode(kept),
    }  # fmt: skip
    return framing(request, page(request, "boundary/share.html", data))


@require_safe
@xframe_options_sameorigin
@shows_refusals
def share_card(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    """The card alone, for the frame on the page: the same bytes as the file, and nothing of the site around them."""
    with open_store(get_store(store)) as reader:
        shown_card = card.as_card(reader, session_id, handoff_id, _choices(request.GET))
    response = HttpResponse(shown_card.encode("utf-8", "replace"), content_type=CONTENT_TYPES["html"])
    response["Content-Security-Policy"] = f"{policy(card.CARD)}; frame-ancestors 'self'; sandbox"
    response["Cache-Control"] = "no-store"
    return response
