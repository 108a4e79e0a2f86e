"""What a page of a refusal leads to: which part of its address does not exist, links, the likeliest first, and sessions
that may be meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from django.db import Error as DatabaseProblem
from django.http import HttpRequest
from django.urls import reverse

from viewer.catalog.lines import SessionFilter, page_of_lines
from viewer.catalog.models import name_of
from viewer.pages import redaction
from viewer.rendering import formats
from viewer.rendering.texts import line
from viewer.runs import service
from viewer.stores.base import Store
from viewer.stores.errors import NotFound, StoreError
from viewer.stores.registry import all_stores, get_store, open_store
from viewer.web.session_urls import SessionUrls

PASSING = ("store_unavailable", "own_database_unavailable", "session_busy")  # refusals that may be none a moment later
NEAR = 5  # sessions that are offered

Way = tuple[str, str]  # address and label


def ways_on(request: HttpRequest, refusal: StoreError) -> dict[str, Any]:
    """`missing` is "store", "session", "run" or "part" (of a session that exists), "" for another refusal; `back` is
    address and label of each way on; `near` are sessions that may be meant, `alike` if by their names.
    """
    values = request.resolver_match.kwargs if request.resolver_match else {}
    store, session_id = values.get("store", ""), values.get("session_id", "")
    session = [(SessionUrls(store, session_id).href, "Back to the session")] if session_id else []
    if refusal.code != NotFound.code:
        again = [(request.get_full_path(), "Try again")] if refusal.code in PASSING else []
        stores = [(reverse("pages:stores"), "Stores")] if refusal.code == "store_unavailable" else []
        return {"back": [*session, *stores] if request.method == "POST" else [*again, *stores]}
    missing = _missing(store or request.GET.get("store", ""), session_id, values.get("run_id"))
    if missing != "session":
        return {"missing": missing, "back": _ways(missing, session)}
    listed = f"{reverse('pages:sessions')}?{urlencode({'store': store}, errors='replace')}"
    alike = _sessions(request, [each for each in all_stores() if not each.is_managed or each.name == store], session_id)
    near = alike or _sessions(request, [get_store(store)])
    return {"missing": missing, "back": [(listed, f"Sessions of {store}")], "near": near, "alike": bool(alike)}


def _missing(store: str, session_id: str, run_id: int | None) -> str:
    """The first part of an address that does not exist."""
    try:
        if run_id is not None:
            service.get_run(run_id)
    except NotFound:
        return "run"
    try:
        opened = get_store(store) if store else None
    except NotFound:
        return "store"
    try:
        if opened and session_id:
            with open_store(opened) as reader:
                reader.session(session_id)
    except StoreError:
        return "session"
    return "part" if session_id else ""


def _ways(missing: str, session: list[Way]) -> list[Way]:
    match missing:
        case "store":
            return [(reverse("pages:stores"), "Stores")]
        case "run":
            return [(reverse("pages:compactions"), "Compactions")]
        case _:
            return session


def _sessions(request: HttpRequest, stores: Sequence[Store], words: str = "") -> list[dict[str, Any]]:
    """The newest sessions whose title, id, directory or first request has the words: link, store and time of each."""
    with suppress(StoreError, DatabaseProblem):
        found = page_of_lines(SessionFilter(q=line(words, 200)), stores, NEAR)
        names = {listing.state.pk: listing.store.name for listing in found.listings if listing.state}
        redacting = redaction.redacts(request)
        return [
            {
                "href": SessionUrls(names[row.state_id], row.session_id).href,
                "name": line(redaction.name(name_of(row), redacting), 120),
                "store": names[row.state_id],
                "at": formats.ago(row.last_active),
            }
            for row in found.lines
            if not row.problem
        ]
    return []
