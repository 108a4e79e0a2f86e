"""Indexed messages that may match a query, newest first, in batches: by their words, or by parts of words.

Parts of words are searched for in the words of each message, unpacked: 200 MB of text take a third of a second. A batch
says how far it came, so that the next page continues there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from viewer.catalog.models import SessionText, StoreText, TextMessage, TextPortion
from viewer.catalog.search import index
from viewer.catalog.search.index import LATEST, PER_SECOND, RUNS, WordQuery
from viewer.stores.batches import chunks
from viewer.stores.search.pages import SearchFilter
from viewer.stores.search.query import Query, Term

LOOKED = 10_000  # messages that the index names which one page looks at
FIRST = 60  # messages of the first batch, which most often fills a page
PORTIONS = 16  # that are read together
DRIFT = 86_400  # seconds by which a message's place may be later than its time, if very many have the same time

Candidate = tuple[int, int, int]  # place, number of the `SessionText`, id of the message
_WORDS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class CandidateBatch:
    """Candidates in descending order, and the place down to which all have been found; `looked` counts what was looked
    at so far. `more`: others follow.
    """

    places: tuple[Candidate, ...]
    reached: int
    looked: int
    more: bool


@dataclass(frozen=True, slots=True)
class TextScope:
    """Where to look for candidates: in a store, or in some sessions of it (numbers of `SessionText`), between two
    places.
    """

    text: StoreText
    sessions: tuple[int, ...]
    role: str
    low: int
    high: int


def scope_of(text: StoreText, filters: SearchFilter, after: int | None) -> TextScope:
    """The part of the filter that the index can apply, below the place `after`."""
    sessions = filters.sessions
    numbers = SessionText.objects.filter(store_id=text.pk, session_id__in=sessions) if sessions else None
    high = PER_SECOND * LATEST * 2 if filters.until is None else index.place_of(filters.until + DRIFT)
    return TextScope(
        text=text,
        sessions=tuple(numbers.values_list("pk", flat=True)) if numbers is not None else (),
        role=filters.role,
        low=0 if filters.since is None else index.place_of(filters.since),
        high=high if after is None else min(high, after - 1),
    )


def by_words(scope: TextScope, word_query: WordQuery) -> Iterator[CandidateBatch]:
    """The index's matches, at most LOOKED messages."""
    marks = [index.store_mark(scope.text.pk), *([index.role_mark(scope.role)] if scope.role else [])]
    sessions = tuple(index.session_mark(number) for number in scope.sessions)
    question = WordQuery((*marks, *word_query.wanted), word_query.excluded, sessions)
    high, looked, size = scope.high, 0, FIRST
    while looked < LOOKED:
        size = min(size, LOOKED - looked)
        rows = index.places(question, scope.low, high, size)
        looked += len(rows)
        high = rows[-1][0] - 1 if rows else scope.low - 1
        yield CandidateBatch(tuple(rows), high + 1, looked, more=len(rows) == size)
        if len(rows) < size:
            return
        size *= 8


# -- parts of words ----------------------------------------------------------------------------------------------------


def parts_of_words(query: Query) -> tuple[str, ...]:
    """Texts that occur in the words of each matching message, where words have spaces around them."""
    return tuple(dict.fromkeys(part for term in query.wanted for part in _parts(term)))


def _parts(term: Term) -> Iterator[str]:
    for word in term.words[:-1]:
        yield f" {index.cut(word)} "
    if term.words:
        yield f" {index.cut(term.words[-1])}{'' if term.prefix else ' '}"
        return
    for match in _WORDS.finditer(term.text):  # the first and the last may be parts
        if not RUNS.search(match[0]):
            begins, ends = match.start() > 0, match.end() < len(term.text)
            yield f"{' ' * begins}{index.cut(match[0])}{' ' * ends}"
    for run in RUNS.findall(term.text):
        yield from (f" {first}{second} " for first, second in zip(run, run[1:], strict=False))


def by_parts(scope: TextScope, parts: Sequence[str]) -> Iterator[CandidateBatch]:
    """The messages whose words contain all these parts."""
    waiting: list[tuple[int, Candidate]] = []
    looked = 0
    role = [f" {index.role_mark(scope.role)} "] if scope.role else []
    for portions, below in _portions(scope):
        for portion in portions:
            lines = index.unpacked(bytes(portion.words), [*role, *parts])
            places = [place for place, _ in lines if scope.low <= place <= scope.high]
            looked += len(places)
            for each in _indexed_messages(places):
                heappush(waiting, (-each[0], each))
        ready: list[Candidate] = []
        while waiting and waiting[0][1][0] > below:
            ready.append(heappop(waiting)[1])
        yield CandidateBatch(tuple(ready), below + 1, looked, more=below >= scope.low)


def _portions(scope: TextScope) -> Iterator[tuple[list[TextPortion], int]]:
    """The portions by their newest message, descending, a few at a time, with the newest place of the next ones."""
    portions = TextPortion.objects.filter(store_id=scope.text.pk, newest__gte=scope.low, oldest__lte=scope.high)
    if scope.sessions:
        portions = portions.filter(session__in=scope.sessions)
    order = list(portions.order_by("-newest", "-pk").values_list("pk", "newest"))
    for start in range(0, len(order), PORTIONS):
        behind = order[start + PORTIONS : start + PORTIONS + 1]
        numbers = [number for number, _ in order[start : start + PORTIONS]]
        yield list(TextPortion.objects.filter(pk__in=numbers)), behind[0][1] if behind else scope.low - 1


def _indexed_messages(places: Sequence[int]) -> Iterator[Candidate]:
    for chunk in chunks(places):
        yield from TextMessage.objects.filter(pk__in=chunk).values_list("pk", "session_id", "message")
