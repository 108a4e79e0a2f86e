"""Lists of sessions: one query over all stores, in any order, narrowed by anything, from any place on.

A page costs the same wherever it begins and whatever narrows it. Where what is wanted is common, it is met soon on the
way down the order (WINDOW); where it is rare, the ways down of the few kinds that are wanted are merged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.db import connection

from viewer.stores.base import Store
from viewer.stores.registry import agent_of

from . import sync, upsert
from .models import FacetGroup, SessionIndex
from .sync import StoreListing

Order = Literal["recent", "created", "messages"]
Key = tuple[float, str, int]  # what it is ordered by, session id, number of the line
WINDOW = 2_000  # lines looked through in order before the kinds are
RARE, GRAM = 1_000, 3  # lines that are looked at one by one; letters that the index of words takes together
KINDS = 60  # whose ways are merged; of more, all lines are looked through, which takes a tenth of a second a million
COLUMNS = {"recent": "last_active", "created": "started_at", "messages": "live"}
UNSHOWN = ("words", "mark", "counted", "own_words")
ROUNDS, AHEAD = 8, 5_000  # of comparing what is about to be shown with the stores; lines in one of them


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """What a list of sessions is narrowed to, where not empty. `q` is sought in titles, ids and first requests; `near`
    asks for those that need compaction, and `delegated` for sub-agents' sessions, or for all others.
    """

    q: str = ""
    source: str = ""
    model: str = ""
    state: Literal["", "open", "ended", "archived"] = ""
    compacted: bool | None = None
    near: bool = False
    delegated: bool | None = None
    order: Order = "recent"


@dataclass(frozen=True, slots=True)
class SessionList:
    """One page of lines with the stores they are of; `more` says that there are others behind them."""

    lines: tuple[SessionIndex, ...]
    shelves: tuple[StoreListing, ...]
    kinds: tuple[FacetGroup, ...]
    more: bool

    @property
    def unlisted(self) -> int:
        """Sessions of these stores that are not listed yet."""
        return sum(shelf.state.unlisted for shelf in self.shelves if shelf.state)

    def active(self) -> set[int]:
        """Numbers of the lines of sessions that are active now, as `stores.base.Session` has it."""
        told = {shelf.state.pk: agent_of(shelf.store).open_sessions() for shelf in self.shelves if shelf.state}
        found = {line.pk for line in self.lines if told[line.state_id] is None and line.is_active_lately}
        return found | {line.pk for line in self.lines if line.session_id in (told[line.state_id] or ())}


def page_of_lines(wanted: SessionFilter, stores: Sequence[Store], limit: int, after: Key | None = None) -> SessionList:
    """At most `limit` lines in order behind the key `after` of an earlier page, as the stores have them now.

    Where lines turn out to have changed, it is looked again, twice as far each time: an owner may delete hundreds.
    """
    shelves, compared = sync.shelves(stores), limit
    for _ in range(ROUNDS):
        kinds = _kinds(shelves)
        chosen = {kind.pk for kind in kinds if _is_wanted(kind, wanted)}
        ids = _found(wanted, sorted(chosen), compared + 1, after)
        lines = _lines(ids, wanted.order)
        if _are_verified(shelves, lines[:compared]):
            break
        compared = max(limit, min(2 * compared, AHEAD))
    else:  # those that still stand are right
        lines = [line for line in _lines(ids, wanted.order) if line.kind_id in chosen]
    return SessionList(tuple(lines[:limit]), tuple(shelves), tuple(kinds), len(lines) > limit)


def named_tip(shelf: StoreListing, title: str) -> SessionIndex | None:
    """The session of a store that has this title and is listed."""
    return SessionIndex.objects.filter(state=shelf.state, title=title, tip=True).defer(*UNSHOWN).first()


def of_sessions(store: Store, ids: Sequence[str]) -> list[SessionIndex]:
    """The lines of these sessions of a store, as far as they are listed. Raises StoreUnavailable."""
    return list(upsert.lines_of(sync.state_at(store), ids).values())


def sort_key(line: SessionIndex, order: Order) -> Key:
    """The key of a line: what `page_of_lines` takes as `after`."""
    return float(getattr(line, COLUMNS[order])), line.session_id, line.pk


def name_of(line: SessionIndex) -> str:
    """What people call a session; of a conversation in parts, its name without the number of the newest part."""
    title = line.base_title if line.parts > 1 else ""
    return title or line.title or line.first_words or line.session_id


# -- what is wanted ----------------------------------------------------------------------------------------------------


def _kinds(shelves: Iterable[StoreListing]) -> list[FacetGroup]:
    return list(FacetGroup.objects.filter(state__in=[shelf.state.pk for shelf in shelves if shelf.state]))


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
    return sorted(lines, key=lambda line: sort_key(line, order), reverse=True)


def _are_verified(shelves: Sequence[StoreListing], lines: Sequence[SessionIndex]) -> bool:
    own = [(shelf, [line for line in lines if line.state_id == shelf.state.pk]) for shelf in shelves if shelf.state]
    found = [sync.verified(shelf, shown) for shelf, shown in own]  # of every store
    return all(found)


# -- finding them ------------------------------------------------------------------------------------------------------


def _found(wanted: SessionFilter, kinds: Sequence[int], limit: int, after: Key | None) -> list[int]:
    """The numbers of the lines of a page."""
    if not kinds:
        return []
    words = wanted.q.casefold().replace("\0", "").split()
    query = _Query(COLUMNS[wanted.order], kinds, words, after, limit)
    if words:
        rare = _with_words(words)
        return query.in_order(None) if rare is None else query.among(rare)
    ids = query.in_order(WINDOW)
    if len(ids) < limit:
        ids = query.by_kind() if len(kinds) <= KINDS else query.in_order(None)
    return ids


def _with_words(words: Sequence[str]) -> list[int] | None:
    """The lines that hold all these words, in no order; None where that cannot be told soon, or they are many."""
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
    kinds: Sequence[int]
    words: Sequence[str]
    after: Key | None
    limit: int

    def in_order(self, window: int | None) -> list[int]:
        """Down the order, past what is not wanted, through at most so many lines."""
        if window is None:
            return self._ordered(self._behind, self._after)
        inner = (
            f"SELECT id, session_id, kind_id, {self.column} FROM catalog_line WHERE {self._behind} "
            f"ORDER BY {self._key} LIMIT %s"
        )
        sql = f"SELECT id FROM ({inner}) AS near WHERE {self._wanted} ORDER BY {self._key} LIMIT %s"
        return _ids(sql, [*self._after, window, *self.kinds, self.limit])

    def among(self, numbers: Sequence[int]) -> list[int]:
        """Those of these few lines that are wanted."""
        few = "id IN (SELECT value FROM json_each(%s))"
        return self._ordered(f"{few} AND {self._behind}", [json.dumps(numbers), *self._after])

    def _ordered(self, where: str, values: Sequence[Any]) -> list[int]:
        words = " AND words LIKE %s ESCAPE '!'" * len(self.words)
        sql = f"SELECT id FROM catalog_line WHERE {where} AND {self._wanted}{words} ORDER BY {self._key} LIMIT %s"
        patterns = [f"%{_escaped(word)}%" for word in self.words]
        return _ids(sql, [*values, *self.kinds, *patterns, self.limit])

    def by_kind(self) -> list[int]:
        """Down the orders of the kinds, merged."""
        one = (
            f"SELECT * FROM (SELECT id, session_id, {self.column} FROM catalog_line WHERE kind_id = %s AND "
            f"{self._behind} ORDER BY {self._key} LIMIT %s) AS one"
        )
        values = [value for kind in self.kinds for value in (kind, *self._after, self.limit)]
        merged = " UNION ALL ".join([one] * len(self.kinds))
        return _ids(f"SELECT id FROM ({merged}) AS merged ORDER BY {self._key} LIMIT %s", [*values, self.limit])

    @property
    def _key(self) -> str:
        return f"{self.column} DESC, session_id DESC, id DESC"

    @property
    def _behind(self) -> str:
        return f"({self.column}, session_id, id) < (%s, %s, %s)" if self.after else "1 = 1"

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
