"""Reading the sessions of OpenClaw's and pi's directories: everything that the site asks a store."""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from viewer.stores.base import ChangeToken, ChildSession, ReportedUsage, Session, Store
from viewer.stores.errors import NotFound, StoreUnavailable
from viewer.stores.history_types import HistoryEntry
from viewer.stores.jsonl.files import readable, state_of
from viewer.stores.jsonl.reader import FileReader, row_id_of
from viewer.stores.message import (
    AbandonedBranch,
    Addition,
    Handoff,
    HistoryMessage,
    StoredMessage,
    live_content,
    parted,
)
from viewer.stores.recorded import Recorded
from viewer.stores.search.pages import SearchableText
from viewer.stores.transcript import Item, TranscriptIndex

from . import additions, codec, database, facts, places, sources, texts, transcripts, usage
from .codec import EntrySource
from .entries import EDIT, TreeEntry
from .facts import TreeFacts
from .listing import TreeListing, parent_of, source_name
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
        session_facts, changed = self._known_facts(location), location.state.changed / 1e9
        parent, branched_from = parent_of(location, session_facts)
        return Session(
            store=self.store.name,
            id=session_id,
            source=source_name(location),
            model=session_facts.model,
            title=session_facts.title,
            first_words=session_facts.first_words,
            parent=parent,
            started_at=session_facts.began or changed,
            last_active=session_facts.newest or changed,
            ended_at=location.ended or None,
            end_reason="reset" if location.ended else "",
            archived=location.noted.is_archived,
            cwd=session_facts.cwd,
            parts=1,
            branched_from=branched_from,
            delegated_from=location.delegated_from,
            window=location.noted.window,
        )

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

    def live(self, session_id: str) -> list[StoredMessage]:
        live = self._messages(session_id).live
        rows = self.sent(session_id, live)
        return [rows[each] for each in live if each in rows]

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

    def shown(self, session_id: str, items: Iterable[Item]) -> list[HistoryMessage | Handoff]:
        listed = list(items)
        rows = self.messages(session_id, [row_id_of(item) for item in listed])
        messages = self._messages(session_id)
        shown: list[HistoryMessage | Handoff] = []
        with self._source(session_id) as source:
            for item in listed:
                row = rows.get(row_id_of(item))
                if row is None:
                    continue
                if isinstance(item, HistoryEntry):
                    shown.append(HistoryMessage(item, row, live_content(row)))
                    continue
                parts, entry = parted(replace(row, flagged=True)), messages.units[item.handoff_id]
                reported = usage.of_compaction(source.value(entry))
                shown.append(Handoff(item, row, parts.summary, parts.directive, reported))
        return shown

    def additions(self, session_id: str, ids: Sequence[int], *, end: bool) -> list[Addition]:
        location, messages = self._location(session_id), self._messages(session_id)
        with self._source(session_id) as source:
            return list(additions.of_context(source, location, messages, frozenset(ids), end=end))

    def abandoned(self, session_id: str) -> list[AbandonedBranch]:
        return self._messages(session_id).abandoned

    def next_message(self, session_id: str, after: int) -> StoredMessage | None:
        messages = self._messages(session_id)
        following = next((each for each in messages.ids if each > after and _is_said(messages.units[each])), None)
        return None if following is None else self.messages(session_id, [following]).get(following)

    def searchable(self, session_id: str, after: str) -> SearchableText | None:
        location, messages = self._location(session_id), self._messages(session_id)
        with self._source(session_id) as source:
            return texts.searchable(source, location, messages, after)

    # -- History

    def change_token(self, session_id: str) -> ChangeToken:
        messages = self._messages(session_id)
        return ChangeToken(((session_id, messages.text),), messages.ids[-1] if messages.ids else 0)

    def index(self, session_id: str, recorded: Recorded, token: ChangeToken) -> TranscriptIndex:
        return transcripts.index_of(self._messages(session_id), recorded)

    def extended(
        self, session_id: str, index: TranscriptIndex, before: ChangeToken, now: ChangeToken
    ) -> TranscriptIndex | None:
        return transcripts.extended_index(self._messages(session_id), index)


def _is_said(unit: TreeEntry) -> bool:
    """Whether an entry is a message of its own, not a summary or new words for an earlier one."""
    return not unit.is_boundary and unit.type != EDIT and not unit.is_note
