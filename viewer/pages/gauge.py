"""How many tokens a session has in context and what each row weighs, remembered while the session stays the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from viewer.runs.ours import history_of
from viewer.store import counting, reading
from viewer.store.sessions import Session, chain
from viewer.store.stores import Reader, identity

T = TypeVar("T")
SAMPLE = 400  # rows; where many sessions are listed a longer one is estimated from its newest rows
ALL_ROWS = 2**31


@dataclass(frozen=True, slots=True)
class Gauge:
    """Tokens in context and the window they must fit; `about` for an estimate."""

    tokens: int
    window: int
    about: bool

    @property
    def share(self) -> float:
        """Of the window, 0.0 to 1.0 for drawing."""
        return min(1.0, self.tokens / self.window) if self.window else 0.0


@dataclass(frozen=True, slots=True)
class Totals:
    """Messages of History, each once; those of them in context; compactions."""

    messages: int
    in_context: int
    compactions: int


class _Remembered(Generic[T]):
    """The newest results of this process, by a key that changes with the session."""

    def __init__(self, limit: int) -> None:
        self._found: OrderedDict[Hashable, T] = OrderedDict()
        self._limit = limit

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = make()
            if len(self._found) > self._limit:
                self._found.popitem(last=False)
        return found


_gauges: _Remembered[Gauge] = _Remembered(2_000)
_totals: _Remembered[Totals] = _Remembered(2_000)
_weights: _Remembered[dict[int, int]] = _Remembered(50)


def _key(reader: Reader, session: Session, *more: Hashable) -> Hashable:
    # The inode comes last on purpose: two stores may hold sessions of one id, copies of one database above all.
    counts = (session.rows, session.live, session.under, session.last_active, session.model, session.parts)
    return (session.id, *counts, *more, identity(reader.store))


def context_gauge(reader: Reader, session: Session, *, sample: int = ALL_ROWS) -> Gauge:
    """Tokens a model would be sent for this session's messages; from its `sample` newest rows if it has more."""
    exact = session.live <= sample
    return _gauges.get(_key(reader, session, exact), lambda: _gauge(reader, session, sample, exact))


def _gauge(reader: Reader, session: Session, sample: int, exact: bool) -> Gauge:
    rows = reading.for_model(reading.raw_rows(reader, session.id, before=None, limit=sample, live_only=True))
    count = counting.counter_for(session.model)
    found = sum(counting.row_tokens(row, count) for row in rows)
    tokens = found if exact else found * session.live // max(1, len(rows))
    return Gauge(tokens, counting.context_window(session.model), about=not exact)


def totals(reader: Reader, session: Session) -> Totals:
    """Counts of the session's History; nothing is read for a session that was never compacted."""
    if session.parts == 1 and not session.under:
        return Totals(session.live, session.live, 0)
    return _totals.get(_key(reader, session), lambda: _read_totals(reader, session))


def _read_totals(reader: Reader, session: Session) -> Totals:
    history = history_of(reader, session.id)
    entries = history.entries
    return Totals(len(entries), sum(entry.state == "live" for entry in entries), len(history.compactions))


def weights(reader: Reader, session: Session) -> dict[int, int]:
    """Tokens of every row of the session and the parts before it, by row id."""
    return _weights.get(_key(reader, session), lambda: _weigh(reader, session))


def _weigh(reader: Reader, session: Session) -> dict[int, int]:
    count = counting.counter_for(session.model)
    return {
        row.id: counting.row_tokens(row, count)
        for part in chain(reader, session.id)
        for row in reading.raw_rows(reader, part, before=None, limit=ALL_ROWS)
    }
