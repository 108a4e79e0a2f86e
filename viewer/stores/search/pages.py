"""The filters of a search in a store's messages and its result pages, and the text that an index is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viewer.stores.message import State

from .passages import PassagePart

SearchOrder = Literal["newest", "best"]

Key = tuple[float, int]  # the rank, lower is better and 0.0 for newest first, and the row's id

# Nothing found as words yet; found as words; found inside words; found inside words without an index.
Stage = Literal["none", "words", "inside", "through"]


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """The filters of a search; empty ones do not count. `project` is the working directory of a session. Times in epoch
    seconds, `until` excluded. `indexed` false reads the rows themselves, whatever indexes there are.
    """

    role: str = ""
    sessions: tuple[str, ...] = ()
    source: str = ""
    project: str = ""
    since: float | None = None
    until: float | None = None
    order: SearchOrder = "newest"
    indexed: bool = True


@dataclass(frozen=True, slots=True)
class PageRequest:
    """At most `limit` hits after the key `after` and the `stage` of an earlier page; `redacting` replaces what looks
    like a secret in their passages; without `passages` hits have none.
    """

    limit: int
    after: Key | None = None
    stage: Stage = "none"
    redacting: bool = False
    passages: bool = True


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader of the results should know: a stable code and a sentence."""

    code: str
    message: str
    is_gap: bool = False  # it names something that cannot be found


INSIDE = Note("inside_words", "Not found as words: these messages hold the text itself, also inside of words.")
NOT_RANKED = Note("not_ranked", "No index ranks these: the newest come first.")
SHORT = Note(
    "too_short",
    "No index finds one or two characters of a script without spaces, or signs alone: messages are looked through one "
    "by one.",
)


def best_of(number: int) -> Note:
    """A note that only so many of the newest matches were ranked."""
    return Note("ranked_newest", f"The best among the newest {number:,} that match.")


@dataclass(frozen=True, slots=True)
class HitSession:
    """The session of a hit; `split` says that a later part continues it, so that nothing of it is in context."""

    id: str
    title: str
    source: str
    split: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """One message found, by the newest row that carries it. `kind` says whether a compaction wrote the matching text; a
    `standalone` summary has its own row.
    """

    id: int
    session: HitSession
    kind: Literal["message", "summary"]
    standalone: bool
    role: str
    time: float
    state: State
    passage: tuple[PassagePart, ...]
    key: Key


@dataclass(frozen=True, slots=True)
class HitPage:
    """One page of hits. `next` is the key of the next page, None at the end. `stopped` says that the page ended at its
    limits and not because it was full; `looked` counts the rows that were read, `scanned` says that no index was used.
    `stage` is that of the next page.
    """

    hits: tuple[Hit, ...]
    next: Key | None
    stopped: bool
    looked: int
    scanned: bool
    notes: tuple[Note, ...] = ()
    stage: Stage = "none"


# -- for an index that is kept outside of the store --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SearchableMessage:
    """What one message says, including calls and summaries; time in epoch seconds, 0.0 for unknown."""

    id: int
    role: str
    time: float
    text: str


@dataclass(frozen=True, slots=True)
class SearchableText:
    """Some messages of a session in order. The next call is at `cursor`: now if there is `more`, in a minute if the
    store `waits` for the end of a message, else once something was said.
    """

    messages: tuple[SearchableMessage, ...]
    cursor: str
    more: bool
    waits: bool = False
