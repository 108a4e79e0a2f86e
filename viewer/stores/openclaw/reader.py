"""What OpenClaw's and pi's directories tell of their sessions: every reading that the rest of the site asks for."""

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
    """An open store of trees of entries, which is a directory: each question opens what it is about. Connections to
    databases end with `connections`.
    """

    store: Store
    connections: ExitStack
    patience: float = database.BUSY_SECONDS
    _connected: dict[Path, sqlite3.Connection] = field(default_factory=dict)

    is_strict: ClassVar[bool]  # whether OpenClaw's rules hold for its trees, and not pi's

    @abstractmethod
    def _all(self) -> Places:
        """Every session by its id."""

    @cached_property
    def _places(self) -> Places:
        return self._all()

    def _place(self, session_id: str) -> SessionPlace:
        place = places.find(self._places, self.store, session_id)
        if place.row_id:
            return place
        try:
            return replace(place, state=state_of(place.path))
        except OSError as problem:
            raise NotFound(f"Store {self.store.name} has no session {session_id!r} any more.") from problem

    def _connection(self, place: SessionPlace) -> sqlite3.Connection | None:
        """To the database that a session is in, None for one in a file. Raises StoreUnavailable."""
        if not place.row_id:
            return None
        if place.path not in self._connected:
            made = self.connections.enter_context(database.connected(place.path, self.patience))
            self._connected[place.path] = made
        return self._connected[place.path]

    def _messages(self, session_id: str) -> EntryMessages:
        place = self._place(session_id)
        return sources.messages_of(place, self._connection(place), is_strict=self.is_strict)

    @contextmanager
    def _source(self, session_id: str) -> Iterator[EntrySource]:
        place = self._place(session_id)
        with sources.opened(place, self._connection(place)) as source:
            yield source

    # -- sessions

    @cached_property
    def listing(self) -> TreeListing:  # read once: it looks at every session
        return TreeListing(self._places, self._facts)

    def _facts(self, place: SessionPlace) -> TreeFacts:
        return facts.facts_of(place, self._connection(place))

    def _known_facts(self, place: SessionPlace) -> TreeFacts:
        """Raises StoreUnavailable."""
        with readable(place.path):
            return self._facts(place)

    def session(self, session_id: str) -> Session:
        place = self._place(session_id)
        found, changed = self._known_facts(place), place.state.changed / 1e9
        parent, branched_from = parent_of(place, found)
        return Session(
            store=self.store.name,
            id=session_id,
            source=source_name(place),
            model=found.model,
            title=found.title,
            first_words=found.first_words,
            parent=parent,
            started_at=found.began or changed,
            last_active=changed,
            ended_at=place.ended or None,
            end_reason="reset" if place.ended else "",
            archived=place.noted.is_archived,
            cwd=found.cwd,
            parts=1,
            branched_from=branched_from,
            delegated_from=place.delegated_from,
            window=place.noted.window,
        )

    def newest_part(self, session_id: str) -> str:
        return places.find(self._places, self.store, session_id).newest or session_id

    def usage(self, session_id: str) -> ReportedUsage:
        place = self._place(session_id)
        found = self._known_facts(place)
        return usage.reported(self._messages(session_id), found.began if parent_of(place, found)[1] else 0.0)

    def children(self, parts: Sequence[str]) -> list[ChildSession]:
        found = []
        for place in self.listing.files():
            with suppress(OSError, StoreUnavailable):
                known = self._facts(place)
                parent, branched_from = parent_of(place, known)
                if parent in parts and place.id not in parts:
                    kind = "delegate" if place.delegated_from else "branch" if branched_from else ""
                    found.append((known.began, place.id, known.title or known.first_words, kind))
        return [ChildSession(session_id, name, kind) for _, session_id, name, kind in sorted(found)]  # type: ignore[arg-type]

    # -- messages

    def messages(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        found = self._messages(session_id)
        with self._source(session_id) as source:
            return {each: self._row(source, found, each, session_id) for each in ids if each in found.units}

    @staticmethod
    def _row(source: EntrySource, found: EntryMessages, message_id: int, session_id: str) -> StoredMessage:
        unit = found.units[message_id]
        return codec.message_of(source.value(unit), unit, session_id, found.states[message_id], found.envelopes)

    def sent(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        found = self._messages(session_id)
        rows = self.messages(session_id, [each for each in ids if each in found.units and found.is_sent(each)])
        if not self.is_strict:
            return rows
        return {each: row for each, row in rows.items() if row.role != "tool" or row.tool_call_id in found.calls}

    def live(self, session_id: str) -> list[StoredMessage]:
        live = self._messages(session_id).live
        rows = self.sent(session_id, live)
        return [rows[each] for each in live if each in rows]

    def raw(self, session_id: str, *, before: int | None, limit: int, live_only: bool = False) -> list[StoredMessage]:
        found = self._messages(session_id)
        live = {entry.offset for entry in found.context.now}
        chosen: list[TreeEntry] = []
        for entry in reversed(found.entries):
            if len(chosen) == limit:
                break
            if (before is None or entry.offset < before) and (entry.offset in live or not live_only):
                chosen.append(entry)
        with self._source(session_id) as source:
            return [
                codec.row_of(source, each, session_id, "live" if each.offset in live else found.state_of(each))
                for each in reversed(chosen)
            ]

    def shown(self, session_id: str, items: Iterable[Item]) -> list[HistoryMessage | Handoff]:
        listed = list(items)
        rows = self.messages(session_id, [row_id_of(item) for item in listed])
        found = self._messages(session_id)
        shown: list[HistoryMessage | Handoff] = []
        with self._source(session_id) as source:
            for item in listed:
                row = rows.get(row_id_of(item))
                if row is None:
                    continue
                if isinstance(item, HistoryEntry):
                    shown.append(HistoryMessage(item, row, live_content(row)))
                    continue
                said, entry = parted(replace(row, flagged=True)), found.units[item.handoff_id]
                reported = usage.of_compaction(source.value(entry))
                shown.append(Handoff(item, row, said.summary, said.directive, reported))
        return shown

    def additions(self, session_id: str, ids: Sequence[int], *, end: bool) -> list[Addition]:
        place, found = self._place(session_id), self._messages(session_id)
        with self._source(session_id) as source:
            return list(additions.of_context(source, place, found, frozenset(ids), end=end))

    def abandoned(self, session_id: str) -> list[AbandonedBranch]:
        return self._messages(session_id).abandoned

    def next_message(self, session_id: str, after: int) -> StoredMessage | None:
        found = self._messages(session_id)
        following = next((each for each in found.ids if each > after and _is_said(found.units[each])), None)
        return None if following is None else self.messages(session_id, [following]).get(following)

    def searchable(self, session_id: str, after: str) -> SearchableText | None:
        place, found = self._place(session_id), self._messages(session_id)
        with self._source(session_id) as source:
            return texts.searchable(source, place, found, after)

    # -- History

    def change_token(self, session_id: str) -> ChangeToken:
        found = self._messages(session_id)
        return ChangeToken(((session_id, found.text),), found.ids[-1] if found.ids else 0)

    def index(self, session_id: str, recorded: Recorded, token: ChangeToken) -> TranscriptIndex:
        return transcripts.index_of(self._messages(session_id), recorded)

    def extended(
        self, session_id: str, index: TranscriptIndex, before: ChangeToken, now: ChangeToken
    ) -> TranscriptIndex | None:
        return transcripts.extended_index(self._messages(session_id), index)


def _is_said(unit: TreeEntry) -> bool:
    """Whether a message is one of its own: no summary, and no other words for an earlier one."""
    return not unit.is_boundary and unit.type != EDIT and not unit.is_note
