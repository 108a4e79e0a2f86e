"""Lists of sessions: one query over all stores, in any order, narrowed by anything, from any place on.

A page costs the same wherever it begins and whatever narrows it. Where what is wanted is common, it is met soon on the
way down the order (WINDOW); where it is rare, the ways down of the few kinds that are wanted are merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

from cachetools import LRUCache, cached
from django.db import connection
from django.db.models import Count

from viewer.catalog import sync, upsert
from viewer.catalog.models import FacetGroup, SessionIndex, StoreState
from viewer.catalog.sync import StoreListing
from viewer.stores.base import Store
from viewer.stores.registry import agent_of

Order = Literal["recent", "created", "messages", "tokens", "cost", "title"]
Key = tuple[float | str, str, int]  # what it is ordered by, session id, number of the line
WINDOW = 2_000  # lines looked through in order before the kinds are
RARE, GRAM = 1_000, 3  # lines that are looked at one by one; letters that the index of words takes together
KINDS = 60  # whose ways are merged; of more, all lines are looked through, which takes a tenth of a second a million
COLUMNS = {
    "recent": "last_active",
    "created": "started_at",
    "messages": "live",
    "tokens": "coalesce(tokens, -1)",
    "cost": "coalesce(cost, -1.0)",
    "title": "sort_name",
}
UNKNOWN = -1.0  # what is not counted, or has no price, comes last
PINNED = 50  # sessions at most that stand above a list
UNSHOWN = ("words", "mark", "counted", "own_words")
ROUNDS, AHEAD = 8, 5_000  # of comparing what is about to be shown with the stores; lines in one of them


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """What a list of sessions is narrowed to, where not empty. `q` is sought in titles, ids and first requests; `near`
    asks for those that need compaction, and `delegated` for sub-agents' sessions, or for all others; `only` these
    sessions are looked at, (name of the store, id), where it is given.
    """

    q: str = ""
    source: str = ""
    model: str = ""
    state: Literal["", "open", "ended", "archived"] = ""
    compacted: bool | None = None
    near: bool = False
    delegated: bool | None = None
    order: Order = "recent"
    only: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True, slots=True)
class SessionList:
    """One page of lines with the stores they are of; `more` says that there are others behind them."""

    lines: tuple[SessionIndex, ...]
    listings: tuple[StoreListing, ...]
    kinds: tuple[FacetGroup, ...]
    more: bool

    @property
    def unlisted(self) -> int:
        """Sessions of these stores that are not listed yet."""
        return sum(listing.state.unlisted for listing in self.listings if listing.state)

    def active(self) -> set[int]:
        """Numbers of the lines of sessions that are active now, as `stores.base.Session` has it."""
        told = {listing.state.pk: agent_of(listing.store).open_sessions() for listing in self.listings if listing.state}
        found = {line.pk for line in self.lines if told[line.state_id] is None and line.is_active_lately}
        return found | {line.pk for line in self.lines if line.session_id in (told[line.state_id] or ())}


def page_of_lines(wanted: SessionFilter, stores: Sequence[Store], limit: int, after: Key | None = None) -> SessionList:
    """At most `limit` lines in order behind the key `after` of an earlier page, as the stores have them now.

    Where lines turn out to have changed, it is looked again, twice as far each time: an owner may delete hundreds.
    """
    listings, compared = sync.store_listings(stores), limit
    for _ in range(ROUNDS):
        kinds = kinds_of(listings)
        chosen = {kind.pk for kind in kinds if _is_wanted(kind, wanted)}
        ids = _found(wanted, listings, sorted(chosen), compared + 1, after)
        lines = _lines(ids, wanted.order)
        if _are_verified(listings, lines[:compared]):
            break
        compared = max(limit, min(2 * compared, AHEAD))
    else:  # those that still stand are right
        lines = [line for line in _lines(ids, wanted.order) if line.kind_id in chosen]
    return SessionList(tuple(lines[:limit]), tuple(listings), tuple(kinds), len(lines) > limit)


_with_sessions: set[str] = set()  # places of stores that were seen with a session: no page asks for them again


def have_sessions(stores: Sequence[Store]) -> bool:
    """Whether one of these stores has a session, or cannot be read: then it may have one."""
    if not _with_sessions.isdisjoint(store.place for store in stores):
        return True
    states = [listing.state for listing in sync.store_listings(stores) if listing.state]
    found = SessionIndex.objects.filter(state__in=states, tip=True).values_list("state__place", flat=True).distinct()
    _with_sessions.update(found)
    return len(states) < len(stores) or bool(found)


def named_tip(listing: StoreListing, title: str) -> SessionIndex | None:
    """The session of a store that has this title and is listed."""
    return SessionIndex.objects.filter(state=listing.state, title=title, tip=True).defer(*UNSHOWN).first()


def of_sessions(store: Store, ids: Sequence[str]) -> list[SessionIndex]:
    """The lines of these sessions of a store, as far as they are listed. Raises StoreUnavailable."""
    return list(upsert.lines_of(sync.state_at(store), ids).values())


def sort_key(line: SessionIndex, order: Order) -> Key:
    """The key of a line: what `page_of_lines` takes as `after`."""
    values: dict[Order, float | str] = {
        "recent": line.last_active,
        "created": line.started_at,
        "messages": float(line.live),
        "tokens": UNKNOWN if line.tokens is None else float(line.tokens),
        "cost": UNKNOWN if line.cost is None else line.cost,
        "title": line.sort_name,
    }
    return values[order], line.session_id, line.pk


# -- what is wanted ----------------------------------------------------------------------------------------------------


def kinds_of(listings: Iterable[StoreListing]) -> list[FacetGroup]:
    """The kinds of sessions that there are in these stores."""
    return [kind for listing in listings if listing.state for kind in _kinds_of_one(listing.state)]


def forget() -> None:
    """Read anew what is remembered of stores: for tests, which take back what they write into our own database."""
    for remembered in (_kinds_of_one, _numbers_of, _pinned_of):
        remembered.cache_clear()


def _edition(state: StoreState) -> tuple[int, int, str]:
    """Differs when lines of the store were written."""
    return state.pk, state.edition, state.signature


@cached(LRUCache(64), key=_edition, lock=Lock())
def _kinds_of_one(state: StoreState) -> list[FacetGroup]:
    """Those of one store; read once for each edition of its lines."""
    return list(FacetGroup.objects.filter(state=state))


def _is_wanted(kind: FacetGroup, wanted: SessionFilter) -> bool:
    return (
        kind.archived == (wanted.state == "archived")
        and (wanted.state not in ("open", "ended") or kind.ended == (wanted.state == "ended"))
        and wanted.source in ("", kind.source)
        and wanted.model in ("", kind.model)
        and wanted.compacted in (None, kind.compacted)
        and wanted.delegated in (None, kind.delegated)
        and (kind.near or not wanted.near)
    )


def _lines(ids: Sequence[int], order: Order) -> list[SessionIndex]:
    lines = SessionIndex.objects.filter(pk__in=ids).defer(*UNSHOWN)
    return sorted(lines, key=lambda line: sort_key(line, order), reverse=order != "title")


def _are_verified(listings: Sequence[StoreListing], lines: Sequence[SessionIndex]) -> bool:
    own = [
        (listing, [line for line in lines if line.state_id == listing.state.pk])
        for listing in listings
        if listing.state
    ]
    found = [sync.verified(listing, shown) for listing, shown in own]  # of every store
    return all(found)


# -- how many there are -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Counts:
    """How many sessions a list has, and how many it would have with one part of its filter changed; None each where
    that cannot be told soon, because many of them hold the words.
    """

    kinds: tuple[FacetGroup, ...]
    numbers: dict[int, int] | None

    def of(self, wanted: SessionFilter, states: Collection[int] | None = None) -> int | None:
        """The sessions that this filter leaves; of these stores' states alone, where they are given."""
        if self.numbers is None:
            return None
        kinds = (kind for kind in self.kinds if states is None or kind.state_id in states)
        return sum(self.numbers.get(kind.pk, 0) for kind in kinds if _is_wanted(kind, wanted))


def counts(listings: Sequence[StoreListing], wanted: SessionFilter) -> Counts:
    """The numbers of lines of each kind in these stores; of those alone that hold the words of the filter, and that it
    names.
    """
    kinds, words = tuple(kinds_of(listings)), _words(wanted)
    if wanted.only is None and not words:
        return Counts(
            kinds, {pk: n for listing in listings if listing.state for pk, n in _numbers_of(listing.state).items()}
        )
    some = _with_words(words) if wanted.only is None else _numbers_of_sessions(listings, wanted.only)
    if some is None:
        return Counts(kinds, None)
    rows = SessionIndex.objects.filter(pk__in=some).values_list("kind_id", "words")
    return Counts(kinds, dict(Counter(kind for kind, text in rows if all(word in text for word in words))))


@cached(LRUCache(64), key=_edition, lock=Lock())
def _numbers_of(state: StoreState) -> dict[int, int]:
    """Lines of each kind of a store; counted once for each edition of its lines."""
    kinds = FacetGroup.objects.filter(state=state).values("pk")
    return dict(SessionIndex.objects.filter(kind__in=kinds).values_list("kind_id").annotate(Count("pk")).order_by())


def pinned(listed: SessionList, wanted: SessionFilter, ours: Sequence[tuple[str, str]]) -> list[SessionIndex]:
    """The sessions of a list that are pinned, by their agent or in `ours` (name of the store, id); the most recent
    first, at most PINNED.
    """
    marked = {number for listing in listed.listings if listing.state for number in _pinned_of(listing.state)}
    marked.update(_numbers_of_sessions(listed.listings, ours))
    if not marked:
        return []
    chosen = {kind.pk for kind in listed.kinds if _is_wanted(kind, wanted)}
    few = SessionIndex.objects.filter(pk__in=marked).values_list("last_active", "pk", "kind_id")
    newest = sorted(((time, pk) for time, pk, kind in few if kind in chosen), reverse=True)[:PINNED]
    return _lines([pk for _, pk in newest], "recent") if newest else []


@cached(LRUCache(64), key=_edition, lock=Lock())
def _pinned_of(state: StoreState) -> list[int]:
    """The newest lines of a store that its agent pinned, at most RARE; read once for each edition of its lines."""
    kinds = [kind.pk for kind in _kinds_of_one(state)]
    lines = SessionIndex.objects.filter(kind__in=kinds, pinned=True)
    return list(lines.order_by("-last_active").values_list("pk", flat=True)[:RARE])


# -- finding them ------------------------------------------------------------------------------------------------------


def _found(
    wanted: SessionFilter, listings: Sequence[StoreListing], kinds: Sequence[int], limit: int, after: Key | None
) -> list[int]:
    """The numbers of the lines of a page."""
    if not kinds:
        return []
    words = _words(wanted)
    query = _Query(_column(wanted.order), wanted.order == "title", kinds, words, after, limit)
    if wanted.only is not None:
        return query.among(_numbers_of_sessions(listings, wanted.only))
    if words:
        rare = _with_words(words)
        return query.in_order(None) if rare is None else query.among(rare)
    ids = query.in_order(WINDOW)
    if len(ids) < limit:
        ids = query.by_kind() if len(kinds) <= KINDS else query.in_order(None)
    return ids


def _words(wanted: SessionFilter) -> list[str]:
    return wanted.q.casefold().replace("\0", "").split()


def _numbers_of_sessions(listings: Sequence[StoreListing], keys: Sequence[tuple[str, str]]) -> list[int]:
    """The lines of these sessions, at most RARE."""
    if not keys:
        return []
    states = {listing.store.name: listing.state.pk for listing in listings if listing.state}
    known = {(states[store], session_id) for store, session_id in keys[:RARE] if store in states}
    lines = SessionIndex.objects.filter(session_id__in=[session_id for _, session_id in known], tip=True)
    return [pk for pk, *key in lines.values_list("pk", "state_id", "session_id") if tuple(key) in known]


def _column(order: Order) -> str:
    """What is ordered by; names in the order that this program compares them in, whatever the database's own is."""
    return COLUMNS[order] + (' COLLATE "C"' if order == "title" and connection.vendor == "postgresql" else "")


def _with_words(words: Sequence[str]) -> list[int] | None:
    """The lines that hold all these words, in no order; None if that takes long, or they are many."""
    indexed = [word for word in words if len(word) >= GRAM]
    if not indexed or connection.vendor != "sqlite":  # PostgreSQL takes its index by itself
        return None
    wanted = " AND ".join('"' + word.replace('"', '""') + '"' for word in indexed)
    ids = _ids("SELECT rowid FROM catalog_words WHERE catalog_words MATCH %s LIMIT %s", [wanted, RARE + 1])
    return ids if len(ids) <= RARE else None


@dataclass(frozen=True, slots=True)
class _Query:
    """The ways to one page: SQL that both SQLite and PostgreSQL answer from the indexes of `SessionIndex`."""

    column: str
    ascending: bool
    kinds: Sequence[int]
    words: Sequence[str]
    after: Key | None
    limit: int

    def in_order(self, window: int | None) -> list[int]:
        """Down the order, past what is not wanted, through at most so many lines."""
        if window is None:
            return self._ordered(self._behind, self._after)
        inner = (
            f"SELECT id, session_id, kind_id, {self.column} AS place FROM catalog_line WHERE {self._behind} "
            f"ORDER BY {self._key} LIMIT %s"
        )
        sql = f"SELECT id FROM ({inner}) AS near WHERE {self._wanted} ORDER BY {self._placed} LIMIT %s"
        return _ids(sql, [*self._after, window, *self.kinds, self.limit])

    def among(self, numbers: Sequence[int]) -> list[int]:
        """Those of these few lines that are wanted."""
        few = f"id IN ({_marks(numbers)})" if numbers else "1 = 0"
        return self._ordered(f"{few} AND {self._behind}", [*numbers, *self._after])

    def _ordered(self, where: str, values: Sequence[Any]) -> list[int]:
        words = " AND words LIKE %s ESCAPE '!'" * len(self.words)
        sql = f"SELECT id FROM catalog_line WHERE {where} AND {self._wanted}{words} ORDER BY {self._key} LIMIT %s"
        patterns = [f"%{_escaped(word)}%" for word in self.words]
        return _ids(sql, [*values, *self.kinds, *patterns, self.limit])

    def by_kind(self) -> list[int]:
        """Down the orders of the kinds, merged."""
        one = (
            f"SELECT * FROM (SELECT id, session_id, {self.column} AS place FROM catalog_line WHERE kind_id = %s AND "
            f"{self._behind} ORDER BY {self._key} LIMIT %s) AS one"
        )
        values = [value for kind in self.kinds for value in (kind, *self._after, self.limit)]
        merged = " UNION ALL ".join([one] * len(self.kinds))
        return _ids(f"SELECT id FROM ({merged}) AS merged ORDER BY {self._placed} LIMIT %s", [*values, self.limit])

    @property
    def _key(self) -> str:
        return self._order_by(self.column)

    @property
    def _placed(self) -> str:
        return self._order_by("place")

    def _order_by(self, column: str) -> str:
        way = "ASC" if self.ascending else "DESC"
        return f"{column} {way}, session_id {way}, id {way}"

    @property
    def _behind(self) -> str:
        than = ">" if self.ascending else "<"
        return f"({self.column}, session_id, id) {than} (%s, %s, %s)" if self.after else "1 = 1"

    @property
    def _after(self) -> Sequence[Any]:
        return self.after or ()

    @property
    def _wanted(self) -> str:
        return f"kind_id IN ({_marks(self.kinds)})"


def _escaped(word: str) -> str:
    for character in "!%_":
        word = word.replace(character, f"!{character}")
    return word


def _marks(values: Sequence[Any]) -> str:
    return ", ".join(["%s"] * len(values))


def _ids(sql: str, values: Sequence[Any]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return [row[0] for row in cursor.fetchall()]


# -- a part whose parent is missing ------------------------------------------------------------------------------------


def guessed(lines: Sequence[SessionIndex]) -> dict[int, SessionIndex]:
    """For lines without a parent, the session that each seems to go on from: titled as the part before it, and begun
    with the same words. By number of the line; nothing is made of it.
    """
    later = [line for line in lines if line.part_number > 1 and not line.parent and line.first_words]
    if not later:
        return {}
    states, titles = {line.state_id for line in later}, {line.base_title for line in later}
    candidates = SessionIndex.objects.filter(state__in=states, base_title__in=titles).defer(*UNSHOWN)
    # Of "name" and "name #1", both of which may be the first part, the one without a number.
    by_part = {
        (line.state_id, line.base_title, line.part_number, line.first_words): line
        for line in sorted(candidates, key=lambda line: len(line.title), reverse=True)
    }
    before = {
        line.pk: by_part.get((line.state_id, line.base_title, line.part_number - 1, line.first_words)) for line in later
    }
    return {number: match for number, match in before.items() if match is not None}
