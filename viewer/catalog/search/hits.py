"""Candidates read from their store and compared with the query: the hits of a page, in order."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from viewer.catalog import one_session, upsert
from viewer.catalog.models import SessionIndex, SessionText, StoreState, name_of
from viewer.catalog.search.candidates import Candidate, CandidateBatch
from viewer.stores.base import redacted_name
from viewer.stores.batches import chunks
from viewer.stores.errors import NotFound
from viewer.stores.message import StoredMessage
from viewer.stores.registry import Reader
from viewer.stores.search.pages import NOT_RANKED, Hit, HitPage, HitSession, Key, PageRequest, SearchFilter, best_of
from viewer.stores.search.passages import Readable, words_of
from viewer.stores.search.query import Query, fold

TEXTS = 2_000  # messages that one page reads to fill itself
RANKED = 500  # newest matches among which the best are sought
SCANNED = 5_000  # messages of a session that one page looks through
SLICE = 50  # messages that are read at a time
SECONDS = 0.5  # after which a page is given as it is
SCANNING = 1.0  # seconds, where messages of one session are looked through: enough for some 5,000
TERM_WEIGHT, USUAL_LENGTH = 1.2, 1_000  # of a repeated word (as in BM25), and characters of a message


@dataclass(frozen=True, slots=True)
class MatchedMessage:
    """A message that matches the query."""

    key: Key
    row: StoredMessage
    words: Readable


@dataclass(frozen=True, slots=True)
class TextFinding:
    """The search for one page of hits in a store with this state of its lists."""

    reader: Reader
    state: StoreState
    query: Query
    search_filter: SearchFilter
    page: PageRequest
    names: dict[int, str] = field(default_factory=dict)  # of sessions, by their numbers, as far as they were asked for

    def among(self, batches: Iterable[CandidateBatch]) -> HitPage:
        """A page of hits among these candidates."""
        return self._best(batches) if self.search_filter.order == "best" else self._newest(batches)

    def _newest(self, batches: Iterable[CandidateBatch]) -> HitPage:
        matches: list[MatchedMessage] = []
        until, texts, looked, reached, more = time.monotonic() + SECONDS, 0, 0, 0, False
        for batch in batches:
            looked = batch.looked
            for part in _slices(self._of_sessions(batch.places)):
                if texts and (texts >= TEXTS or time.monotonic() > until):
                    return self._hit_page(matches, (0.0, reached), looked)
                matches += self._read(part)
                texts, reached = texts + len(part), part[-1][0]
                if len(matches) > self.page.limit:
                    return self._hit_page(matches, None, looked)
            reached, more = batch.reached, batch.more
            if more and time.monotonic() > until:
                break
        return self._hit_page(matches, (0.0, reached) if more else None, looked)

    def _best(self, batches: Iterable[CandidateBatch]) -> HitPage:
        """Hits by rank, among the newest matches: every one of them is read."""
        places: list[Candidate] = []
        looked, more = 0, False
        for batch in batches:
            looked, more = batch.looked, batch.more
            places += self._of_sessions(batch.places)
            if len(places) > RANKED:
                break
        read = [each for part in _slices(places[:RANKED]) for each in self._read(part)]
        ranked = sorted((replace(each, key=(self._rank(each), each.key[1])) for each in read), key=_by_rank)
        after = self.page.after
        behind = [each for each in ranked if after is None or _by_rank(each) > (after[0], -after[1])]
        notes = (best_of(RANKED),) if more or len(places) > RANKED else ()
        return replace(self._hit_page(behind, None, looked), notes=notes)

    def _rank(self, match: MatchedMessage) -> float:
        """Lower is better: how often each term occurs, with less weight in a long message."""
        folded, rank = fold(match.words.text), 0.0
        weight = TERM_WEIGHT * (0.25 + 0.75 * len(folded) / USUAL_LENGTH)
        for count in self.query.counts(folded):
            rank -= count * (TERM_WEIGHT + 1) / (count + weight)
        return round(rank, 6)

    def looked_through(self) -> HitPage:
        """A page of hits in the sessions of the filter, parts of one conversation, whose messages are searched
        directly.
        """
        matches: list[MatchedMessage] = []
        until, looked, reached = time.monotonic() + SCANNING, 0, None
        for row in _rows(self.reader, self.search_filter.sessions, self.page.after):
            if looked >= SCANNED or (looked and looked % SLICE == 0 and time.monotonic() > until):
                break
            looked, reached, words = looked + 1, _message_key(row), words_of(row)
            if self._holds(row, words):
                matches.append(MatchedMessage(reached, row, words))
                if len(matches) > self.page.limit:
                    break
        else:
            reached = None
        hit_page = self._hit_page(matches, reached, looked)
        notes = (NOT_RANKED,) if self.search_filter.order == "best" else ()
        return replace(hit_page, scanned=True, notes=notes)

    # -- reading

    def _of_sessions(self, places: Sequence[Candidate]) -> list[Candidate]:
        """Those in sessions of the filter's source and project."""
        source, project = self.search_filter.source, self.search_filter.project
        if not (source or project):
            return list(places)
        names = self._names(places)
        lines = self._lines(names.values()).items()
        wanted = {name for name, line in lines if source in ("", line.source) and project in ("", line.cwd)}
        return [place for place in places if names.get(place[1]) in wanted]

    def _names(self, places: Sequence[Candidate]) -> dict[int, str]:
        """The ids of these messages' sessions, and of others read earlier, by their numbers."""
        for chunk in chunks(sorted({number for _, number, _ in places} - set(self.names))):
            sessions = SessionText.objects.filter(pk__in=chunk, gone=False)
            self.names.update(sessions.values_list("pk", "session_id"))
        return self.names

    def _read(self, places: Sequence[Candidate]) -> Iterator[MatchedMessage]:
        """Those of these messages that exist and match, in this order."""
        names = self._names(places)
        ids: dict[str, list[int]] = {}
        for _, number, message in places:
            if number in names:
                ids.setdefault(names[number], []).append(message)
        rows = {name: self._messages(name, message_ids) for name, message_ids in ids.items()}
        for place, number, message in places:
            row = rows.get(names.get(number, ""), {}).get(message)
            if row is not None and self._holds(row, words := words_of(row)):
                yield MatchedMessage((0.0, place), row, words)

    def _messages(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        try:
            return self.reader.messages(session_id, ids)
        except NotFound:  # the next comparison says so
            return {}
        except one_session.OF_ALL:
            raise
        except Exception as failure:
            one_session.log(self.reader.store.name, session_id, "searched", failure)
            return {}

    def _holds(self, row: StoredMessage, words: Readable) -> bool:
        search_filter = self.search_filter
        if row.state == "out" or search_filter.role not in ("", row.role):
            return False
        if (search_filter.since is not None and row.timestamp < search_filter.since) or (
            search_filter.until is not None and row.timestamp >= search_filter.until
        ):
            return False
        folded = fold(words.text)
        return not self.query.forbids(folded) and not self.query.lacks(folded)

    # -- hits

    def _hit_page(self, matches: Sequence[MatchedMessage], behind: Key | None, looked: int) -> HitPage:
        """The first matches; the next page starts after the last of them or, if there are no more, at `behind`."""
        shown, full = matches[: self.page.limit], len(matches) > self.page.limit
        listed = self._lines({each.row.session_id for each in shown})
        return HitPage(
            hits=tuple(self._hit(each, listed) for each in shown),
            next=shown[-1].key if full else behind,
            stopped=behind is not None and not full,
            looked=looked,
            scanned=False,
        )

    def _hit(self, match: MatchedMessage, listed: Mapping[str, SessionIndex]) -> Hit:
        row, words = match.row, match.words
        part = words.holding(self.query)
        session = self._session(row.session_id, listed.get(row.session_id))
        shown = words_of(row, redacting=True) if self.page.redacting and self.page.passages else words
        return Hit(
            id=row.id,
            session=session,
            kind="summary" if part == "summary" else "message",
            standalone=bool(words.summary) and not words.said,
            role=row.role,
            time=row.timestamp,
            state="under" if session.split and row.state == "live" else row.state,
            passage=shown.passage_in(part, self.query) if self.page.passages else (),
            key=match.key,
        )

    def _session(self, session_id: str, line: SessionIndex | None) -> HitSession:
        if line is None:
            return HitSession(session_id, "", "", split=False)
        name = name_of(line)
        return HitSession(session_id, redacted_name(name) if self.page.redacting else name, line.source, line.continued)

    def _lines(self, ids: Iterable[str]) -> dict[str, SessionIndex]:
        return upsert.lines_of(self.state, sorted(set(ids)))


def _message_key(row: StoredMessage) -> Key:
    """The key of a message found without the index: no place is below 0."""
    return 0.0, -1 - row.id


def is_message_key(key: Key) -> bool:
    """Whether it is a `_message_key`, and not that of an indexed message."""
    return key[1] < 0


def _slices(places: Sequence[Candidate]) -> Iterable[Sequence[Candidate]]:
    return (places[start : start + SLICE] for start in range(0, len(places), SLICE))


def _by_rank(match: MatchedMessage) -> Key:
    return match.key[0], -match.key[1]


def _rows(reader: Reader, parts: Sequence[str], after: Key | None) -> Iterator[StoredMessage]:
    """The messages of a conversation's parts, newest first, before the one with the id in `after`."""
    before = -1 - after[1] if after else None
    if before is not None:
        row = next((row for part in parts for row in reader.messages(part, [before]).values()), None)
        parts = parts[: parts.index(row.session_id) + 1] if row and row.session_id in parts else ()
    for part in reversed(parts):
        while rows := reader.raw(part, before=before, limit=10 * SLICE):
            before = rows[0].id
            yield from reversed(rows)
        before = None
