"""Rows that may match a query, by id, in order, in batches: from an index of the agent's, or one by one.

A batch contains the candidates that pass the filters which SQL can apply. The generator ends at the end of the store or
at its own limits; `Batch.stopped` says which.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from viewer.stores.batches import CHUNK
from viewer.stores.listing import path_start
from viewer.stores.search.pages import NOT_RANKED, SHORT, Key, Note, SearchFilter, best_of
from viewer.stores.search.query import Query, spellings, trigram_expression, word_expression

from . import postgres_search
from .columns import marks
from .database import OpenStore
from .dialect import POSTGRES

LOOKED = 10_000  # rows from an index that one page looks at: about 15 ms
RANKED = 5_000  # newest matches that are ranked
SCANNED = 5_000  # rows that one page reads without an index
FIRST = 60  # rows of the first batch, which most often fills a page

_HIGHEST = 2**63 - 1
_INDEX_IS_BROKEN = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT}


@dataclass(frozen=True, slots=True)
class Batch:
    """Candidates in order, and the key up to which all have been returned. `looked` counts the rows that were looked at
    so far; `stopped` says that there are more after the last batch.
    """

    keys: tuple[Key, ...]
    reached: Key
    looked: int
    stopped: bool
    scanned: bool
    notes: tuple[Note, ...] = ()


NO_INDEX = Note("no_index", "This store has no index for such a search: its messages are looked through one by one.")
BROKEN = Note("index_broken", "This store's search index cannot be read: its messages are looked through one by one.")
REBUILDING = Note(
    "index_rebuilding", "Its agent is rebuilding this store's search index: messages are looked through one by one."
)
RANKED_FEW = best_of(RANKED)
WITHOUT_TOOLS = Note(
    "tools_not_indexed",
    "The index of letters leaves out calls and results of tools, and messages of several parts.",
    is_gap=True,
)
WITHOUT_AGENTS = Note(
    "agents_not_indexed", "The index of letters leaves out sessions of cron jobs and sub-agents.", is_gap=True
)
WITHOUT_PARTS = Note("parts_not_indexed", "The index of letters leaves out messages of several parts.", is_gap=True)
TOOLS_CUT = Note("tools_cut", "Of a tool's result the index holds the first 8,192 characters.", is_gap=True)
LONG_CUT = Note(
    "long_cut", "Of a message the index holds the first 100,000 characters, of a tool's result 8,192.", is_gap=True
)


def candidates(reader: OpenStore, query: Query, search_filter: SearchFilter, after: Key | None) -> Iterator[Batch]:
    """Batches after the key `after`. Raises sqlite3.Error or psycopg.Error for a store that cannot be read."""
    match, notes = _plan(reader, query, search_filter)
    narrowing = narrowing_of(reader, query, search_filter)
    reached = after
    if match:
        if search_filter.order == "best" and not match.rank:  # PostgreSQL's index of letters
            match = replace(match, notes=(*match.notes, NOT_RANKED))
        by_index = _best if search_filter.order == "best" and match.rank else _newest
        try:
            for batch in by_index(reader, match, search_filter, narrowing, after):
                reached = batch.reached
                yield batch
            return
        except sqlite3.DatabaseError as problem:
            if (getattr(problem, "sqlite_errorcode", 0) & 0xFF) not in _INDEX_IS_BROKEN:
                raise
            notes = (BROKEN,)
    if search_filter.order == "best":
        notes, reached = (*notes, NOT_RANKED), None if reached is None else (0.0, reached[1])
    yield from _one_by_one(reader, search_filter, narrowing, reached, notes)


# -- which way ---------------------------------------------------------------------------------------------------------


def _plan(reader: OpenStore, query: Query, search_filter: SearchFilter) -> tuple[Match | None, tuple[Note, ...]]:
    """The best index for the query and the question to it, None for none; and the notes for the reader."""
    if not search_filter.indexed:
        return None, ()
    if reader.columns.dialect is POSTGRES:
        return _on_postgres(reader, query)
    words = word_expression(query, columns=_has_columns(reader))
    expression = words or trigram_expression(query)
    if not expression:
        return None, (SHORT,)
    index = "messages_fts" if words else "messages_fts_trigram"
    if index not in reader.columns.tables:
        return None, (NO_INDEX,)
    if _is_being_rebuilt(reader):
        return None, (REBUILDING,)
    notes = tuple(_gaps(reader, index, search_filter))
    return Match(f"FROM {index} WHERE {index} MATCH ?", (expression,), "rank", (), notes), notes


def _on_postgres(reader: OpenStore, query: Query) -> tuple[Match | None, tuple[Note, ...]]:
    row_query = postgres_search.words(query) if "messages_fts" in reader.columns.tables else None
    if row_query:
        return Match(row_query.sql, row_query.values, row_query.rank, row_query.rank_values, (LONG_CUT,)), (LONG_CUT,)
    if query.has_words:
        return None, (NO_INDEX,)
    row_query = postgres_search.letters(query)
    if row_query is None:
        return None, (SHORT,)
    has_index = reader.con.execute(reader.columns.dialect.index, ["messages_letters"]).fetchone()
    return (
        (Match(row_query.sql, row_query.values, "", (), (LONG_CUT,)), (LONG_CUT,)) if has_index else (None, (NO_INDEX,))
    )


def _trigger(reader: OpenStore, index: str) -> str:
    return next((sql for name, sql in reader.columns.triggers if name == f"{index}_insert"), "")


def _has_columns(reader: OpenStore) -> bool:
    """Whether the word index has columns, as from full-text layout 2 on, and not one text for each row."""
    return "tool_calls)" in _trigger(reader, "messages_fts").replace(" ", "").split("VALUES")[0]


def _gaps(reader: OpenStore, index: str, search_filter: SearchFilter) -> Iterator[Note]:
    """What the index does not contain. SQLite's trigrams end at a NUL, with which content of several parts begins."""
    insert = _trigger(reader, index)
    if index == "messages_fts_trigram":
        yield WITHOUT_TOOLS if "'tool'" in insert and search_filter.role != "user" else WITHOUT_PARTS
        if "'subagent'" in insert:
            yield WITHOUT_AGENTS
    elif "8192" in insert and search_filter.role in ("", "tool"):
        yield TOOLS_CUT


def _is_being_rebuilt(reader: OpenStore) -> bool:
    """Whether the agent says that its index lacks rows (`state_meta`, `docs/hermes.md` section 8)."""
    if "state_meta" not in reader.columns.tables:
        return False
    keys = ["fts_rebuild_high_water", "fts_rebuild_progress", "fts_stale"]
    stored_values = dict(
        reader.con.execute(f"SELECT key, value FROM state_meta WHERE key IN ({marks(keys)})", keys).fetchall()
    )
    high, done = _whole(stored_values.get(keys[0])), _whole(stored_values.get(keys[1]))
    stale = str(stored_values.get("fts_stale") or "0") not in ("0", "")
    return stale or (high is not None and (done is None or done < high))


def _whole(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


# -- what SQL narrows --------------------------------------------------------------------------------------------------

Narrowing = tuple[str, list[Any]]  # a condition on the row `m`, and its values
_OF_SESSION = "EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session_id AND {} = ?)"


def narrowing_of(reader: OpenStore, query: Query, search_filter: SearchFilter) -> Narrowing:
    """The condition on a row that follows from the query and its filters."""
    parts = [*_states(reader), *_filters(reader, search_filter), *_literals(reader, query)]
    return " AND ".join(f"({sql})" for sql, _ in parts) or "TRUE", [value for _, values in parts for value in values]


def _states(reader: OpenStore) -> Iterator[Narrowing]:
    """Excludes rows that were superseded or taken back."""
    present = reader.columns.messages
    if "active" in present:
        compacted = "m.compacted" if "compacted" in present else "0"
        yield f"COALESCE(m.active, 1) <> 0 OR {compacted} <> 0", []


def _filters(reader: OpenStore, search_filter: SearchFilter) -> Iterator[Narrowing]:
    if search_filter.role:
        yield "m.role = ?", [search_filter.role]
    if search_filter.sessions:
        yield f"m.session_id IN ({marks(search_filter.sessions)})", list(search_filter.sessions)
    if search_filter.source:
        yield _OF_SESSION.format("s.source"), [search_filter.source]
    if search_filter.project:
        yield _in_project(search_filter.project) if "cwd" in reader.columns.sessions else ("FALSE", [])
    if search_filter.since is not None:
        yield "m.timestamp >= ?", [search_filter.since]
    if search_filter.until is not None:
        yield "m.timestamp < ?", [search_filter.until]


def _in_project(project: str) -> Narrowing:
    may_go_on = path_start(f"{project}\U0010ffff") == project
    return _OF_SESSION.format(f"substr(s.cwd, 1, {len(project)})" if may_go_on else "s.cwd"), [project]


def _literals(reader: OpenStore, query: Query) -> Iterator[Narrowing]:
    """Literal terms, as far as SQLite can compare them: it only knows the case of ASCII letters."""
    position_sql = reader.columns.dialect.place
    names = [name for name in ("content", "tool_calls", "tool_name") if name in reader.columns.messages]
    for term in query.wanted:
        spelled = spellings(term) if term.literal else []
        if spelled:
            column = "lower(m.{})" if any(letter.isalpha() for letter in spelled[0] if letter.isascii()) else "m.{}"
            tests = [f"{position_sql.format(column.format(name))} > 0" for name in names for _ in spelled]
            yield " OR ".join(tests), [*spelled] * len(names)


def narrowed(reader: OpenStore, narrowing: Narrowing, ids: Sequence[int]) -> set[int]:
    """Those of at most CHUNK ids whose rows exist and pass."""
    sql, values = narrowing
    rows = reader.con.execute(f"SELECT m.id FROM messages m WHERE m.id IN ({marks(ids)}) AND {sql}", [*ids, *values])
    return {row[0] for row in rows.fetchall()}


# -- by an index -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """A question to an index that knows rows by `rowid`: FROM and WHERE, and the rank expression, each
    with its values.
    """

    sql: str
    values: tuple[Any, ...]
    rank: str
    rank_values: tuple[Any, ...]
    notes: tuple[Note, ...]


_BETWEEN = "AND rowid BETWEEN ? AND ?"


def _newest(
    reader: OpenStore, match: Match, search_filter: SearchFilter, narrowing: Narrowing, after: Key | None
) -> Iterator[Batch]:
    lowest, highest = _id_range(reader, search_filter)
    if after is not None:
        highest = min(highest, after[1] - 1)
    looked, size = 0, FIRST
    while True:
        size = min(size, LOOKED - looked)
        sql = f"SELECT rowid {match.sql} {_BETWEEN} ORDER BY rowid DESC LIMIT ?"
        rows = reader.con.execute(sql, [*match.values, lowest, highest, size]).fetchall()
        keys = [(0.0, row[0]) for row in rows]
        done = len(keys) < size
        yield from _batches(reader, narrowing, keys, looked, match.notes, more=not done)
        looked += len(keys)
        if done or looked >= LOOKED:
            return
        highest, size = keys[-1][1] - 1, size * 8


def _best(
    reader: OpenStore, match: Match, search_filter: SearchFilter, narrowing: Narrowing, after: Key | None
) -> Iterator[Batch]:
    """By rank, among the newest matches: ranking reads every match, and there may be as many as messages."""
    lowest, highest = _id_range(reader, search_filter)
    newest = f"SELECT rowid {match.sql} {_BETWEEN} ORDER BY rowid DESC LIMIT ?"
    ids = reader.con.execute(newest, [*match.values, lowest, highest, RANKED + 1]).fetchall()
    notes = match.notes
    if len(ids) > RANKED:
        lowest, notes = ids[RANKED - 1][0], (*notes, RANKED_FEW)
    ranked = f"SELECT {match.rank}, rowid {match.sql} {_BETWEEN}"
    rows = reader.con.execute(ranked, [*match.rank_values, *match.values, lowest, highest]).fetchall()
    keys = sorted(((row[0], row[1]) for row in rows), key=_by_rank)
    if after is not None:
        keys = [key for key in keys if _by_rank(key) > _by_rank(after)]
    yield from _batches(reader, narrowing, keys, 0, notes, more=False)


def _by_rank(key: Key) -> Key:
    return key[0], -key[1]


def _batches(
    reader: OpenStore, narrowing: Narrowing, keys: Sequence[Key], looked: int, notes: tuple[Note, ...], *, more: bool
) -> Iterator[Batch]:
    start, size = 0, FIRST
    while start < len(keys):
        chunk = keys[start : start + size]
        passed = narrowed(reader, narrowing, [row_id for _, row_id in chunk])
        start += len(chunk)
        passing = tuple(key for key in chunk if key[1] in passed)
        yield Batch(passing, chunk[-1], looked + start, more or start < len(keys), scanned=False, notes=notes)
        size = CHUNK
    if not keys:
        yield Batch((), (0.0, 0), looked, stopped=False, scanned=False, notes=notes)


def _id_range(reader: OpenStore, search_filter: SearchFilter) -> tuple[int, int]:
    """The lowest and highest id of rows of the filter's sessions."""
    if not search_filter.sessions:
        return -_HIGHEST, _HIGHEST
    sql = f"SELECT MIN(id), MAX(id) FROM messages WHERE session_id IN ({marks(search_filter.sessions)})"
    lowest, highest = reader.con.execute(sql, list(search_filter.sessions)).fetchone()
    return (1, 0) if lowest is None else (lowest, highest)


# -- one by one --------------------------------------------------------------------------------------------------------


def _one_by_one(
    reader: OpenStore, search_filter: SearchFilter, narrowing: Narrowing, after: Key | None, notes: tuple[Note, ...]
) -> Iterator[Batch]:
    sql, values = narrowing
    sessions = f"m.session_id IN ({marks(search_filter.sessions)})" if search_filter.sessions else "TRUE"
    below, looked, size = (_HIGHEST if after is None else after[1]), 0, 4 * FIRST
    statement = f"SELECT m.id, {sql} FROM messages m WHERE m.id < ? AND {sessions} ORDER BY m.id DESC LIMIT ?"
    while looked < SCANNED:
        size = min(size, SCANNED - looked)
        rows = reader.con.execute(statement, [*values, below, *search_filter.sessions, size]).fetchall()
        looked += len(rows)
        below = rows[-1][0] if rows else 0
        passing = tuple((0.0, row[0]) for row in rows if row[1])
        yield Batch(passing, (0.0, below), looked, stopped=len(rows) == size, scanned=True, notes=notes)
        if len(rows) < size:
            return
        size = 2 * CHUNK
