"""A cache for indexes of sessions' Histories: in our own database and, for the newest ones, in this process.

An index is valid while its *mark* matches: the rows of all parts of the conversation with their states, the file, and
our own runs. While nothing is written (`registry.version_of`) the rows' part of the mark is not even read.
Appended rows extend the index; after any other change it is made again. Cached data may be lost or damaged at any time:
then it is made again.

The mark does not cover a text that was changed in place, nor a row that was summarised away after it was taken back: no
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
from viewer.stores import packing
from viewer.stores.base import ChangeToken, Session, Store
from viewer.stores.message import row_tokens
from viewer.stores.registry import Reader, identity, version_of
from viewer.stores.transcript import TranscriptIndex
from viewer.usage import counting
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
    """What an index was made from: the file, each part of the conversation with the digest of its rows, and our runs as
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
    """An index with its mark, the session's version when the mark last matched, and the encoding in which its tokens
    are counted. The index's first `kept` rows are in our own database.
    """

    index: TranscriptIndex
    mark: IndexBasis
    signature: str
    encoding: str
    kept: int


_cache: LRUCache[Key, CachedIndex] = LRUCache(HELD_ROWS, getsizeof=lambda held: min(len(held.index.ids), HELD_ROWS))
_lock = threading.Lock()


def index_of(reader: Reader, session: Session, runs: AllRuns | None = None) -> TranscriptIndex:
    """The session's current History. `runs` are those of the store, for callers that read many sessions.

    Raises StoreUnavailable.
    """
    return _current(reader, session, runs).index


def of(reader: Reader, session_id: str) -> TranscriptIndex:
    """`index_of` by the session's id. Raises NotFound, StoreUnavailable."""
    return index_of(reader, reader.session(session_id))


def unwritten(store: Store, session_id: str) -> TranscriptIndex | None:
    """The index that this process has of a session, if nothing was written since it was read; the store is not opened.
    Raises StoreUnavailable.
    """
    cached = _remembered(_key(store, session_id))
    if (
        cached is None
        or cached.signature != version_of(store, session_id)
        or cached.mark.runs != _runs(store, cached.mark.sessions)
    ):
        return None
    return cached.index


def forget() -> None:
    """Drop everything that this process has cached."""
    with _lock:
        _cache.clear()


def marked(reader: Reader, session: Session) -> tuple[IndexBasis, TranscriptIndex]:
    """`index_of` with its mark. Raises StoreUnavailable."""
    cached = _current(reader, session)
    return cached.mark, cached.index


# -- counting ----------------------------------------------------------------------------------------------------------


def count_some(reader: Reader, session: Session, seconds: float, *, context_alone: bool = False) -> TranscriptIndex:
    """The index after counting tokens for about so many seconds: rows in context first, the newest first, then the
    others (unless `context_alone`).
    """
    cached = _current(reader, session)
    missing = cached.index.uncounted(context_alone=context_alone)
    return _count(reader, session, cached, missing, time.monotonic() + seconds)


def count_few(reader: Reader, session: Session, ids: Sequence[int]) -> TranscriptIndex:
    """The index with these rows counted; unchanged if they are more than a page counts by itself."""
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
    """The index with at least one portion of the missing rows counted, and more while there is time; a row that no
    longer exists counts 0.
    """
    counts: dict[int, int] = {}
    while len(counts) < len(missing) and (not counts or time.monotonic() < until):
        part = _portion(cached.index, missing[len(counts) : len(counts) + AT_ONCE], AT_ONCE_BYTES)
        counts |= dict.fromkeys(part, 0) | _counts(reader, session, part)
    if counts or cached.kept < len(cached.index.ids):
        cached = _keep(reader.store, session.id, replace(cached, index=cached.index.counted(counts)))
    return cached.index


def _portion(index: TranscriptIndex, ids: Sequence[int], limit: int) -> Sequence[int]:
    """The first rows whose text is within the limit, at least one row."""
    total = 0
    for at, row_id in enumerate(ids):
        total += _size(index, [row_id])
        if at and total > limit:
            return ids[:at]
    return ids


def _size(index: TranscriptIndex, ids: Sequence[int]) -> int:
    return sum(index.sizes[number] for row_id in ids if (number := index.number(row_id)) is not None)


def _counts(reader: Reader, session: Session, ids: Sequence[int]) -> dict[int, int]:
    count = counting.counter_for(session.model)
    rows = reader.messages(session.id, ids)
    return {row_id: row_tokens(row, count) for row_id, row in rows.items()}


# -- the index of now ------------------------------------------------------------------------------------------------


def _current(reader: Reader, session: Session, runs: AllRuns | None = None) -> CachedIndex:
    """The cached index of the session, brought up to date and cached in this process."""
    version = version_of(reader.store, session.id)  # read first: anything written from now on changes it
    key = _key(reader.store, session.id)
    cached = _remembered(key) or _loaded(reader.store, session.id)
    encoding = f"{tokens.encoding_for(session.model)[0]}/{tokens.COUNTING}"
    if cached is not None and cached.encoding != encoding:
        cached = replace(cached, index=cached.index.uncounted_again(), encoding=encoding)
    if (
        cached is None
        or cached.signature != version
        or cached.mark.runs != _runs(reader.store, cached.mark.sessions, runs)
    ):
        cached = _renewed(reader, session, cached, encoding, version)
    cached = replace(cached, signature=version)
    _remember(key, cached)
    return cached


def _renewed(reader: Reader, session: Session, cached: CachedIndex | None, encoding: str, version: str) -> CachedIndex:
    """The cached index, if its mark matches; else an extended or new one, stored unless it will soon be
    extended again.
    """
    mark, token = _mark(reader, session.id)
    if cached is not None and cached.mark == mark:
        return cached
    longer = _extended(reader, session, cached, mark, token) if cached is not None else None
    if cached is not None and longer is not None:
        cached = replace(cached, index=longer, mark=mark, signature=version)
        return _keep(reader.store, session.id, cached) if len(longer.ids) - cached.kept > UNKEPT else cached
    index = reader.index(session.id, recorded(reader, session.id), token)
    if cached is not None and cached.mark.file == mark.file and cached.encoding == encoding:
        index = packing.with_counts_of(index, cached.index)
    return _keep(reader.store, session.id, CachedIndex(index, mark, version, encoding, 0))


def _extended(
    reader: Reader, session: Session, cached: CachedIndex, mark: IndexBasis, token: ChangeToken
) -> TranscriptIndex | None:
    """The index extended by appended messages, None if anything else has changed or might have."""
    if replace(cached.mark, parts=mark.parts) != mark:
        return None
    return reader.extended(session.id, cached.index, ChangeToken(cached.mark.parts, 0), token)


def _mark(reader: Reader, session_id: str) -> tuple[IndexBasis, ChangeToken]:
    """The mark of what the store holds now."""
    token = reader.change_token(session_id)
    runs = _runs(reader.store, [part for part, _ in token.parts])
    return IndexBasis(_file(reader.store), token.parts, runs), token


def _file(store: Store) -> str:
    device, inode = identity(store)
    return f"{store.place} {device} {inode}"


def all_runs(store: Store) -> AllRuns:
    """Our runs as they are in the marks of all sessions of a store, by session."""
    by_session: dict[str, list[tuple[int, str, int | None]]] = {}
    of_store = Compaction.objects.filter(store=store.name, run__isnull=False)
    for session_id, *run in of_store.values_list("session_id", *_OF_A_RUN):
        by_session.setdefault(session_id, []).append(_as_in_mark(*run))
    return by_session


def _runs(
    store: Store, sessions: Sequence[str], of_store: AllRuns | None = None
) -> tuple[tuple[int, str, int | None], ...]:
    if of_store is not None:
        return tuple(sorted(run for session_id in sessions for run in of_store.get(session_id, ())))
    runs = Compaction.objects.filter(store=store.name, session_id__in=sessions, run__isnull=False)
    return tuple(_as_in_mark(*run) for run in runs.order_by("run").values_list(*_OF_A_RUN))


_OF_A_RUN = ("run", "undone", "handoff_id")


def _as_in_mark(run: int, undone: bool, handoff_id: int) -> tuple[int, str, int | None]:
    return run, "undone" if undone else "applied", handoff_id


# -- keeping -----------------------------------------------------------------------------------------------------------


def _key(store: Store, session_id: str) -> Key:
    return store.name, store.url, session_id


def _remembered(key: Key) -> CachedIndex | None:
    with _lock:
        return _cache.get(key)


def _remember(key: Key, cached: CachedIndex) -> None:
    with _lock:
        _cache[key] = cached


def _keep(store: Store, session_id: str, cached: CachedIndex) -> CachedIndex:
    """Store the index. If that fails, the next caller makes it again."""
    cached = replace(cached, kept=len(cached.index.ids))
    row = PackedHistory(
        store=store.name,
        session_id=session_id,
        mark=json.dumps([cached.mark.file, cached.mark.parts, cached.mark.runs]),
        signature=cached.signature,
        encoding=cached.encoding,
        packed=packing.to_bytes(cached.index),
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
    _remember(_key(store, session_id), cached)
    return cached


def _loaded(store: Store, session_id: str) -> CachedIndex | None:
    """The stored index; None if there is none or it cannot be read."""
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
