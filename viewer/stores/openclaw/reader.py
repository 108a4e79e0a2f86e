"""Reading the sessions of OpenClaw's and pi's directories: everything that the site asks a store."""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from viewer.stores.base import ChangeToken, ChildSession, ReportedUsage, Session, Store
from viewer.stores.errors import NotFound, StoreUnavailable
from viewer.stores.jsonl.files import readable, state_of
from viewer.stores.jsonl.reader import FileReader
from viewer.stores.message import (
    AbandonedBranch,
    Addition,
    ReportedCompaction,
    StoredMessage,
)
from viewer.stores.search.pages import SearchableText

from . import additions, codec, database, facts, places, sources, texts, usage
from .codec import EntrySource
from .entries import TreeEntry
from .facts import TreeFacts
from .listing import TreeListing, parent_of
from .messages import EntryMessages
from .places import Places, SessionPlace


@dataclass(frozen=True)
class TreeReader(FileReader):
    """An open store of trees of entries, which is a directory: each question opens the files that it needs. Connections
    to databases are closed with `connections`.
    """

    store: Store
    connections: ExitStack
    patience: float = database.BUSY_SECONDS
    _connected: dict[Path, sqlite3.Connection] = field(default_factory=dict)

    is_strict: ClassVar[bool]  # whether OpenClaw's rules apply to its trees, and not pi's

    @abstractmethod
    def _all(self) -> Places:
        """Every session by its id."""

    @cached_property
    def _places(self) -> Places:
        return self._all()

    def _location(self, session_id: str) -> SessionPlace:
        location = places.find(self._places, self.store, session_id)
        if location.row_id:
            return location
        try:
            return replace(location, state=state_of(location.path))
        except OSError as problem:
            raise NotFound(f"Store {self.store.name} has no session {session_id!r} any more.") from problem

    def _connection(self, location: SessionPlace) -> sqlite3.Connection | None:
        """A connection to the database that a session is in, None for one in a file. Raises StoreUnavailable."""
        if not location.row_id:
            return None
        if location.path not in self._connected:
            con = self.connections.enter_context(database.connected(location.path, self.patience))
            self._connected[location.path] = con
        return self._connected[location.path]

    def _messages(self, session_id: str) -> EntryMessages:
        location = self._location(session_id)
        return sources.messages_of(location, self._connection(location), is_strict=self.is_strict)

    @contextmanager
    def _source(self, session_id: str) -> Iterator[EntrySource]:
        location = self._location(session_id)
        with sources.opened(location, self._connection(location)) as source:
            yield source

    # -- sessions

    @cached_property
    def listing(self) -> TreeListing:  # cached: it looks at every session
        return TreeListing(self._places, self._facts)

    def _facts(self, location: SessionPlace) -> TreeFacts:
        return facts.facts_of(location, self._connection(location))

    def _known_facts(self, location: SessionPlace) -> TreeFacts:
        """Raises StoreUnavailable."""
        with readable(location.path):
            return self._facts(location)

    def session(self, session_id: str) -> Session:
        location = self._location(session_id)
        with readable(location.path):
            session = self.listing.session_of(self.store, location)
        return replace(session, delegated_from=location.delegated_from, end_reason="reset" if location.ended else "")

    def newest_part(self, session_id: str) -> str:
        return places.find(self._places, self.store, session_id).newest or session_id

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

    def raw(self, session_id: str, *, before: int | None, limit: int, live_only: bool = False) -> list[StoredMessage]:
        messages = self._messages(session_id)
        live = {entry.offset for entry in messages.context.now}
        chosen: list[TreeEntry] = []
        for entry in reversed(messages.entries):
            if len(chosen) == limit:
                break
            if (before is None or entry.offset < before) and (entry.offset in live or not live_only):
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
            return list(additions.of_context(source, location, messages, frozenset(ids), end=end))

    def abandoned(self, session_id: str) -> list[AbandonedBranch]:
        return self._messages(session_id).abandoned

    def searchable(self, session_id: str, after: str) -> SearchableText | None:
        location, messages = self._location(session_id), self._messages(session_id)
        with self._source(session_id) as source:
            return texts.searchable(source, location, messages, after)

    # -- History

    def change_token(self, session_id: str) -> ChangeToken:
        messages = self._messages(session_id)
        return ChangeToken(((session_id, messages.text),), messages.ids[-1] if messages.ids else 0)
