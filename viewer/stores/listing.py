"""What lists of sessions ask a store: what is new in it, and the facts of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .base import Session, Store


@dataclass(frozen=True, slots=True)
class RowsDigest:
    """A session's own rows (without those of earlier parts): how many, how many live, the newest id; `digest` differs
    when another set of rows, by ids and times, exists or is live. It does not notice texts that were changed in place.
    """

    rows: int
    live: int
    newest: int
    digest: str


NOTHING = RowsDigest(0, 0, 0, "")


HIGHEST = 2**63 - 1  # no session has a higher number

LONGEST_ID = 2_000  # bytes; PostgreSQL, which may hold the catalog, allows 2,704 for a whole row in an index
LONGEST_PATH = 600  # bytes of a directory, which is in an index together with an id; and half as many characters


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """One session. Times in epoch seconds; `row` is its number in the store; `continued` says that the agent ended it
    to continue in another session; `base_title` and `part_number` are what its title says about its part of a
    conversation (the whole title and 1 where it says nothing); `forked_from` are the sessions that its own
    configuration names as its origin, which it therefore does not continue; `window` is the context window that the
    agent's own data gives for the model, 0 for unknown.
    """

    id: str
    row: int
    source: str
    model: str
    title: str
    base_title: str
    parent: str
    started_at: float
    cwd: str
    branched_from: str
    delegated: bool
    forked_from: tuple[str, ...]
    mark: RowsDigest
    part_number: int = 1
    ended_at: float | None = None
    continued: bool = False
    git_branch: str = ""
    archived: bool = False
    pinned: bool = False
    window: int = 0


def session_of(
    store: Store, facts: SessionFacts, first_words: str, last_active: float, is_open: bool | None = None
) -> Session:
    """The session with these facts, where it is no part of a longer conversation."""
    return Session(
        store=store.name,
        id=facts.id,
        source=facts.source,
        model=facts.model,
        title=facts.title,
        first_words=first_words,
        parent=facts.parent,
        started_at=facts.started_at,
        last_active=last_active,
        ended_at=facts.ended_at,
        end_reason="",
        archived=facts.archived,
        cwd=facts.cwd,
        parts=1,
        branched_from=facts.branched_from,
        delegated_from=facts.parent if facts.delegated else "",
        git_branch=facts.git_branch,
        is_open=is_open,
        window=facts.window,
    )


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

    def facts(self, ids: Sequence[str]) -> dict[str, SessionFacts]:
        """The facts of those of these sessions that exist."""

    def activity(self, facts: SessionFacts, before: str | None) -> Activity:
        """What lists show of a session's messages; `before` is an earlier digest of them, None for none."""
