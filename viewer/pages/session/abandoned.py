"""Abandoned branches of a session: somebody went back, and continued from an earlier message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from viewer.pages.http import page, shows_refusals
from viewer.pages.parts.opened import OpenSession, open_session
from viewer.pages.redaction import redacted, redacts
from viewer.stores.message import AbandonedBranch
from viewer.stores.registry import get_store, open_store
from viewer.usage import counting
from viewer.web.session_urls import SessionUrls

from .header import header
from .messages import MessageContext, MessageToShow, ShownMessage, shown_messages

MOST = 200  # messages that are shown, of all branches together


class AbandonedUrls(SessionUrls):
    """A session whose messages are shown here, because they are not in History."""

    def message(self, row_id: int, words: str = "") -> str:
        return f"{self.view('abandoned')}#m{row_id}"


@require_safe
@shows_refusals
def abandoned(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    with open_store(get_store(store)) as reader:
        opened = open_session(reader, session_id, redacting=redacts(request))
        branches = list(_branches(opened, reader.abandoned(session_id)))
        data = {"header": header(opened, "abandoned"), "branches": branches}
    return page(request, "session/abandoned.html", data)


def _branches(opened: OpenSession, branches: Sequence[AbandonedBranch]) -> Iterator[dict[str, Any]]:
    """Each branch with its messages, the message before it, None for none, and how many are not shown."""
    room = MOST
    for branch in branches:
        ids = branch.ids[:room]
        room -= len(ids)
        yield {
            "branch": branch,
            "behind": None if branch.after is None else opened.index.message_of(branch.after),
            "messages": _messages(opened, ids),
            "more": len(branch.ids) - len(ids),
        }


def _messages(opened: OpenSession, ids: Sequence[int]) -> list[ShownMessage]:
    rows = opened.reader.messages(opened.session.id, ids)
    read = [redacted(rows[each]) if opened.redacting else rows[each] for each in ids if each in rows]
    urls, count = AbandonedUrls(opened.urls.store, opened.urls.session), counting.counter_for(opened.session.model)
    context = MessageContext(urls, count, cwd=opened.session.cwd)
    return shown_messages([MessageToShow(row.id, row, "live") for row in read], context)
