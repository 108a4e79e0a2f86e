"""What lists of sessions ask a store: what is new in it, and what one is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .base import Session

HIGHEST = 2**63 - 1  # no session has a higher number

LONGEST_ID = 2_000  # bytes; PostgreSQL, which may hold the catalog, allows 2,704 for a whole row in an index
LONGEST_PATH = 600  # bytes of a directory, which is in an index together with an id; and half as many characters


@dataclass(frozen=True, slots=True)
class Changes:
    """Sessions that changed since a cursor: first those with new messages, the newest first, then new ones. `cursor` is
    how far this was read, and `more` says that there is more behind it.
    """

    ids: Sequence[str]
    cursor: str
    more: bool = False


@dataclass(frozen=True, slots=True)
class Activity:
    """What lists show of a session's messages: the time of the newest, 0.0 for none, and the beginning of the first
    request, "" for none. `was_compacted`: messages were summarised away; `appended` were added in context since an
    earlier digest, None where anything else changed since, or that is unknown.
    """

    last_active: float
    first_words: str
    was_compacted: bool = False
    appended: int | None = None


def path_start(path: str) -> str:
    """What lists know of a working directory: all of it, or the beginning of a very long one."""
    return path[: LONGEST_PATH // 2].encode()[:LONGEST_PATH].decode(errors="ignore")


def is_askable(session_id: Any) -> bool:
    """Whether every store and our own database accept this id in a query."""
    return isinstance(session_id, str) and len(session_id.encode()) <= LONGEST_ID and "\0" not in session_id


class Listing(Protocol):
    """How a store says what is new in it, without reading all of it.

    Sessions have numbers that grow. A number may be used again for another session once its session is gone.
    """

    def changed(self, cursor: str, messages: int, sessions: int) -> Changes | None:
        """What changed since this cursor of an earlier answer, by at most so many messages and so many new sessions; at
        "" the sessions of the newest messages. None where the store contains another database now.
        """

    def page(self, number: int, limit: int) -> list[tuple[int, str | None]]:
        """(number, id) of the next sessions from this number on, downwards; None for an id that cannot be used in a
        query (`is_askable`).
        """

    def sessions(self, ids: Sequence[str]) -> dict[str, Session]:
        """Those of these sessions that exist, without what needs messages to be read."""

    def activity(self, session: Session, before: str | None) -> Activity:
        """What lists show of a session's messages; `before` is an earlier digest of them, None for none."""
