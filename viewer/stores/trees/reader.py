"""Reading the sessions of a directory that are trees of entries: everything that the site asks a store."""

from __future__ import annotations

import json
import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from viewer.stores import conversation
from viewer.stores.base import ChangeToken, ChildSession, ReportedUsage, RowsDigest, Session, Store
from viewer.stores.changes import IN_EFFECT, Commit, CommitState, Edit, Json, LiveContext, UndoPlan
from viewer.stores.errors import CompactionConflict, NotBranchable, NotFound, NotRedoable, StoreUnavailable
from viewer.stores.jsonl.files import readable, state_of
from viewer.stores.jsonl.listing import FileListing
from viewer.stores.jsonl.reader import FileReader
from viewer.stores.message import AbandonedBranch, Addition, ReportedCompaction, StoredMessage
from viewer.stores.recorded import Recorded
from viewer.stores.search.pages import SearchableText
from viewer.stores.transcript import Boundary

from . import codec, commit, facts, presence, sources, undo, usage
from .codec import EntrySource
from .facts import TreeFacts
from .messages import EntryMessages
from .paths import Locations, SessionLocation, find, source_of
from .plan import mark_of, planned_ids, token_of
from .records import TreeEntry

# -- lists -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TreeListing(FileListing[SessionLocation]):
    """`listing.Listing` of such a store: `read` gives the facts of a session."""

    store: Store
    locations: Locations
    read: Callable[[SessionLocation], TreeFacts]

    def files(self) -> list[SessionLocation]:
        return [each for each in self.locations.values() if each.is_listed]

    def words_of(self, file: SessionLocation) -> str:
        return self._facts(file).first_words

    def time_of(self, file: SessionLocation) -> float:
        return self._facts(file).newest

    def _facts(self, location: SessionLocation) -> TreeFacts:
        """Raises OSError, which lists expect for anything that cannot be read."""
        try:
            return self.read(location)
        except sqlite3.Error as problem:
            raise OSError(str(problem)) from problem

    def listed(self, file: SessionLocation) -> Session:
        facts = self._facts(file)
        parent, branched_from = parent_of(file, facts)
        return Session(
            store=self.store.name,
            id=file.id,
            row=file.number,
            source=source_name(file),
            model=facts.model,
            title=facts.title,
            base_title=facts.title,
            parent=parent,
            started_at=facts.began or file.state.changed / 1e9,
            ended_at=file.ended or None,
            archived=file.fields.is_archived,
            cwd=facts.cwd,
            branched_from=branched_from,
            delegated=bool(file.delegated_from),
            delegated_from=file.delegated_from,
            end_reason="reset" if file.ended else "",
            forked=bool(parent),
            mark=RowsDigest(1 if file.state.size else 0, 0, file.state.changed, file.text),
            pinned=file.fields.is_pinned,
            window=file.fields.window,
        )


def parent_of(location: SessionLocation, facts: TreeFacts) -> tuple[str, str]:
    """The session that this one comes from, and the one that it is a fork of; "" for none."""
    branched_from = location.branched_from or ("" if location.delegated_from else facts.parent)
    return location.parent or branched_from, branched_from


def source_name(location: SessionLocation) -> str:
    """The agent and the channel of a session; "pi" for pi's."""
    return source_of(location.agent, location.key) if location.agent else "pi"


@dataclass(frozen=True)
class TreeReader(FileReader):
    """An open store of trees of entries, which is a directory: each question opens the files that it needs. Sessions
    are compacted in place.
    """

    store: Store

    tail_only: ClassVar[bool] = True
    is_strict: ClassVar[bool]  # whether OpenClaw's rules apply to its trees, and not pi's

    @abstractmethod
    def _all(self) -> Locations:
        """Every session by its id."""

    @cached_property
    def _places(self) -> Locations:
        return self._all()

    def _location(self, session_id: str) -> SessionLocation:
        location = find(self._places, self.store, session_id)
        if location.row_id:
            return location
        try:
            return replace(location, state=state_of(location.path))
        except OSError as problem:
            raise NotFound(f"Store {self.store.name} has no session {session_id!r} any more.") from problem

    def _messages(self, session_id: str) -> EntryMessages:
        return sources.messages_of(self._location(session_id), is_strict=self.is_strict)

    @contextmanager
    def _source(self, session_id: str) -> Iterator[EntrySource]:
        with sources.opened(self._location(session_id)) as source:
            yield source

    # -- sessions

    @cached_property
    def listing(self) -> TreeListing:  # cached: it looks at every session
        return TreeListing(self.store, self._places, self._facts)

    def _facts(self, location: SessionLocation) -> TreeFacts:
        return facts.facts_of(location)

    def _known_facts(self, location: SessionLocation) -> TreeFacts:
        """Raises StoreUnavailable."""
        with readable(location.path):
            return self._facts(location)

    def session(self, session_id: str) -> Session:
        location = self._location(session_id)
        with readable(location.path):
            return self.listing.session_of(location)

    def newest_part(self, session_id: str) -> str:
        return find(self._places, self.store, session_id).newest or session_id

    def usage(self, session_id: str) -> ReportedUsage:
        location = self._location(session_id)
        session_facts = self._known_facts(location)
        return usage.reported(
            self._messages(session_id), session_facts.began if parent_of(location, session_facts)[1] else 0.0
        )

    def children(self, parts: Sequence[str]) -> list[ChildSession]:
        rows = []
        for location in self.listing.files():
            with suppress(OSError, StoreUnavailable):
                session_facts = self._facts(location)
                parent, branched_from = parent_of(location, session_facts)
                if parent in parts and location.id not in parts:
                    kind = "delegate" if location.delegated_from else "branch" if branched_from else ""
                    rows.append(
                        (session_facts.began, location.id, session_facts.title or session_facts.first_words, kind)
                    )
        return [ChildSession(session_id, name, kind) for _, session_id, name, kind in sorted(rows)]  # type: ignore[arg-type]

    # -- messages

    def messages(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        entry_messages = self._messages(session_id)
        with self._source(session_id) as source:
            return {
                each: self._row(source, entry_messages, each, session_id)
                for each in ids
                if each in entry_messages.units
            }

    @staticmethod
    def _row(source: EntrySource, messages: EntryMessages, message_id: int, session_id: str) -> StoredMessage:
        unit = messages.units[message_id]
        return codec.message_of(source.value(unit), unit, session_id, messages.states[message_id], messages.envelopes)

    def sent(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        messages = self._messages(session_id)
        rows = self.messages(session_id, [each for each in ids if each in messages.units and messages.is_sent(each)])
        if not self.is_strict:
            return rows
        return {each: row for each, row in rows.items() if row.role != "tool" or row.tool_call_id in messages.calls}

    def raw(self, session_id: str, *, before: int | None, limit: int) -> list[StoredMessage]:
        messages = self._messages(session_id)
        live = {entry.offset for entry in messages.context.now}
        chosen: list[TreeEntry] = []
        for entry in reversed(messages.entries):
            if len(chosen) == limit:
                break
            if before is None or entry.offset < before:
                chosen.append(entry)
        with self._source(session_id) as source:
            return [
                codec.row_of(source, each, session_id, "live" if each.offset in live else messages.state_of(each))
                for each in reversed(chosen)
            ]

    def _reported(self, session_id: str, handoffs: Sequence[int]) -> Mapping[int, ReportedCompaction | None]:
        units = self._messages(session_id).units
        with self._source(session_id) as source:
            return {each: usage.of_compaction(source.value(units[each])) for each in handoffs if each in units}

    def additions(self, session_id: str, ids: Sequence[int], *, end: bool) -> list[Addition]:
        location, messages = self._location(session_id), self._messages(session_id)
        with self._source(session_id) as source:
            return list(codec.of_context(source, location, messages, frozenset(ids), end=end))

    def abandoned(self, session_id: str) -> list[AbandonedBranch]:
        return self._messages(session_id).abandoned

    def searchable(self, session_id: str, after: str) -> SearchableText | None:
        location, messages = self._location(session_id), self._messages(session_id)
        with self._source(session_id) as source:
            return _searchable(source, location, messages, after)

    # -- History

    def change_token(self, session_id: str) -> ChangeToken:
        messages = self._messages(session_id)
        return ChangeToken(((session_id, messages.text),), messages.ids[-1] if messages.ids else 0)

    # -- compactions

    def _following(self, session_id: str) -> str:
        """The session in which a conversation continues: a rewind copies one, with the entries of its compactions."""
        return self._location(session_id).newest or session_id

    def _require_newest(self, session_id: str) -> None:
        if self._following(session_id) != session_id:
            raise CompactionConflict(presence.GOES_ON_ELSEWHERE)

    def basis(self, session_id: str, planned: Json | None = None) -> LiveContext:
        self._require_newest(session_id)
        messages = self._messages(session_id)
        with self._source(session_id) as source:
            token = token_of(source, messages) if planned is None else planned
            ids = messages.live if planned is None else planned_ids(source, messages, planned)
        sent = self.sent(session_id, ids)
        rows = [sent[each] for each in ids if each in sent]
        return LiveContext(rows, {row.id: row.size for row in rows}, token)

    def find_commit(
        self, session_id: str, token: Json, edits: Sequence[Edit], recorded: Recorded, mode: str = "in_place"
    ) -> Commit | None:
        with self._source(session_id) as source:
            compaction = commit.newest_of(source, self._messages(session_id), mark_of(token, edits))
        return None if compaction is None else commit.commit_of(compaction, compaction.entry.time or None)

    def commit_state(self, session_id: str, receipt: Json) -> CommitState:
        now = self._following(session_id)
        messages, reason = self._messages(now), ""
        if commit.entry_of(messages, receipt) is not None:
            return CommitState(
                "in effect" if commit.is_in_effect(messages, receipt) else "left", redo_refusal=IN_EFFECT
            )
        try:
            undo.redo_planned(self._location(now), messages, receipt)
        except NotRedoable as refused:
            reason = refused.message
        return CommitState("undone", {"entry": receipt["entry"]}, reason)

    def undo_plan(self, session_id: str, compaction: Json | Boundary) -> UndoPlan:
        now = self._following(session_id)
        location, messages = self._location(now), self._messages(now)
        with readable(location.path):
            return undo.plan(location, messages, compaction)

    def context_before(self, session_id: str, compaction: Json | Boundary) -> list[int]:
        compacted = undo.taken(self._messages(self._following(session_id)), compaction)
        if compacted is None:
            raise NotBranchable(undo.GONE)
        return list(compacted.before)


# -- texts of messages, for an index outside of the store: each message once -------------------------------------------


def _searchable(
    source: codec.EntrySource, location: SessionLocation, entry_messages: EntryMessages, after: str
) -> SearchableText | None:
    """The next texts after a cursor; None where a message that was returned before is no longer there.

    A cursor is JSON: the identity of the file or rows, the last message that was returned, and its time.
    """
    last = _last(location, entry_messages, after) if after else -1
    if last is None:
        return None
    units, states = entry_messages.units, entry_messages.states
    return conversation.searchable(
        entry_messages,
        last,
        cursor=after,
        message_of=lambda each: codec.message_of(
            source.value(units[each]), units[each], location.id, states[each], entry_messages.envelopes
        ),
        cursor_at=lambda each: json.dumps([_kept_in(location), each, units[each].time]),
    )


def _kept_in(location: SessionLocation) -> str:
    return f"{location.state.inode} {location.generation}"


def _last(location: SessionLocation, messages: EntryMessages, cursor: str) -> int | None:
    container, last, last_time = json.loads(cursor)
    unit = messages.units.get(last)
    return last if container == _kept_in(location) and unit is not None and unit.time == last_time else None
