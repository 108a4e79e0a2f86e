"""The indexes of sessions' Histories, kept in our own database and, the newest ones, in this process.

An index is shown only while its *mark* holds: the rows of all parts of the conversation and their states, the file,
and what our own runs know of them. While nothing is written (`registry.session_version`) the rows' part of the mark is
not even read. Rows that were appended extend the index; anything else makes it anew. What is kept may be lost or
damaged at any time: then it is made again.

The mark does not see a text that was changed where it stands, nor a row summarised away after it was taken back: no
agent is known to do either.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf

from cachetools import LRUCache
from django.db import DatabaseError

from compaction import tokens
from viewer.stores import counting, packing
from viewer.stores.base import ChangeToken, Session, Store
from viewer.stores.registry import Reader, identity, session_version
from viewer.stores.transcript import TranscriptIndex
from viewer.web import own_database
from viewer.web.own_database import OwnDatabaseUnavailable

from .models import Compaction, PackedHistory
from .records import recorded

log = logging.getLogger(__name__)

UNKEPT = 64  # appended rows up to which an extended index is not written down: the next one extends it again
HELD_ROWS = 1_000_000  # of all indexes in this process, about 40 MB
FEW, FEW_BYTES = 300, 300_000  # uncounted rows, and bytes of their text, that a page counts by itself
AT_ONCE, AT_ONCE_BYTES = 200, 2_000_000  # rows counted between two looks at the clock

Key = tuple[str, str, str]
AllRuns = Mapping[str, Sequence[tuple[int, str, int | None]]]


@dataclass(frozen=True, slots=True)
class IndexBasis:
    """Of what an index was made: the file, each part of the conversation with the digest of its rows, and our runs as
    (number, status, handoff).
    """

    file: str
    parts: tuple[tuple[str, str], ...]
    runs: tuple[tuple[int, str, int | None], ...]

    @property
    def sessions(self) -> list[str]:
        return [part for part, _ in self.parts]


@dataclass(frozen=True, slots=True)
class CachedIndex:
    """An index with what it was made of, the session's version when that last held, and the encoding its tokens are
    counted in. The index's first `kept` rows are in our own database.
    """

    index: TranscriptIndex
    mark: IndexBasis
    signature: str
    encoding: str
    kept: int


_held: LRUCache[Key, CachedIndex] = LRUCache(HELD_ROWS, getsizeof=lambda held: min(len(held.index.ids), HELD_ROWS))
_lock = threading.Lock()


def index_of(reader: Reader, session: Session, runs: AllRuns | None = None) -> TranscriptIndex:
    """The session's History as it is now. `runs` are those of the store, for who asks for many sessions.

    Raises StoreUnavailable.
    """
    return _current(reader, session, runs).index


def of(reader: Reader, session_id: str) -> TranscriptIndex:
    """`index_of` by the session's id. Raises NotFound, StoreUnavailable."""
    return index_of(reader, reader.session(session_id))


def unwritten(store: Store, session_id: str) -> TranscriptIndex | None:
    """The index that this process has of a session, if nothing was written since it was looked at; the store is not
    even opened for it. Raises StoreUnavailable.
    """
    cached = _remembered(_key(store, session_id))
    if (
        cached is None
        or cached.signature != session_version(store, session_id)
        or cached.mark.runs != _runs(store, cached.mark.sessions)
    ):
        return None
    return cached.index


def forget() -> None:
    """Drop what this process holds."""
    with _lock:
        _held.clear()


def marked(reader: Reader, session: Session) -> tuple[IndexBasis, TranscriptIndex]:
    """`index_of` with what it was made of. Raises StoreUnavailable."""
    cached = _current(reader, session)
    return cached.mark, cached.index


# -- counting ----------------------------------------------------------------------------------------------------------


def count_some(reader: Reader, session: Session, seconds: float, *, context_alone: bool = False) -> TranscriptIndex:
    """The index after counting tokens for about so long: rows in context first, the newest first, then those that are
    not (but for `context_alone`).
    """
    cached = _current(reader, session)
    missing = cached.index.uncounted(context_alone=context_alone)
    return _count(reader, session, cached, missing, time.monotonic() + seconds)


def count_few(reader: Reader, session: Session, ids: Sequence[int]) -> TranscriptIndex:
    """The index with these rows counted; left as it is where they are more than a page counts by itself."""
    cached = _current(reader, session)
    few = list(islice((row_id for row_id in ids if cached.index.tokens_of(row_id) is None), FEW + 1))
    if not few or len(few) > FEW or _size(cached.index, few) > FEW_BYTES:
        return cached.index
    cached = replace(cached, index=cached.index.counted(_counts(reader, session, few)))
    _keep(reader.store, session.id, cached)
    return cached.index


def count_all(reader: Reader, session: Session, ids: Sequence[int]) -> TranscriptIndex:
    """The index with these rows counted, however long that takes."""
    cached = _current(reader, session)
    return _count(reader, session, cached, [each for each in ids if cached.index.tokens_of(each) is None], inf)


def _count(
    reader: Reader, session: Session, cached: CachedIndex, missing: Sequence[int], until: float
) -> TranscriptIndex:
    """The index with at least one portion of the missing rows counted, and those that there is time for; a row that is
    not there any more counts nothing.
    """
    found: dict[int, int] = {}
    while len(found) < len(missing) and (not found or time.monotonic() < until):
        part = _portion(cached.index, missing[len(found) : len(found) + AT_ONCE], AT_ONCE_BYTES)
        found |= dict.fromkeys(part, 0) | _counts(reader, session, part)
    if found or cached.kept < len(cached.index.ids):
        cached = _keep(reader.store, session.id, replace(cached, index=cached.index.counted(found)))
    return cached.index


def _portion(found: TranscriptIndex, ids: Sequence[int], limit: int) -> Sequence[int]:
    """As many of the first rows as have so much text, but at least one."""
    total = 0
    for at, row_id in enumerate(ids):
        total += _size(found, [row_id])
        if at and total > limit:
            return ids[:at]
    return ids


def _size(found: TranscriptIndex, ids: Sequence[int]) -> int:
    return sum(found.sizes[number] for row_id in ids if (number := found.number(row_id)) is not None)


def _counts(reader: Reader, session: Session, ids: Sequence[int]) -> dict[int, int]:
    count = counting.counter_for(session.model)
    rows = reader.messages(session.id, ids)
    return {row_id: counting.row_tokens(row, count) for row_id, row in rows.items()}


# -- the index of now ------------------------------------------------------------------------------------------------


def _current(reader: Reader, session: Session, runs: AllRuns | None = None) -> CachedIndex:
    """What is held of the session, brought up to date and remembered."""
    seen = session_version(reader.store, session.id)  # before anything is read: what is written from now on changes it
    key = _key(reader.store, session.id)
    cached = _remembered(key) or _loaded(reader.store, session.id)
    encoding = f"{tokens.encoding_for(session.model)[0]}/{tokens.COUNTING}"
    if cached is not None and cached.encoding != encoding:
        cached = replace(cached, index=cached.index.uncounted_again(), encoding=encoding)
    if (
        cached is None
        or cached.signature != seen
        or cached.mark.runs != _runs(reader.store, cached.mark.sessions, runs)
    ):
        cached = _renewed(reader, session, cached, encoding, seen)
    cached = replace(cached, signature=seen)
    _remember(key, cached)
    return cached


def _renewed(reader: Reader, session: Session, held: CachedIndex | None, encoding: str, seen: str) -> CachedIndex:
    """What is held, if its mark holds; else extended or made anew, and written down unless that is soon done again."""
    mark, token = _mark(reader, session.id)
    if held is not None and held.mark == mark:
        return held
    longer = _extended(reader, session, held, mark, token) if held is not None else None
    if held is not None and longer is not None:
        held = replace(held, index=longer, mark=mark, signature=seen)
        return _keep(reader.store, session.id, held) if len(longer.ids) - held.kept > UNKEPT else held
    made = reader.index(session.id, recorded(reader, session.id), token)
    if held is not None and held.mark.file == mark.file and held.encoding == encoding:
        made = packing.with_counts_of(made, held.index)
    return _keep(reader.store, session.id, CachedIndex(made, mark, seen, encoding, 0))


def _extended(
    reader: Reader, session: Session, held: CachedIndex, mark: IndexBasis, token: ChangeToken
) -> TranscriptIndex | None:
    """By the messages that were appended, None if anything else has changed or might have."""
    if replace(held.mark, parts=mark.parts) != mark:
        return None
    return reader.extended(session.id, held.index, ChangeToken(held.mark.parts, 0), token)


def _mark(reader: Reader, session_id: str) -> tuple[IndexBasis, ChangeToken]:
    """The mark of what the store holds now."""
    token = reader.change_token(session_id)
    runs = _runs(reader.store, [part for part, _ in token.parts])
    return IndexBasis(_file(reader.store), token.parts, runs), token


def _file(store: Store) -> str:
    device, inode = identity(store)
    return f"{store.place} {device} {inode}"


def all_runs(store: Store) -> AllRuns:
    """What the marks of all sessions of a store know of our runs, by session."""
    found: dict[str, list[tuple[int, str, int | None]]] = {}
    of_store = Compaction.objects.filter(store=store.name, run__isnull=False)
    for session_id, *run in of_store.values_list("session_id", *_OF_A_RUN):
        found.setdefault(session_id, []).append(_known(*run))
    return found


def _runs(
    store: Store, sessions: Sequence[str], known: AllRuns | None = None
) -> tuple[tuple[int, str, int | None], ...]:
    if known is not None:
        return tuple(sorted(run for session_id in sessions for run in known.get(session_id, ())))
    runs = Compaction.objects.filter(store=store.name, session_id__in=sessions, run__isnull=False)
    return tuple(_known(*run) for run in runs.order_by("run").values_list(*_OF_A_RUN))


_OF_A_RUN = ("run", "undone", "handoff_id")


def _known(run: int, undone: bool, handoff_id: int) -> tuple[int, str, int | None]:
    return run, "undone" if undone else "applied", handoff_id


# -- keeping -----------------------------------------------------------------------------------------------------------


def _key(store: Store, session_id: str) -> Key:
    return store.name, store.url, session_id


def _remembered(key: Key) -> CachedIndex | None:
    with _lock:
        return _held.get(key)


def _remember(key: Key, held: CachedIndex) -> None:
    with _lock:
        _held[key] = held


def _keep(store: Store, session_id: str, held: CachedIndex) -> CachedIndex:
    """Write it down. Where that cannot be done, the next one to need it makes it again."""
    held = replace(held, kept=len(held.index.ids))
    row = PackedHistory(
        store=store.name,
        session_id=session_id,
        mark=json.dumps([held.mark.file, held.mark.parts, held.mark.runs]),
        signature=held.signature,
        encoding=held.encoding,
        packed=packing.to_bytes(held.index),
    )
    try:
        with own_database.noting():
            PackedHistory.objects.bulk_create(
                [row],
                update_conflicts=True,
                unique_fields=["store", "session_id"],
                update_fields=["mark", "signature", "encoding", "packed"],
            )
    except (DatabaseError, OwnDatabaseUnavailable, ValueError) as problem:
        log.warning("The History of session %r could not be kept: %s", session_id, problem)
    _remember(_key(store, session_id), held)
    return held


def _loaded(store: Store, session_id: str) -> CachedIndex | None:
    """What was written down; None for nothing, and for what cannot be read."""
    try:
        row = PackedHistory.objects.filter(store=store.name, session_id=session_id).first()
        index = packing.from_bytes(row.packed) if row else None
        return (
            None
            if row is None or index is None
            else CachedIndex(index, _read_mark(row.mark), row.signature, row.encoding, len(index.ids))
        )
    except (DatabaseError, ValueError, TypeError, LookupError) as problem:
        log.warning("The kept History of session %r cannot be read and is made again: %s", session_id, problem)
        return None


def _read_mark(text: str) -> IndexBasis:
    file, parts, runs = json.loads(text)
    return IndexBasis(file, tuple(map(tuple, parts)), tuple(map(tuple, runs)))
