"""Indexed messages that may hold what is looked for, newest first, in batches: by their words, or by parts of words.

Parts of words are sought in the words of each message, unpacked: 200 MB of text take a third of a second. A batch says
how far it came, so that the next page goes on from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from viewer.catalog.models import SessionText, StoreText, TextMessage, TextPortion
from viewer.catalog.search import index
from viewer.catalog.search.index import LATEST, PER_SECOND, RUNS, Asked
from viewer.stores.batches import chunks
from viewer.stores.search.pages import SearchFilter
from viewer.stores.search.query import Query, Term

LOOKED = 10_000  # messages that the index names which one page looks at
FIRST = 60  # messages of the first batch, which most often fills a page
PORTIONS = 16  # that are read together
DRIFT = 86_400  # seconds by which a message may stand later than its time, beside very many of the same moment

Place = tuple[int, int, int]  # place, number of the `SessionText`, id of the message
_WORDS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class PlaceBatch:
    """Candidates downwards, and the place down to which all have been named; `looked` counts what was looked at so far.
    `more` says that there are others below.
    """

    places: tuple[Place, ...]
    reached: int
    looked: int
    more: bool


@dataclass(frozen=True, slots=True)
class TextScope:
    """Where candidates are sought: in a store, or in some sessions of it (numbers of `SessionText`), between places."""

    text: StoreText
    sessions: tuple[int, ...]
    role: str
    low: int
    high: int


def scope_of(text: StoreText, wanted: SearchFilter, after: int | None) -> TextScope:
    """What a search is narrowed to, as far as the index tells, below the place `after`."""
    numbers = SessionText.objects.filter(store_id=text.pk, session_id__in=wanted.sessions) if wanted.sessions else None
    high = PER_SECOND * LATEST * 2 if wanted.until is None else index.place_of(wanted.until + DRIFT)
    return TextScope(
        text=text,
        sessions=tuple(numbers.values_list("pk", flat=True)) if numbers is not None else (),
        role=wanted.role,
        low=0 if wanted.since is None else index.place_of(wanted.since),
        high=high if after is None else min(high, after - 1),
    )


def by_words(scope: TextScope, asked: Asked) -> Iterator[PlaceBatch]:
    """What the index names, at most LOOKED messages."""
    marks = [index.store_mark(scope.text.pk), *([index.role_mark(scope.role)] if scope.role else [])]
    sessions = tuple(index.session_mark(number) for number in scope.sessions)
    question = Asked((*marks, *asked.wanted), asked.excluded, sessions)
    high, looked, size = scope.high, 0, FIRST
    while looked < LOOKED:
        size = min(size, LOOKED - looked)
        found = index.places(question, scope.low, high, size)
        looked += len(found)
        high = found[-1][0] - 1 if found else scope.low - 1
        yield PlaceBatch(tuple(found), high + 1, looked, more=len(found) == size)
        if len(found) < size:
            return
        size *= 8


# -- parts of words ----------------------------------------------------------------------------------------------------


def parts_of_words(query: Query) -> tuple[str, ...]:
    """Texts in the words of each message with all that is wanted, where the words have spaces around them."""
    return tuple(dict.fromkeys(part for term in query.wanted for part in _parts(term)))


def _parts(term: Term) -> Iterator[str]:
    for word in term.words[:-1]:
        yield f" {index.cut(word)} "
    if term.words:
        yield f" {index.cut(term.words[-1])}{'' if term.prefix else ' '}"
        return
    for found in _WORDS.finditer(term.text):  # the first and the last may be parts
        if not RUNS.search(found[0]):
            begins, ends = found.start() > 0, found.end() < len(term.text)
            yield f"{' ' * begins}{index.cut(found[0])}{' ' * ends}"
    for run in RUNS.findall(term.text):
        yield from (f" {first}{second} " for first, second in zip(run, run[1:], strict=False))


def by_parts(scope: TextScope, parts: Sequence[str]) -> Iterator[PlaceBatch]:
    """The messages whose words have all these parts."""
    waiting: list[tuple[int, Place]] = []
    looked = 0
    role = [f" {index.role_mark(scope.role)} "] if scope.role else []
    for portions, below in _portions(scope):
        for portion in portions:
            lines = index.unpacked(bytes(portion.words), [*role, *parts])
            found = [place for place, _ in lines if scope.low <= place <= scope.high]
            looked += len(found)
            for each in _known(found):
                heappush(waiting, (-each[0], each))
        ready: list[Place] = []
        while waiting and waiting[0][1][0] > below:
            ready.append(heappop(waiting)[1])
        yield PlaceBatch(tuple(ready), below + 1, looked, more=below >= scope.low)


def _portions(scope: TextScope) -> Iterator[tuple[list[TextPortion], int]]:
    """The portions by their newest message, downwards, some at a time, and the newest place of those behind them."""
    found = TextPortion.objects.filter(store_id=scope.text.pk, newest__gte=scope.low, oldest__lte=scope.high)
    if scope.sessions:
        found = found.filter(session__in=scope.sessions)
    order = list(found.order_by("-newest", "-pk").values_list("pk", "newest"))
    for start in range(0, len(order), PORTIONS):
        behind = order[start + PORTIONS : start + PORTIONS + 1]
        numbers = [number for number, _ in order[start : start + PORTIONS]]
        yield list(TextPortion.objects.filter(pk__in=numbers)), behind[0][1] if behind else scope.low - 1


def _known(places: Sequence[int]) -> Iterator[Place]:
    for chunk in chunks(places):
        yield from TextMessage.objects.filter(pk__in=chunk).values_list("pk", "session_id", "message")
