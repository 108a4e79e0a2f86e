"""Lists of sessions: one query over all stores, in any order, with any filter, starting at any position.

A page costs the same at any position and with any filter. If matching lines are common, they are soon found by reading
in order (WINDOW); if they are rare, the ordered lines of the few matching kinds are merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, Literal

from cachetools import LRUCache, cached
from django.db import connection
from django.db.models import Count, Max, Q
from django.db.models.functions import Coalesce

from viewer.catalog import sync, upsert
from viewer.catalog.models import FacetGroup, SessionIndex, StoreState
from viewer.catalog.needs_compaction import lately
from viewer.catalog.sync import StoreListing
from viewer.stores.base import Store
from viewer.stores.registry import agent_of

Order = Literal["recent", "created", "messages", "tokens", "cost", "title"]
Key = tuple[float | str, str, int]  # what it is ordered by, session id, number of the line
WINDOW = 2_000  # lines looked through in order before the kinds are
RARE, GRAM = 1_000, 3  # lines that are looked at one by one; letters that the index of words takes together
KINDS = 60  # that are merged at most; with more, all lines are read, which takes a tenth of a second per million
COLUMNS = {
    "recent": "last_active",
    "created": "started_at",
    "messages": "live",
    "tokens": "coalesce(tokens, -1)",
    "cost": "coalesce(cost, -1.0)",
    "title": "sort_name",
}
UNKNOWN = -1.0  # lines that are not counted, or have no price, come last
PINNED = 50  # the most sessions above a list
UNSHOWN = ("words", "mark", "counted", "own_words")
ROUNDS, AHEAD = 8, 5_000  # of comparing lines with the stores before they are shown; lines in one round


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """The filter of a list of sessions; empty fields do not filter. `q` is searched for in titles, ids, first requests
    and working directories; `project` is such a directory; `near` selects sessions that need compaction: their tokens
    are close to the agent's threshold, they are open, no sub-agents', and were active lately; `delegated` selects
    sub-agents' sessions (True) or all others (False); with `only`, only these sessions count, as (name of the
    store, id).
    """

    q: str = ""
    source: str = ""
    model: str = ""
    project: str = ""
    state: Literal["", "open", "ended", "archived"] = ""
    compacted: bool | None = None
    near: bool = False
    delegated: bool | None = None
    order: Order = "recent"
    only: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True, slots=True)
class SessionList:
    """One page of lines with their stores; `more`: other lines follow."""

    lines: tuple[SessionIndex, ...]
    listings: tuple[StoreListing, ...]
    kinds: tuple[FacetGroup, ...]
    more: bool

    @property
    def unlisted(self) -> int:
        """The number of sessions of these stores that are not listed yet."""
        return sum(listing.state.unlisted for listing in self.listings if listing.state)

    def active(self) -> set[int]:
        """Numbers of the lines of sessions that are active now, as defined in `stores.base.Session`."""
        open_ids = {
            listing.state.pk: agent_of(listing.store).open_sessions() for listing in self.listings if listing.state
        }
        lately = {line.pk for line in self.lines if open_ids[line.state_id] is None and line.is_active_lately}
        return lately | {line.pk for line in self.lines if line.session_id in (open_ids[line.state_id] or ())}


def page_of_lines(
    session_filter: SessionFilter, stores: Sequence[Store], limit: int, after: Key | None = None
) -> SessionList:
    """At most `limit` lines in order after the key `after` of an earlier page, as the stores have them now.

    If lines have changed, it reads again, twice as far each time: an owner may delete hundreds.
    """
    listings, compared = sync.store_listings(stores), limit
    for _ in range(ROUNDS):
        kinds = kinds_of(listings)
        chosen = {kind.pk for kind in kinds if _matches(kind, session_filter)}
        ids = _line_ids(session_filter, listings, sorted(chosen), compared + 1, after)
        lines = _lines(ids, session_filter.order)
        if _are_verified(listings, lines[:compared]):
            break
        compared = max(limit, min(2 * compared, AHEAD))
    else:  # the lines that remain are correct
        lines = [line for line in _lines(ids, session_filter.order) if line.kind_id in chosen]
    return SessionList(tuple(lines[:limit]), tuple(listings), tuple(kinds), len(lines) > limit)


_with_sessions: set[str] = set()  # places of stores that were seen with a session: no page asks for them again


def have_sessions(stores: Sequence[Store]) -> bool:
    """Whether one of these stores has a session, or cannot be read and so may have one."""
    if not _with_sessions.isdisjoint(store.place for store in stores):
        return True
    states = [listing.state for listing in sync.store_listings(stores) if listing.state]
    places = SessionIndex.objects.filter(state__in=states, tip=True).values_list("state__place", flat=True).distinct()
    _with_sessions.update(places)
    return len(states) < len(stores) or bool(places)


def named_tip(listing: StoreListing, title: str) -> SessionIndex | None:
    """The session of a store that has this title and is listed."""
    return SessionIndex.objects.filter(state=listing.state, title=title, tip=True).defer(*UNSHOWN).first()


def have_costs(listings: Iterable[StoreListing]) -> bool:
    """Whether the cost of a session in one of these stores is known."""
    return any(_has_costs(listing.state) for listing in listings if listing.state)


def of_sessions(store: Store, ids: Sequence[str]) -> list[SessionIndex]:
    """The lines of these sessions of a store, if they are listed. Raises StoreUnavailable."""
    return list(upsert.lines_of(sync.state_at(store), ids).values())


def sort_key(line: SessionIndex, order: Order) -> Key:
    """The key of a line, for the argument `after` of `page_of_lines`."""
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
    """The kinds of sessions in these stores."""
    return [kind for listing in listings if listing.state for kind in _kinds_of_one(listing.state)]


def forget() -> None:
    """Clear what is cached of stores: for tests, which roll back their writes to our own database."""
    for remembered in (_kinds_of_one, _has_costs, _numbers_of, _pinned_of):
        remembered.cache_clear()


def edition(state: StoreState) -> tuple[int, int, str]:
    """Changes when lines of the store were written."""
    return state.pk, state.edition, state.signature


@cached(LRUCache(64), key=edition, lock=Lock())
def _kinds_of_one(state: StoreState) -> list[FacetGroup]:
    """The kinds of one store; read once per edition of its lines."""
    return list(FacetGroup.objects.filter(state=state))


@cached(LRUCache(64), key=edition, lock=Lock())
def _has_costs(state: StoreState) -> bool:
    """The same of one store; read once per edition of its lines, from the index by cost."""
    lines = SessionIndex.objects.alias(known=Coalesce("cost", UNKNOWN))
    return lines.filter(known__gt=0, kind__in=[kind.pk for kind in _kinds_of_one(state)]).exists()


def _matches(kind: FacetGroup, session_filter: SessionFilter) -> bool:
    return (
        kind.archived == (session_filter.state == "archived")
        and (session_filter.state not in ("open", "ended") or kind.ended == (session_filter.state == "ended"))
        and session_filter.source in ("", kind.source)
        and session_filter.model in ("", kind.model)
        and session_filter.compacted in (None, kind.compacted)
        and session_filter.delegated in (None, kind.delegated)
        and (kind.is_near_and_open or not session_filter.near)
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
    results = [sync.verified(listing, shown) for listing, shown in own]  # of every store
    return all(results)


# -- how many there are -----------------------------------------------------------------------------------------------


def beyond_list(state: StoreState) -> dict[str, int]:
    """The numbers of sessions of a store that its list does not show at first: earlier parts of conversations, archived
    ones, and sub-agents'.
    """
    return SessionIndex.objects.filter(state=state).aggregate(
        parts=Count("pk", filter=Q(tip=False)),
        archived=Count("pk", filter=Q(kind__archived=True, kind__delegated=False)),
        sub_agents=Count("pk", filter=Q(kind__delegated=True)),
    )


@dataclass(frozen=True)
class Counts:
    """The number of sessions in a list, and in lists with one part of the filter changed; None if that takes too long,
    because many lines have the words. `numbers` are by working directory and kind, and `recent` those of lines that
    were active lately.
    """

    kinds: tuple[FacetGroup, ...]
    numbers: dict[str, dict[int, int]] | None
    recent: dict[str, dict[int, int]] | None

    def of(self, session_filter: SessionFilter, states: Collection[int] | None = None) -> int | None:
        """The number of sessions that match this filter; with `states`, only in those stores."""
        by_project = self._of(session_filter)
        if by_project is None:
            return None
        project, totals = session_filter.project, self._totals[session_filter.near]
        numbers = totals if not project else by_project.get(project, {})
        return sum(numbers.get(pk, 0) for pk in self._matching(session_filter, states))

    def projects(self, session_filter: SessionFilter, states: Collection[int] | None = None) -> dict[str, int]:
        """The number of sessions of each working directory that match this filter, whatever its project is."""
        kinds = set(self._matching(session_filter, states))
        sums = {
            project: sum(number for kind, number in by_kind.items() if kind in kinds)
            for project, by_kind in (self._of(session_filter) or {}).items()
            if project
        }
        return {project: number for project, number in sums.items() if number}

    def _of(self, session_filter: SessionFilter) -> dict[str, dict[int, int]] | None:
        return self.recent if session_filter.near else self.numbers

    def _matching(self, session_filter: SessionFilter, states: Collection[int] | None) -> Iterator[int]:
        kinds = (kind for kind in self.kinds if states is None or kind.state_id in states)
        return (kind.pk for kind in kinds if _matches(kind, session_filter))

    @cached_property
    def _totals(self) -> tuple[Counter[int], Counter[int]]:
        """The number of sessions of each kind, and of those that were active lately."""
        totals = Counter[int](), Counter[int]()
        for total, by_project in zip(totals, (self.numbers, self.recent), strict=True):
            for by_kind in (by_project or {}).values():
                total.update(by_kind)
        return totals


def counts(listings: Sequence[StoreListing], session_filter: SessionFilter) -> Counts:
    """The number of lines of each kind in these stores; only lines with the words of the filter and sessions in its
    `only`.
    """
    kinds, words = tuple(kinds_of(listings)), _words(session_filter)
    if session_filter.only is None and not words:
        return Counts(kinds, _numbers(listings), _numbers(listings, recent=True))
    some = _with_words(words) if session_filter.only is None else _numbers_of_sessions(listings, session_filter.only)
    if some is None:
        return Counts(kinds, None, None)
    since = lately()
    rows = SessionIndex.objects.filter(pk__in=some).values_list("cwd", "kind_id", "last_active", "words")
    found = [(cwd, kind, at >= since) for cwd, kind, at, text in rows if all(word in text for word in words)]
    both = Counter((cwd, kind) for cwd, kind, _ in found), Counter((cwd, kind) for cwd, kind, is_new in found if is_new)
    numbers, recent = (_by_project((*key, number) for key, number in each.items()) for each in both)
    return Counts(kinds, numbers, recent)


def _numbers(listings: Iterable[StoreListing], *, recent: bool = False) -> dict[str, dict[int, int]]:
    """The number of lines of each working directory and kind; with `recent`, of those that were active lately."""
    states, since = [listing.state for listing in listings if listing.state], lately()
    return _by_project(
        (cwd, kind, new if recent else number)
        for state in states
        for cwd, kind, number, _, new in _numbers_of(state, since)
    )


def _by_project(rows: Iterable[tuple[str, int, int]]) -> dict[str, dict[int, int]]:
    numbers: dict[str, dict[int, int]] = {}
    for cwd, kind, number in rows:
        numbers.setdefault(cwd, {})[kind] = number
    return numbers


@cached(LRUCache(64), key=lambda state, since: (edition(state), since), lock=Lock())
def _numbers_of(state: StoreState, since: float) -> list[tuple[str, int, int, float, int]]:
    """(working directory, kind, number of lines, last activity, number of lines active since then) of a store; counted
    once per edition of its lines and hour.
    """
    kinds = FacetGroup.objects.filter(state=state).values("pk")
    lines = SessionIndex.objects.filter(kind__in=kinds).order_by()
    recent = Count("pk", filter=Q(last_active__gte=since))
    return list(lines.values_list("cwd", "kind_id").annotate(Count("pk"), Max("last_active"), recent=recent))


def projects(listed: SessionList, session_filter: SessionFilter) -> list[tuple[str, int, float]]:
    """(working directory, number of sessions, last activity) of the sessions that match this filter without its words,
    the one active last first.
    """
    kinds = {kind.pk for kind in listed.kinds if _matches(kind, session_filter)}
    numbers, newest, since = Counter[str](), dict[str, float](), lately()
    for state in (listing.state for listing in listed.listings if listing.state):
        for cwd, kind, every, at, recent in _numbers_of(state, since):
            number = recent if session_filter.near else every
            if cwd and kind in kinds and number:
                numbers[cwd] += number
                newest[cwd] = max(at, newest.get(cwd, at))
    return sorted(((cwd, numbers[cwd], at) for cwd, at in newest.items()), key=lambda row: row[2], reverse=True)


def pinned(listed: SessionList, session_filter: SessionFilter, ours: Sequence[tuple[str, str]]) -> list[SessionIndex]:
    """The sessions of a list that are pinned, by their agent or in `ours` (name of the store, id); the most recent
    first, at most PINNED.
    """
    marked = {number for listing in listed.listings if listing.state for number in _pinned_of(listing.state)}
    marked.update(_numbers_of_sessions(listed.listings, ours))
    if not marked:
        return []
    chosen = {kind.pk for kind in listed.kinds if _matches(kind, session_filter)}
    few = SessionIndex.objects.filter(pk__in=marked).values_list("last_active", "pk", "kind_id")
    if session_filter.project:
        few = few.filter(cwd=session_filter.project)
    if session_filter.near:
        few = few.filter(last_active__gte=lately())
    newest = sorted(((time, pk) for time, pk, kind in few if kind in chosen), reverse=True)[:PINNED]
    return _lines([pk for _, pk in newest], "recent") if newest else []


@cached(LRUCache(64), key=edition, lock=Lock())
def _pinned_of(state: StoreState) -> list[int]:
    """The newest lines of a store that its agent pinned, at most RARE; read once per edition of its lines."""
    kinds = [kind.pk for kind in _kinds_of_one(state)]
    lines = SessionIndex.objects.filter(kind__in=kinds, pinned=True)
    return list(lines.order_by("-last_active").values_list("pk", flat=True)[:RARE])


# -- finding them ------------------------------------------------------------------------------------------------------


def _line_ids(
    session_filter: SessionFilter, listings: Sequence[StoreListing], kinds: Sequence[int], limit: int, after: Key | None
) -> list[int]:
    """The numbers of the lines of a page."""
    if not kinds:
        return []
    words, project = _words(session_filter), session_filter.project
    if project:
        kinds = [kind for kind in kinds if kind in _numbers(listings).get(project, {})]
        if not kinds:
            return []
    column, ascending = _column(session_filter.order), session_filter.order == "title"
    since = lately() if session_filter.near else None
    query = _Query(column, ascending, kinds, project, since, words, after, limit)
    if session_filter.only is not None:
        return query.among(_numbers_of_sessions(listings, session_filter.only))
    if words:
        rare = _with_words(words)
        return query.in_order(None) if rare is None else query.among(rare)
    ids = query.in_order(WINDOW) if not project and since is None else []
    if len(ids) < limit:
        ids = query.by_kind() if len(kinds) <= KINDS else query.in_order(None)
    return ids


def _words(session_filter: SessionFilter) -> list[str]:
    return session_filter.q.casefold().replace("\0", "").split()


def _numbers_of_sessions(listings: Sequence[StoreListing], keys: Sequence[tuple[str, str]]) -> list[int]:
    """The lines of these sessions, at most RARE."""
    if not keys:
        return []
    states = {listing.store.name: listing.state.pk for listing in listings if listing.state}
    pairs = {(states[store], session_id) for store, session_id in keys[:RARE] if store in states}
    lines = SessionIndex.objects.filter(session_id__in=[session_id for _, session_id in pairs], tip=True)
    return [pk for pk, *key in lines.values_list("pk", "state_id", "session_id") if tuple(key) in pairs]


def _column(order: Order) -> str:
    """The column to order by; names are compared as Python does, whatever the database's own collation is."""
    return COLUMNS[order] + (' COLLATE "C"' if order == "title" and connection.vendor == "postgresql" else "")


def _with_words(words: Sequence[str]) -> list[int] | None:
    """The lines with all these words, in no order; None if that takes long, or they are many."""
    indexed = [word for word in words if len(word) >= GRAM]
    if not indexed or connection.vendor != "sqlite":  # PostgreSQL takes its index by itself
        return None
    expression = " AND ".join('"' + word.replace('"', '""') + '"' for word in indexed)
    ids = _ids("SELECT rowid FROM catalog_words WHERE catalog_words MATCH %s LIMIT %s", [expression, RARE + 1])
    return ids if len(ids) <= RARE else None


@dataclass(frozen=True, slots=True)
class _Query:
    """The ways to read one page: SQL that both SQLite and PostgreSQL answer from the indexes of `SessionIndex`."""

    column: str
    ascending: bool
    kinds: Sequence[int]
    project: str
    since: float | None
    words: Sequence[str]
    after: Key | None
    limit: int

    def in_order(self, window: int | None) -> list[int]:
        """Read lines in order and skip those that do not match, within at most `window` lines."""
        if window is None:
            return self._ordered(self._behind, self._after)
        inner = (
            f"SELECT id, session_id, kind_id, {self.column} AS place FROM catalog_line WHERE {self._behind} "
            f"ORDER BY {self._key} LIMIT %s"
        )
        sql = f"SELECT id FROM ({inner}) AS near WHERE {self._condition} ORDER BY {self._placed} LIMIT %s"
        return _ids(sql, [*self._after, window, *self.kinds, self.limit])

    def among(self, numbers: Sequence[int]) -> list[int]:
        """The matching lines among these few."""
        few = f"id IN ({_marks(numbers)})" if numbers else "1 = 0"
        return self._ordered(f"{few} AND {self._behind}", [*numbers, *self._after])

    def _ordered(self, where: str, values: Sequence[Any]) -> list[int]:
        words = f" AND {self._within}" + " AND words LIKE %s ESCAPE '!'" * len(self.words)
        sql = f"SELECT id FROM catalog_line WHERE {where} AND {self._condition}{words} ORDER BY {self._key} LIMIT %s"
        patterns = [f"%{_escaped(word)}%" for word in self.words]
        return _ids(sql, [*values, *self.kinds, *self._bounds, *patterns, self.limit])

    def by_kind(self) -> list[int]:
        """Read the matching kinds in order and merge them."""
        one = (
            f"SELECT * FROM (SELECT id, session_id, {self.column} AS place FROM catalog_line WHERE kind_id = %s AND "
            f"{self._within} AND {self._behind} ORDER BY {self._key} LIMIT %s) AS one"
        )
        values = [value for kind in self.kinds for value in (kind, *self._bounds, *self._after, self.limit)]
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
    def _within(self) -> str:
        return ("cwd = %s" if self.project else "1 = 1") + ("" if self.since is None else " AND last_active >= %s")

    @property
    def _bounds(self) -> Sequence[str | float]:
        """The values of `_within`."""
        return *((self.project,) if self.project else ()), *(() if self.since is None else (self.since,))

    @property
    def _condition(self) -> str:
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
    """For lines without a parent, the session that each seems to continue: its title is that of the previous part, and
    it begins with the same words. By number of the line; nothing else depends on it.
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
