"""A session as its pages open it: its row, its History, its URLs."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.enforcement.models import Audit
from viewer.history import index_cache
from viewer.pages.redaction import redacted_session
from viewer.stores.base import Session
from viewer.stores.errors import StoreError
from viewer.stores.registry import Reader, get_store, open_store
from viewer.stores.transcript import TranscriptIndex
from viewer.usage import counting
from viewer.web.session_urls import SessionUrls


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that is being read; with `redacting`, without probable secrets in its names.

    `audits` are those of its compactions, newest first, if a page asked for them (`audits.audited`).
    """

    reader: Reader
    session: Session
    index: TranscriptIndex
    urls: SessionUrls
    redacting: bool = False
    audits: tuple[Audit, ...] = ()

    @property
    def window(self) -> int:
        """The context window of its model, in tokens."""
        return counting.context_window(self.session.model, self.session.window)

    def number_of(self, row_id: int) -> int:
        """The number by which people see the message that a row carries: its place in History, counted from 1; 0 for a
        row that History does not show.
        """
        place = self.index.place_of(row_id)
        return 0 if place is None else place + 1


def open_session(reader: Reader, session_id: str, *, redacting: bool = False) -> OpenSession:
    """The session; if it is short, with its tokens counted. Raises NotFound, StoreUnavailable."""
    session = reader.session(session_id)
    index = index_cache.index_of(reader, session)
    if index.context.about:
        index = index_cache.count_few(reader, session, index.live_ids)
    shown = redacted_session(session) if redacting else session
    return OpenSession(reader, shown, index, SessionUrls(reader.store.name, session.id), redacting)


def without_boundary(index: TranscriptIndex, urls: SessionUrls, cut_id: int | None) -> str:
    """Where a reader continues after a boundary was undone: the message after the boundary, or the session if that
    message is not shown any more.
    """
    message_id = None if cut_id is None else index.message_of(cut_id)
    return urls.view() if message_id is None else urls.message(message_id)


def now_without_boundary(urls: SessionUrls, cut_id: int | None) -> str:
    """The same for a session that is not open; the session if it cannot be read."""
    try:
        with open_store(get_store(urls.store)) as reader:
            return without_boundary(index_cache.index_of(reader, reader.session(urls.session)), urls, cut_id)
    except StoreError:
        return urls.view()
