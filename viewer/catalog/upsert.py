"""A store's sessions as lines: what is shown, which part of a conversation is listed, what lists are filtered by.

First everything is read and made (`prepared`), then written in one transaction (`commit`), which fails if another
process wrote lines of this store meanwhile: its data may be newer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F

from viewer import times
from viewer.catalog import needs_compaction, one_session
from viewer.catalog.models import FacetGroup, SessionDay, SessionIndex, StoreState, name_of
from viewer.catalog.search import indexing
from viewer.stores.base import CHAIN_LIMIT, Session, Store
from viewer.stores.batches import chunks
from viewer.stores.clean_text import sanitized
from viewer.stores.listing import is_askable, path_start
from viewer.stores.registry import Reader
from viewer.usage import counting
from viewer.web import own_database

LONGEST = 300  # characters that are kept of a text
SORTED = 100  # characters of a name by which it is sorted
FIELDS = [each.attname for each in SessionIndex._meta.concrete_fields if each.attname != "id"]
KEY = ("source", "model", "archived", "ended", "compacted", "near", "delegated")


@dataclass(slots=True)
class Prepared:
    """Lines to be written, and those of sessions that are gone, by id; `edition` is the edition from which they were
    made. The `shaken` sessions have other rows now: the parts after them must be counted again. The text of a store
    that `offers_text` is indexed here.
    """

    edition: int
    lines: dict[str, SessionIndex] = field(default_factory=dict)
    gone: dict[str, SessionIndex] = field(default_factory=dict)
    shaken: set[str] = field(default_factory=set)
    offers_text: bool = False


# -- making ------------------------------------------------------------------------------------------------------------


def prepared(reader: Reader, state: StoreState, ids: Sequence[str]) -> Prepared:
    """What must be written so that these sessions' lines match the store."""
    ids = [session_id for session_id in ids if is_askable(session_id)]
    result = Prepared(state.edition, offers_text=reader.offers_text)
    lines = lines_of(state, ids)
    sessions, failures = _described(reader, ids)
    for session_id in ids:
        if session_id in failures:
            line = lines.get(session_id) or SessionIndex(state=state, session_id=session_id, row=0, title=session_id)
            if _note_failure(line, failures[session_id]):
                one_session.log(reader.store.name, session_id, "listed", failures[session_id])
                result.lines[session_id] = line
        elif session_id in sessions:
            line = lines.get(session_id) or SessionIndex(state=state, session_id=session_id, row=0)
            mark = line.mark
            if _note(reader, line, sessions[session_id]):
                result.lines[session_id] = line
            if line.mark != mark:
                result.shaken.add(session_id)
        elif session_id in lines:
            result.gone[session_id] = lines[session_id]
    return result


def _described(reader: Reader, ids: Sequence[str]) -> tuple[dict[str, Session], dict[str, Exception]]:
    """These sessions, and the exceptions for others: those must not keep the rest from being listed."""
    try:
        return reader.listing.sessions(ids), {}
    except one_session.OF_ALL:
        raise
    except Exception as failure:
        if len(ids) == 1:
            return {}, {ids[0]: failure}
    parts = [_described(reader, [session_id]) for session_id in ids]
    sessions = {name: each for described, _ in parts for name, each in described.items()}
    return sessions, {name: failure for _, failures in parts for name, failure in failures.items()}


def lines_of(state: StoreState, ids: Iterable[str]) -> dict[str, SessionIndex]:
    """The lines of these sessions, by id."""
    return {
        line.session_id: line
        for chunk in chunks(list(ids))
        for line in SessionIndex.objects.filter(state=state, session_id__in=chunk)
    }


def _note_failure(line: SessionIndex, failure: Exception) -> bool:
    """Set why the line's session cannot be read; returns whether anything changed."""
    before = _values(line) if line.pk else None
    line.problem, line.mark, line.due = storable(one_session.sentence(failure)), "", False
    _set_words(line)
    return before != _values(line)


def _note(reader: Reader, line: SessionIndex, session: Session) -> bool:
    """Update a line from its session; returns whether anything changed."""
    before = _values(line) if line.pk else None
    line.row, line.problem = session.row, ""
    if before is not None and line.model != _shortened(session.model):
        line.tokens, line.due = None, True  # each model counts in its own way
    line.source, line.model, line.title = (
        _shortened(session.source),
        _shortened(session.model),
        _shortened(session.title),
    )
    line.parent, line.forked = _kept_id(session.parent), session.forked
    line.branched_from, line.delegated = _kept_id(session.branched_from), session.delegated
    line.base_title, line.part_number = _shortened(session.base_title), session.part_number
    line.started_at, line.ended_at, line.continued = (
        times.known(session.started_at),
        session.ended_at,
        session.continued,
    )
    line.archived, line.pinned = session.archived, session.pinned
    line.cwd, line.git_branch = path_start(storable(session.cwd)), _shortened(session.git_branch)
    line.window = counting.context_window(line.model, session.window)
    if before is None or line.mark != session.mark.digest:
        _note_rows(reader, line, session)
    _set_words(line)
    return before != _values(line)


def _note_rows(reader: Reader, line: SessionIndex, session: Session) -> None:
    mark = session.mark
    activity = reader.listing.activity(session, None if line.messages is None else line.mark)
    appended = activity.appended
    if line.messages is None or appended is None:
        _uncount(line)
        line.live = line.in_context = mark.live
    else:  # each is probably a separate message, until they are counted
        line.live, line.in_context = line.live + appended, line.in_context + appended
        line.messages += appended
    line.mark, line.due = mark.digest, True
    line.under = activity.was_compacted
    line.last_active = times.known(activity.last_active) or line.started_at
    line.own_words = _shortened(activity.first_words)
    if not line.continues:
        line.first_words = line.own_words
    if not mark.rows:
        line.messages, line.compactions, line.tokens, line.due = 0, 0, 0, False


def _uncount(line: SessionIndex) -> None:
    """Clear numbers that are no longer true until they are counted again."""
    line.messages = line.compactions = line.tokens = line.refusal = None
    line.due = True


def _set_words(line: SessionIndex) -> None:
    words = dict.fromkeys((line.title, line.session_id, line.first_words, line.own_words, line.cwd))
    line.words = " ".join(words).casefold()
    line.sort_name = name_of(line).casefold()[:SORTED]


def _kept_id(session_id: str) -> str:
    """The id unchanged, or "": a part of an id would be another id."""
    return session_id if is_askable(session_id) else ""


def _shortened(text: str) -> str:
    return storable(text[:LONGEST])


def storable(text: str) -> str:
    """The text without characters that databases refuse."""
    return sanitized(text).replace("\0", "\ufffd")


def _values(line: SessionIndex) -> list[Any]:
    return [getattr(line, name) for name in FIELDS]


# -- writing -----------------------------------------------------------------------------------------------------------


def commit(store: Store, state: StoreState, batch: Prepared, changes: Mapping[str, Any] | None = None) -> bool:
    """Write the lines, and these values of the state; False, without writing, if they were made from old ones.

    Raises OwnDatabaseUnavailable.
    """
    values = dict(changes or {})
    if not (values or batch.lines or batch.gone):
        return True
    with own_database.noting():
        same = StoreState.objects.filter(pk=state.pk, edition=batch.edition)
        if not same.update(edition=F("edition") + 1, **values):
            return False
        if batch.lines or batch.gone:
            _write(store, state, batch, values.get("generation", state.generation))
        if batch.offers_text and "checked" in values:  # all that are there are listed
            indexing.sweep(state)
    for name, value in {**values, "edition": batch.edition + 1}.items():
        setattr(state, name, value)
    return True


def _write(store: Store, state: StoreState, batch: Prepared, generation: int) -> None:
    for chunk in chunks(sorted(batch.gone)):
        SessionIndex.objects.filter(state=state, session_id__in=chunk).delete()
    lines = _with_chains(state, batch)
    _set_kinds(store, state, lines)
    for line in lines:
        if line.session_id in batch.lines:
            line.verified = generation
    SessionIndex.objects.bulk_create(
        lines,
        update_conflicts=True,
        unique_fields=["state", "session_id"],
        update_fields=[name for name in FIELDS if name not in ("state_id", "session_id")],
    )
    _write_days(state, lines)
    if batch.offers_text:
        indexing.note(store.name, lines, batch.gone)


def _write_days(state: StoreState, lines: Sequence[SessionIndex]) -> None:
    """Write the days of the lines whose cost was counted; a part that is not listed has none."""
    for chunk in chunks([line.pk for line in lines if line.spent is not None or not line.tip]):
        SessionDay.objects.filter(line__in=chunk).delete()
    SessionDay.objects.bulk_create(
        SessionDay(state=state, line=line, day=day, dollars=dollars, is_least=line.cost_is_least)
        for line in lines
        if line.tip
        for day, dollars in (line.spent or {}).items()
    )


def _set_kinds(store: Store, state: StoreState, lines: Sequence[SessionIndex]) -> None:
    kind_ids = {_key(kind): kind.pk for kind in FacetGroup.objects.filter(state=state)}
    keys = {line.session_id: _key_of(store, line) for line in lines if line.tip}
    missing = {key for key in keys.values() if key not in kind_ids}
    if missing:
        new = [FacetGroup(state=state, **dict(zip(KEY, key, strict=True))) for key in missing]
        FacetGroup.objects.bulk_create(new, ignore_conflicts=True)
        kind_ids = {_key(kind): kind.pk for kind in FacetGroup.objects.filter(state=state)}
    for line in lines:
        line.kind_id = kind_ids[keys[line.session_id]] if line.tip else None


def _key(kind: FacetGroup) -> tuple[Any, ...]:
    return tuple(getattr(kind, name) for name in KEY)


def _key_of(store: Store, line: SessionIndex) -> tuple[Any, ...]:
    compacted = line.under or bool(line.continues) or bool(line.compactions)
    is_near = needs_compaction.is_near(store, line.model, line.window, line.tokens)
    return line.source, line.model, line.archived, line.ended_at is not None, compacted, is_near, line.delegated


# -- conversations in parts --------------------------------------------------------------------------------------------


def _with_chains(state: StoreState, batch: Prepared) -> list[SessionIndex]:
    """The lines to write with the values that depend on their neighbours, and the neighbours that change because of
    them.
    """
    lines = dict(batch.lines)
    touched = {**lines, **batch.gone}
    parents = {line.parent for line in touched.values() if line.parent}
    neighbours = lines_of(state, parents - set(touched)) | _children(state, parents | set(touched), lines)
    there = {name: line for name, line in neighbours.items() if name not in batch.gone}
    around = ChainUpdate(lines, there, batch.shaken)
    for session_id in parents | set(touched):
        around.set_tip(session_id)
    for session_id in _parents_first(batch.lines):
        around.set_part(session_id)
    below, seen = list(touched), set(touched)
    for _ in range(CHAIN_LIMIT):
        around.learn(_children(state, below, lines))
        after = {child.session_id for session_id in below for child in around.children(session_id)}
        below = [session_id for session_id in after if around.set_part(session_id) and session_id not in seen]
        seen.update(below)
        if not below:
            break
    return list(lines.values())


def _parents_first(lines: Mapping[str, SessionIndex]) -> list[str]:
    """The sessions in an order in which each comes after its parent."""
    order: dict[str, None] = {}
    for session_id in lines:
        way: dict[str, None] = {}
        while session_id in lines and session_id not in order and session_id not in way:
            way[session_id] = None
            session_id = lines[session_id].parent
        order |= dict.fromkeys(reversed(way))
    return list(order)


def _children(state: StoreState, ids: Iterable[str], newer: Mapping[str, SessionIndex]) -> dict[str, SessionIndex]:
    """The sessions whose parent is one of these, as they will be written."""
    parent_ids = set(ids)
    children = {
        line.session_id: newer.get(line.session_id, line)
        for chunk in chunks(sorted(parent_ids))
        for line in SessionIndex.objects.filter(state=state, parent__in=chunk)
    }
    children |= {line.session_id: line for line in newer.values() if line.parent in parent_ids}
    return {child: line for child, line in children.items() if line.parent in parent_ids}


class ChainUpdate:
    """The lines to write and the known lines next to them; a known line that changes is written too."""

    def __init__(self, lines: dict[str, SessionIndex], neighbours: dict[str, SessionIndex], shaken: set[str]) -> None:
        self.lines, self.known, self.shaken = lines, neighbours, set(shaken)
        self._children: dict[str, dict[str, SessionIndex]] = {}
        self._note(neighbours.values())
        self._note(lines.values())

    def learn(self, lines: dict[str, SessionIndex]) -> None:
        """Add lines to those that are known already."""
        new = {session_id: line for session_id, line in lines.items() if self.get(session_id) is None}
        self.known |= new
        self._note(new.values())

    def _note(self, lines: Iterable[SessionIndex]) -> None:
        for line in lines:
            if line.parent:
                self._children.setdefault(line.parent, {})[line.session_id] = line

    def children(self, session_id: str) -> Iterable[SessionIndex]:
        return self._children.get(session_id, {}).values()

    def get(self, session_id: str) -> SessionIndex | None:
        return self.lines.get(session_id) or self.known.get(session_id)

    def set_tip(self, session_id: str) -> None:
        """Set whether a part is listed: an ended part is listed only while nothing follows it."""
        line = self.get(session_id)
        if line is None:
            return
        after = [child for child in self.children(session_id) if not child.forked and child is not line]
        tip = not (line.continued and after)
        if tip != line.tip:
            line.tip = tip
            _uncount(line)  # a part that is not listed is not counted
            self.lines[session_id] = line

    def set_part(self, session_id: str) -> bool:
        """Set what a part takes over from the part before it; returns whether the parts after it must
        be set as well.
        """
        line = self.get(session_id)
        if line is None:
            return False
        parent = self.get(line.parent) if line.parent not in ("", session_id) and not line.forked else None
        before = parent if parent is not None and parent.continued else None
        values = (
            before.session_id if before else "",
            min(before.parts + 1, CHAIN_LIMIT) if before else 1,
            before.first_words if before else line.own_words,
        )
        changed = values != (line.continues, line.parts, line.first_words)
        if changed or (before is not None and before.session_id in self.shaken):
            line.continues, line.parts, line.first_words = values
            _set_words(line)
            _uncount(line)
            self.shaken.add(session_id)
            self.lines[session_id] = line
        return changed or session_id in self.shaken
