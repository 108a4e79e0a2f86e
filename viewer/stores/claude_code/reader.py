"""Reading the sessions of a Claude Code directory: everything that the site asks a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import BinaryIO

from cachetools import LRUCache, cached

from viewer.stores.base import ChangeToken, ChildSession, ReportedUsage, Session, Store
from viewer.stores.changes import Commit, Edit, Json, LiveContext, UndoPlan
from viewer.stores.errors import NotBranchable, SessionEnded, StoreReadOnly
from viewer.stores.jsonl.files import FileState, readable
from viewer.stores.jsonl.reader import FileReader
from viewer.stores.lock_owners import Holder
from viewer.stores.message import (
    AbandonedBranch,
    Addition,
    Handoff,
    HistoryMessage,
    ReportedCompaction,
    State,
    StoredMessage,
)
from viewer.stores.recorded import Recorded
from viewer.stores.search.pages import SearchableText
from viewer.stores.transcript import IndexedBoundary, Item

from . import (
    abandoned,
    additions,
    codec,
    commits,
    context,
    conversations,
    forks,
    places,
    refusals,
    spilled,
    texts,
    undoing,
    usage,
)
from .clients import clients_of, open_sessions
from .facts import Facts, facts_of
from .listing import ClaudeListing
from .places import SessionFile
from .records import RECORDS, Record
from .reported import reported
from .transcript import SessionMessages, Unit

REMEMBERED = 500  # sessions whose usage and branches are kept in this process


@dataclass(frozen=True)
class ClaudeReader(FileReader):
    """An open store, which is a directory: each question opens the file that it needs."""

    store: Store

    def compact_reason(self) -> str:
        return refusals.of_store(self.store)

    def compact_refusal(self, session_id: str, mode: str = "in_place") -> StoreReadOnly | SessionEnded | None:
        reason = refusals.refusal(self.store, self._file(session_id)) or (
            refusals.NO_SPLIT if mode != "in_place" else refusals.of_context(self._messages(session_id))
        )
        return StoreReadOnly(reason) if reason else None

    def branch_refusal(self, session_id: str) -> StoreReadOnly | SessionEnded | None:
        reason = refusals.refusal(self.store, self._file(session_id))
        return StoreReadOnly(reason) if reason else None

    @cached_property
    def listing(self) -> ClaudeListing:  # cached: it looks at every file
        return ClaudeListing(self.store)

    # -- sessions

    def session(self, session_id: str) -> Session:
        file, opened = self._file(session_id), open_sessions(self.store)
        is_open = None if opened is None or file.parent else session_id in opened
        with readable(file.path):
            return self.listing.session_of(self.store, file, is_open)

    def usage(self, session_id: str) -> ReportedUsage:
        return _usage(self._file(session_id))

    def children(self, parts: Sequence[str]) -> list[ChildSession]:
        files = [self._file(part) for part in parts if "/" not in part]
        agents = sorted((agent for file in files for agent in places.sub_agents(file)), key=_began)
        copies = sorted((copy for file in files for copy in forks.copies(file)), key=_began)
        return [
            *(ChildSession(each.id, _name(each), "branch") for each in copies),
            *(ChildSession(each.id, _name(each), "delegate") for each in agents),
        ]

    def _file(self, session_id: str) -> SessionFile:
        return places.find(self.store, session_id)

    # -- messages

    def messages(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        conversation = self._messages(session_id)
        return self._read(
            session_id, [conversation.units[unit] for each in ids if (unit := _unit_id(conversation, each)) is not None]
        )

    def _read(self, session_id: str, units: Iterable[Unit]) -> dict[int, StoredMessage]:
        conversation = self._messages(session_id)
        with _opened(self._file(session_id)) as file:
            return {unit.id: codec.message_of(file, conversation, unit, session_id) for unit in units}

    def sent(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        conversation = self._messages(session_id)
        rows = self._read(session_id, [conversation.sent(each) for each in ids if each in conversation.units])
        return {
            each: row for each, whole in rows.items() if (row := codec.without(whole, conversation.lone)) is not None
        }

    def raw(self, session_id: str, *, before: int | None, limit: int, live_only: bool = False) -> list[StoredMessage]:
        conversation, records = self._messages(session_id), self._records(session_id)
        live = {record.offset for record in conversation.thread}
        chosen: list[Record] = []
        for record in reversed(records):
            if len(chosen) == limit:
                break
            if (before is None or record.offset < before) and (record.offset in live or not live_only):
                chosen.append(record)
        with _opened(self._file(session_id)) as file:
            return [codec.row_of(file, each, session_id, _state(conversation, each, live)) for each in reversed(chosen)]

    def shown(self, session_id: str, items: Iterable[Item]) -> list[HistoryMessage | Handoff]:
        directory = self._file(session_id).path.with_suffix("")
        return [spilled.with_whole_output(each, directory) for each in super().shown(session_id, items)]

    def _reported(self, session_id: str, handoffs: Sequence[int]) -> Mapping[int, ReportedCompaction | None]:
        with _opened(self._file(session_id)) as file:
            return {each: reported(file, self._messages(session_id), each) for each in handoffs}

    def additions(self, session_id: str, ids: Sequence[int], *, end: bool) -> list[Addition]:
        with _opened(self._file(session_id)) as file:
            return list(additions.of_thread(file, self._messages(session_id), frozenset(ids), end=end))

    def abandoned(self, session_id: str) -> list[AbandonedBranch]:
        return _abandoned(self._file(session_id))

    def searchable(self, session_id: str, after: str) -> SearchableText | None:
        file, conversation = self._file(session_id), self._messages(session_id)
        with _opened(file) as opened:
            return texts.searchable(file, opened, conversation, after)

    # -- History

    def change_token(self, session_id: str) -> ChangeToken:
        file = self._file(session_id)
        records = RECORDS.read(file.path)
        return ChangeToken(((session_id, records.state.text),), records.records[-1].offset if records.records else 0)

    # -- what a compaction asks

    def basis(self, session_id: str, planned: Json | None = None) -> LiveContext:
        file, conversation = self._file(session_id), self._messages(session_id)
        with _opened(file) as opened:
            if planned is None:
                ids, token = conversation.live, context.token_of(file, opened, conversation)
            else:
                ids, token = conversation.ids_of(context.planned_records(file, opened, conversation, planned)), planned
        rows = self.messages(session_id, ids)
        messages = [rows[each] for each in ids if each in rows]
        return LiveContext(messages, {row.id: row.size for row in messages}, token)

    def check_basis(self, session_id: str, token: Json) -> None:
        file = self._file(session_id)
        with _opened(file) as opened:
            context.planned_records(file, opened, self._messages(session_id), token)

    def find_commit(
        self, session_id: str, token: Json, edits: Sequence[Edit], recorded: Recorded, mode: str = "in_place"
    ) -> Commit | None:
        conversation = self._messages(session_id)
        boundary = commits.newest_of(conversation, commits.mark_of(token, edits))
        if boundary is None:
            return None
        return commits.commit_of(conversation, boundary, boundary.time or None)

    def wrote(self, session_id: str, receipt: Json) -> bool:
        boundary = self._messages(session_id).tree.nodes.get(receipt["boundary"])
        return boundary is not None and boundary.is_boundary

    def undo_plan(self, session_id: str, compaction: Json | IndexedBoundary) -> UndoPlan:
        file = self._file(session_id)
        return undoing.plan(file, RECORDS.read(file.path).records, self._messages(session_id), compaction)

    def context_before(self, session_id: str, compaction: Json | IndexedBoundary) -> list[int]:
        handoff = compaction.handoff_id if isinstance(compaction, IndexedBoundary) else compaction["handoff"]
        for each in self._messages(session_id).compactions:
            if each.handoff == handoff:
                return list(each.before)
        raise NotBranchable("This compaction is no longer in the session's file.")

    def find_undo(self, session_id: str, receipt: Json) -> Json | None:
        conversation = self._messages(session_id)
        return {"boundary": receipt["boundary"]} if undoing.is_undone(conversation.tree, receipt["boundary"]) else None

    def lock_of(self, session_id: str) -> Holder | None:
        return next((each.holder for each in clients_of(self.store, session_id)), None)

    def sees_turns(self) -> bool:
        return True

    def _records(self, session_id: str) -> list[Record]:
        return conversations.records_of(self._file(session_id))

    def _messages(self, session_id: str) -> SessionMessages:
        return conversations.of(self._file(session_id))


def _state_key(file: SessionFile) -> tuple[str, str, FileState]:
    return str(file.path), file.sidechain, file.state


@cached(LRUCache(REMEMBERED), key=_state_key, lock=Lock())
def _usage(file: SessionFile) -> ReportedUsage:
    """Every page of a session asks for it, and a long session has tens of thousands of responses."""
    thread = conversations.of(file).thread
    came_from = forks.origin(file)
    elsewhere = forks.responses(file, came_from) if came_from else frozenset()
    cost, spent = usage.cost(_own_records(file), elsewhere)
    return ReportedUsage(usage.tokens_in_context(thread), cost, spent=spent)


def _own_records(file: SessionFile) -> list[Record]:
    """Without those of sub-agents, which are sessions of their own."""
    records = conversations.records_of(file)
    return records if file.parent else [record for record in records if not record.is_sidechain]


@cached(LRUCache(REMEMBERED), key=_state_key, lock=Lock())
def _abandoned(file: SessionFile) -> list[AbandonedBranch]:
    return abandoned.branches(conversations.of(file))


def _unit_id(conversation: SessionMessages, row_id: int) -> int | None:
    """The message with this id, or the one of which this is a further line."""
    if row_id in conversation.units:
        return row_id
    return conversation.further_lines.get(row_id)


def _state(conversation: SessionMessages, record: Record, live: set[int]) -> State:
    if record.offset in live:
        return "live"
    if not record.is_read or f"\0{record.offset}" in conversation.tree.beside:
        return "lost" if record.offset in conversation.units else "out"
    ids = conversation.of_record(record.uuid)
    return conversation.states[ids[0]] if ids else "out"


def _facts(file: SessionFile) -> Facts:
    with readable(file.path):
        return facts_of(file)


def _name(file: SessionFile) -> str:
    facts = _facts(file)
    return facts.title or facts.first_words


def _began(file: SessionFile) -> tuple[float, str]:
    return _facts(file).began, file.id


@contextmanager
def _opened(file: SessionFile) -> Iterator[BinaryIO]:
    with readable(file.path), file.path.open("rb") as opened:
        yield opened
