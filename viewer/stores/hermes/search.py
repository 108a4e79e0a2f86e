"""Full-text search in a store's messages, with the indexes that its owner keeps (`docs/hermes.md` section 8).

The index that fits the query best returns *candidates* (`candidates.py`). Their words are read, and each is compared
with the query again: an index does not know which words are only JSON around a text. A message in several rows is
represented by the newest one.

The work of one page is bounded, however many rows match: it stops at its limits, says so, and continues on request. The
cursor is a key: the row's id, with its rank where the order is by rank.

Words are searched first, the last one as a beginning. Only where the whole store has no such words, the text is
searched inside words too: with the index of letters, and where that has gaps in the newest messages themselves. So a
cursor also has a stage, which says how to continue.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from viewer import times
from viewer.stores.base import redacted_name
from viewer.stores.batches import chunks
from viewer.stores.search.pages import INSIDE, Hit, HitPage, HitSession, Key, Note, PageRequest, SearchFilter, Stage
from viewer.stores.search.passages import Readable, readable
from viewer.stores.search.query import Query, fold

from .candidates import candidates, narrowed, narrowing_of
from .codec import JSON_MARK, decode_calls, decode_content, state_of
from .columns import marks, selection
from .copies import call_ids, copies_of, older_of
from .database import OpenStore
from .envelopes import ENVELOPES
from .paths import CONTINUED
from .previews import first_words

START_BYTES = 400_000  # of a row's content that are searched
TEXTS = 2_000  # rows whose words one page reads to fill itself
SLICE = 50  # rows whose words are read at a time
SECONDS = 0.5  # after which a page is returned as it is
ALIKE = 100  # characters in which a shortened copy equals its original

_LIGHT = {
    "id": "NULL", "session_id": "NULL", "role": "''", "timestamp": "0", "active": "1", "compacted": "0",
    "_compressed_summary": "0", "tool_calls": "NULL", "tool_name": "NULL", "tool_call_id": "NULL",
    "message_uid": "NULL",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Row:
    """A candidate with its words."""

    light: dict[str, Any]
    words: Readable

    @property
    def id(self) -> int:
        return int(self.light["id"])

    @property
    def is_summary(self) -> bool:
        """Whether it is only a summary; a merged row belongs to the message."""
        return bool(self.words.summary) and not self.words.said


def search(reader: OpenStore, query: Query, search_filter: SearchFilter, page: PageRequest) -> HitPage:
    """One page of the messages that match the query."""
    if query.empty:
        return HitPage((), None, stopped=False, looked=0, scanned=False)
    sought = query.inside or query
    if page.stage == "inside" or page.stage == "through":
        return _inside(_page(reader, sought, _by(search_filter, page.stage), page), page.stage)
    hit_page = _page(reader, query, search_filter, page)
    if page.stage == "words" or hit_page.hits:
        return replace(hit_page, stage="words")
    if hit_page.next or not query.inside:
        return hit_page
    return _first_inside(reader, sought, search_filter, page, hit_page.notes)


def _first_inside(
    reader: OpenStore, query: Query, search_filter: SearchFilter, page: PageRequest, notes: tuple[Note, ...]
) -> HitPage:
    """The first page of matches inside words. If nothing is found, the page notes the gaps of all indexes that were
    used, unless the messages themselves could be searched in one step.
    """
    page = replace(page, after=None)
    hit_page = _inside(_page(reader, query, search_filter, page), "inside")
    if hit_page.hits or hit_page.next or not any(note.is_gap for note in hit_page.notes):
        return hit_page if hit_page.hits else replace(hit_page, notes=tuple(dict.fromkeys(notes + hit_page.notes)))
    through = _inside(_page(reader, query, _by(search_filter, "through"), page), "through")
    if through.hits or not through.next:
        return through
    return replace(hit_page, notes=tuple(dict.fromkeys(notes + hit_page.notes)))


def _by(search_filter: SearchFilter, stage: Stage) -> SearchFilter:
    return replace(search_filter, indexed=False) if stage == "through" else search_filter


def _page(reader: OpenStore, query: Query, search_filter: SearchFilter, page: PageRequest) -> HitPage:
    gathering = _Gathering(reader, query, search_filter, page.limit, time.monotonic() + SECONDS)
    gathering.gather(page.after)
    return gathering.found(page)


def _inside(hit_page: HitPage, stage: Stage) -> HitPage:
    notes = (INSIDE, *hit_page.notes) if hit_page.hits else hit_page.notes
    return replace(hit_page, stage=stage, notes=notes)


@dataclass(slots=True)
class _Gathering:
    """A page being filled: the matching rows, and how far the search came."""

    reader: OpenStore
    query: Query
    search_filter: SearchFilter
    limit: int
    deadline: float
    rows: list[tuple[Key, _Row]] = field(default_factory=list)
    texts: int = 0
    looked: int = 0
    reached: Key | None = None  # everything before it was looked at
    stopped: bool = False
    scanned: bool = False
    notes: tuple[Note, ...] = ()

    def gather(self, after: Key | None) -> None:
        self.reached = after
        for batch in candidates(self.reader, self.query, self.search_filter, after):
            self.looked, self.scanned, self.notes = batch.looked, batch.scanned, batch.notes
            for start in range(0, len(batch.keys), SLICE):
                if self.texts and self._is_over():  # each page makes progress, however slow the store is
                    self.stopped = True
                    return
                self._take(batch.keys[start : start + SLICE])
                if len(self.rows) > self.limit:
                    return
            self.reached, self.stopped = batch.reached, batch.stopped
            if self.stopped and self._is_over():
                return

    def _is_over(self) -> bool:
        return self.texts >= TEXTS or time.monotonic() > self.deadline

    def _take(self, keys: Sequence[Key]) -> None:
        rows = read_rows(self.reader, [row_id for _, row_id in keys])
        self.texts += len(rows)
        matching = [(key, rows[key[1]]) for key in keys if key[1] in rows and self._holds(rows[key[1]])]
        existing = _existing_sessions(self.reader, [row.light["session_id"] for _, row in matching])
        holding = [(key, row) for key, row in matching if row.light["session_id"] in existing]
        again = self._represented([row for _, row in holding])
        self.rows += [(key, row) for key, row in holding if row.id not in again]
        self.reached = keys[-1]

    def _holds(self, row: _Row) -> bool:
        return _holds(row, self.query, scanned=self.scanned)

    def _represented(self, rows: Sequence[_Row]) -> set[int]:
        """Those of these rows whose message is represented by another match: a newer one, and for a summary the first
        one.
        """
        summaries = [row.light for row in rows if row.is_summary]
        pairs = copies_of(self.reader, [row.light for row in rows if not row.is_summary])
        pairs += older_of(self.reader, summaries)
        narrowing = narrowing_of(self.reader, self.query, self.search_filter)
        passed = [
            row_id
            for chunk in chunks(sorted({other for _, other in pairs}))
            for row_id in narrowed(self.reader, narrowing, chunk)
        ]
        read = read_rows(self.reader, passed)
        others = {row_id: row for row_id, row in read.items() if _holds(row, self.query, scanned=True)}
        by_id = {row.id: row for row in rows}
        return {row_id for row_id, other in pairs if other in others and _alike(by_id[row_id], others[other])}

    def found(self, page: PageRequest) -> HitPage:
        page_rows = self.rows[: self.limit]
        full = len(self.rows) > self.limit
        sessions = _sessions(self.reader, [row.light["session_id"] for _, row in page_rows], redacting=page.redacting)
        hits = page_rows
        if page.redacting and page.passages:  # found by their text, shown by its visible part
            redacted = read_rows(self.reader, [row.id for _, row in page_rows], redacting=True)
            hits = [(key, redacted[row.id]) for key, row in page_rows if row.id in redacted]
        return HitPage(
            hits=tuple(_hit(key, row, sessions, self.query, passages=page.passages) for key, row in hits),
            next=page_rows[-1][0] if full else self.reached if self.stopped else None,
            stopped=self.stopped and not full,
            looked=self.looked,
            scanned=self.scanned,
            notes=self.notes,
        )


# -- words -------------------------------------------------------------------------------------------------------------


def _existing_sessions(reader: OpenStore, ids: Iterable[Any]) -> set[Any]:
    """Those of these sessions that have a row: no page can show messages of others."""
    return {
        row[0]
        for chunk in chunks(list(dict.fromkeys(ids)))
        for row in reader.con.execute(f"SELECT id FROM sessions WHERE id IN ({marks(chunk)})", chunk).fetchall()
    }


def read_rows(reader: OpenStore, ids: Sequence[int], *, redacting: bool = False) -> dict[int, _Row]:
    """The rows of these ids, their content up to `START_BYTES`; those that do not exist are absent."""
    names = selection(reader.columns.messages, _LIGHT, "m.")
    rows_by_id: dict[int, _Row] = {}
    for chunk in chunks(ids):
        rows = reader.con.execute(
            f"SELECT {names}, {reader.columns.dialect.start.format('m.content', START_BYTES)} FROM messages m "
            f"WHERE m.id IN ({marks(chunk)})",
            chunk,
        ).fetchall()
        for row in rows:
            light = dict(zip(_LIGHT, row, strict=False))
            flagged = bool(light["_compressed_summary"])
            from_user = light["role"] == "user"
            words = _words(row[-1] or b"", light["tool_calls"], light["tool_name"], flagged, redacting, from_user)
            rows_by_id[row[0]] = _Row(light, words)
    return rows_by_id


def _words(start: bytes, tool_calls: Any, tool_name: Any, flagged: bool, redacting: bool, from_user: bool) -> Readable:
    """The words of a row, given the first START_BYTES of its content; `from_user` says that it is in a user's role."""
    stored = start.decode("utf-8", "ignore")
    content = decode_content(stored)
    if isinstance(content, str):
        content = content.removeprefix(JSON_MARK)  # still there where the JSON is cut, or broken
    return readable(
        content,
        decode_calls(tool_calls),
        tool_name,
        raw=f"{stored}\n{tool_calls or ''}",
        flagged=flagged,
        cut=len(start) >= START_BYTES,
        redacting=redacting,
        envelopes=ENVELOPES if from_user else None,
    )


def _holds(row: _Row, query: Query, *, scanned: bool) -> bool:
    """Whether a person would find it there. Where only an index can decide, it is trusted: the text may continue after
    the part that was read, and the index may fold another alphabet differently.
    """
    folded = fold(row.words.text)
    if query.forbids(folded):
        return False
    if not query.lacks(folded):
        return True
    if row.words.cut or scanned:
        return row.words.cut and not (scanned and query.has_words)
    return query.has_words and query.lacks(fold(row.words.raw))  # otherwise the match is in the JSON around the words


def _hit(key: Key, row: _Row, sessions: dict[str, HitSession], query: Query, *, passages: bool) -> Hit:
    light, words = row.light, row.words
    session_id = str(light["session_id"] or "")
    session = sessions.get(session_id) or HitSession(session_id, "", "", split=False)
    part = words.holding(query)  # a merged row has both; it counts as the message's where that matches
    state = state_of(light["active"], light["compacted"])
    return Hit(
        id=row.id,
        session=session,
        kind="summary" if part == "summary" else "message",
        standalone=row.is_summary,
        role=str(light["role"] or ""),
        time=times.known(light["timestamp"]),
        state="under" if session.split and state == "live" else state,
        passage=words.passage_in(part, query) if passages else (),
        key=key,
    )


def _alike(row: _Row, copy: _Row) -> bool:
    """Whether two rows of one moment are one message: with the same name from the agent, answering one call, making the
    same calls, or with one text, which a copy may have less of.
    """
    if row.light["role"] != copy.light["role"]:
        return False
    for name in ("message_uid", "tool_call_id"):
        if row.light[name] and row.light[name] == copy.light[name]:
            return True
    if row.light["tool_calls"] and call_ids(row.light["tool_calls"]) == call_ids(copy.light["tool_calls"]):
        return True
    return _start(row) == _start(copy)


def _start(row: _Row) -> str:
    text = row.words.said or row.words.summary
    return " ".join(text[: 4 * ALIKE].split())[:ALIKE]


# -- sessions ----------------------------------------------------------------------------------------------------------


def _sessions(reader: OpenStore, ids: Iterable[Any], *, redacting: bool) -> dict[str, HitSession]:
    names = selection(reader.columns.sessions, {"id": "NULL", "title": "NULL", "source": "''", "end_reason": "NULL"})
    sessions: dict[str, HitSession] = {}
    for chunk in chunks(sorted({str(each) for each in ids})):
        rows = reader.con.execute(f"SELECT {names} FROM sessions WHERE id IN ({marks(chunk)})", chunk).fetchall()
        for session_id, title, source, reason in rows:
            name = str(title or "") or first_words(reader, session_id)
            name = redacted_name(name) if redacting else name
            sessions[session_id] = HitSession(session_id, name, str(source or ""), split=reason == CONTINUED)
    return sessions
