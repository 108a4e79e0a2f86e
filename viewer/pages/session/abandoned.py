"""Branches of a session that were left: somebody went back, and on from an earlier message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from viewer.pages.http import page, shows_refusals
from viewer.pages.parts.opened import OpenSession, open_session
from viewer.pages.redaction import redacted, redacts
from viewer.rendering import formats
from viewer.stores import counting
from viewer.stores.message import AbandonedBranch
from viewer.stores.registry import get_store, open_store
from viewer.web.session_urls import SessionUrls

from .header import Header, header
from .messages import MessageContext, MessageToShow, ShownMessage, shown_messages

MOST = 200  # messages that are shown, of all branches together


class AbandonedPlace(SessionUrls):
    """A session whose messages are looked at here: History has no place for them."""

    def message(self, row_id: int, words: str = "") -> str:
        return f"{self.view('abandoned')}#m{row_id}"


@dataclass(frozen=True, slots=True)
class ShownBranch:
    """One branch: `mark` is its id on the page, `behind` the address of the message it hangs on, "" for none; `more`
    says how many of its messages are not shown.
    """

    mark: str
    size: str
    left: SafeString
    behind: str
    messages: tuple[ShownMessage, ...]
    more: str


@dataclass(frozen=True, slots=True)
class AbandonedPage:
    header: Header
    branches: tuple[ShownBranch, ...]


@require_safe
@shows_refusals
def abandoned(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    with open_store(get_store(store)) as reader:
        found = open_session(reader, session_id, redacting=redacts(request))
        data = AbandonedPage(header(found, "abandoned"), tuple(_branches(found, reader.abandoned(session_id))))
    return page(request, "session/abandoned.html", data)


def _branches(found: OpenSession, left: Sequence[AbandonedBranch]) -> Iterator[ShownBranch]:
    room = MOST
    for number, branch in enumerate(left):
        ids = branch.ids[:room]
        room -= len(ids)
        behind = None if branch.after is None else found.index.message_of(branch.after)
        yield ShownBranch(
            mark=f"left{number}",
            size=formats.counted(len(branch.ids), "message"),
            left=formats.moment(branch.time),
            behind="" if behind is None else found.place.message(behind),
            messages=tuple(_messages(found, ids)),
            more=formats.counted(len(branch.ids) - len(ids), "more message") if len(ids) < len(branch.ids) else "",
        )


def _messages(found: OpenSession, ids: Sequence[int]) -> list[ShownMessage]:
    rows = found.reader.messages(found.session.id, ids)
    read = [redacted(rows[each]) if found.redacting else rows[each] for each in ids if each in rows]
    told = MessageContext(
        AbandonedPlace(found.place.store, found.place.session), counting.counter_for(found.session.model)
    )
    return shown_messages([MessageToShow(row.id, row, "live") for row in read], told)
