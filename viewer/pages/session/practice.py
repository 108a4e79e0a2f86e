"""*Practise on a copy*: copy a session into the demo store and go there."""

from __future__ import annotations

import time
from itertools import count

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from viewer.pages.http import shows_refusals
from viewer.stores.base import Session, Store
from viewer.stores.errors import TitleTaken
from viewer.stores.message import BOOKKEEPING_ROLES, message_of
from viewer.stores.registry import Reader, all_stores, get_store, open_store, writer_of
from viewer.web.session_urls import SessionUrls

NAME = 60  # characters of the original's name that the copy has


@require_POST
@shows_refusals
def practise(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    demo, now = all_stores()[-1], time.time()
    with open_store(get_store(store)) as reader:
        session = reader.session(session_id)
        copy_id = reader.practise(session_id, now=now) or _copy(reader, session, demo, now)
    return redirect(SessionUrls(demo.name, copy_id).href)


def _copy(reader: Reader, session: Session, demo: Store, now: float) -> str:
    """A session of the demo store with the messages that are in context; its id."""
    messages = [
        {**message_of(row), "timestamp": row.timestamp or now}
        for row in reader.live(session.id)
        if row.role not in BOOKKEEPING_ROLES
    ]
    for number in count(1):
        ending = "practice copy" if number == 1 else f"practice copy {number}"
        try:
            return writer_of(demo).create(
                now=now,
                title=f"{session.name[:NAME]} ({ending})",
                source=session.source,
                model=session.model,
                cwd=session.cwd,
                messages=messages,
            )
        except TitleTaken:
            continue
    raise AssertionError("unreachable")
