"""Reading the sessions of a Claude Code directory: everything that the site asks a store."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import BinaryIO

from cachetools import LRUCache, cached

from viewer.stores.base import ChangeToken, ChildSession, ReportedUsage, RowsDigest, Session, Store
from viewer.stores.changes import Commit, CommitState, Edit, Json, LiveContext, UndoPlan
from viewer.stores.conversation import searchable
from viewer.stores.errors import NotBranchable
from viewer.stores.jsonl.files import FileState, readable
from viewer.stores.jsonl.listing import FileListing
from viewer.stores.jsonl.reader import FileReader
from viewer.stores.lock_owners import Presence
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
from viewer.stores.refused import Action, Refusal, read_only
from viewer.stores.search.pages import SearchableText
from viewer.stores.transcript import Boundary, Item

from . import codec, commit, forks, paths, presence, undo, usage
from .facts import Facts, facts_of
from .messages import SessionMessage, SessionMessages, messages_of, records_of
from .paths import SessionFile
from .plan import planned_records, token_of
from .records import RECORDS, Record

REMEMBERED = 500  # sessions whose usage and branches are kept in this process
SETTLED = 60.0  # seconds after which a response counts as complete


@dataclass(frozen=True)
class ClaudeReader(FileReader):
    """An open store, which is a directory: each question opens the file that it needs."""

    store: Store

    def refusal(self, session_id: str | None, action: Action = "compact") -> Refusal | None:
        if session_id is None:
            return read_only(presence.store_refusal(self.store))
        if action == "prune":
            return None
        reason = presence.session_refusal(self.store, self._file(session_id))
        if action == "compact":
            reason = reason or presence.context_refusal(self._messages(session_id))
        return read_only(reason or (presence.NO_SPLIT if action == "split" else ""))

    @cached_property
    def listing(self) -> ClaudeListing:  # cached: it looks at every file
        return ClaudeListing(self.store)

    # -- sessions

    def session(self, session_id: str) -> Session:
        file, opened = self._file(session_id), presence.open_sessions(self.store)
        is_open = None if opened is None or file.parent else session_id in opened
        with readable(file.path):
            return replace(self.listing.session_of(file), is_open=is_open)

    def usage(self, session_id: str) -> ReportedUsage:
        return _usage(self._file(session_id))

    def children(self, parts: Sequence[str]) -> list[ChildSession]:
        files = [self._file(part) for part in parts if "/" not in part]
        agents = sorted((agent for file in files for agent in paths.sub_agents(file)), key=_began)
        copies = sorted((copy for file in files for copy in forks.copies(file)), key=_began)
        return [
            *(ChildSession(each.id, _name(each), "branch") for each in copies),
            *(ChildSession(each.id, _name(each), "delegate") for each in agents),
        ]

    def _file(self, session_id: str) -> SessionFile:
        return paths.find(self.store, session_id)

    # -- messages

    def messages(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        conversation = self._messages(session_id)
        message_ids = (_message_id(conversation, each) for each in ids)
        return self._read(session_id, [conversation.units[each] for each in message_ids if each is not None])

    def _read(self, session_id: str, units: Iterable[SessionMessage]) -> dict[int, StoredMessage]:
        conversation = self._messages(session_id)
        with _opened(self._file(session_id)) as file:
            return {message.id: codec.message_of(file, conversation, message, session_id) for message in units}

    def sent(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        conversation = self._messages(session_id)
        rows = self._read(session_id, [conversation.sent(each) for each in ids if each in conversation.units])
        return {
            each: row for each, whole in rows.items() if (row := codec.without(whole, conversation.lone)) is not None
        }

    def raw(self, session_id: str, *, before: int | None, limit: int) -> list[StoredMessage]:
        conversation, records = self._messages(session_id), self._records(session_id)
        live = {record.offset for record in conversation.thread}
        chosen: list[Record] = []
        for record in reversed(records):
            if len(chosen) == limit:
                break
            if before is None or record.offset < before:
                chosen.append(record)
        with _opened(self._file(session_id)) as file:
            return [codec.row_of(file, each, session_id, _state(conversation, each, live)) for each in reversed(chosen)]

    def shown(self, session_id: str, items: Iterable[Item]) -> list[HistoryMessage | Handoff]:
        directory = self._file(session_id).path.with_suffix("")
        return [codec.with_whole_output(each, directory) for each in super().shown(session_id, items)]

    def _reported(self, session_id: str, handoffs: Sequence[int]) -> Mapping[int, ReportedCompaction | None]:
        with _opened(self._file(session_id)) as file:
            return {each: usage.of_compaction(file, self._messages(session_id), each) for each in handoffs}

    def additions(self, session_id: str, ids: Sequence[int], *, end: bool) -> list[Addition]:
        with _opened(self._file(session_id)) as file:
            return list(codec.additions_of(file, self._messages(session_id), frozenset(ids), end=end))

    def abandoned(self, session_id: str) -> list[AbandonedBranch]:
        return _abandoned(self._file(session_id))

    def searchable(self, session_id: str, after: str) -> SearchableText | None:
        file, conversation = self._file(session_id), self._messages(session_id)
        with _opened(file) as opened:
            return _portion(file, opened, conversation, after)

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
                ids, token = conversation.live, token_of(file, opened, conversation)
            else:
                ids, token = conversation.ids_of(planned_records(file, opened, conversation, planned)), planned
        rows = self.messages(session_id, ids)
        messages = [rows[each] for each in ids if each in rows]
        return LiveContext(messages, {row.id: row.size for row in messages}, token)

    def find_commit(
        self, session_id: str, token: Json, edits: Sequence[Edit], recorded: Recorded, mode: str = "in_place"
    ) -> Commit | None:
        conversation = self._messages(session_id)
        boundary = commit.newest_of(conversation, commit.mark_of(token, edits))
        if boundary is None:
            return None
        return commit.commit_of(conversation, boundary, boundary.time or None)

    def commit_state(self, session_id: str, receipt: Json) -> CommitState:
        tree, written = self._messages(session_id).tree, receipt["boundary"]
        if undo.is_undone(tree, written):
            return CommitState("undone", {"boundary": written})
        return CommitState("in effect" if written in tree.nodes and tree.nodes[written].is_boundary else "gone")

    def undo_plan(self, session_id: str, compaction: Json | Boundary) -> UndoPlan:
        file = self._file(session_id)
        return undo.plan_undo(file, RECORDS.read(file.path).records, self._messages(session_id), compaction)

    def context_before(self, session_id: str, compaction: Json | Boundary) -> list[int]:
        handoff = compaction.handoff_id if isinstance(compaction, Boundary) else compaction["handoff"]
        for each in self._messages(session_id).compactions:
            if each.handoff == handoff:
                return list(each.before)
        raise NotBranchable("This compaction is no longer in the session's file.")

    def presence(self, session_id: str) -> Presence:
        clients = presence.clients_of(self.store, session_id)
        return Presence(next((each.holder for each in clients), None), sees_turns=True)

    def _records(self, session_id: str) -> list[Record]:
        return records_of(self._file(session_id))

    def _messages(self, session_id: str) -> SessionMessages:
        return messages_of(self._file(session_id))


def _state_key(file: SessionFile) -> tuple[str, str, FileState]:
    return str(file.path), file.sidechain, file.state


@cached(LRUCache(REMEMBERED), key=_state_key, lock=Lock())
def _usage(file: SessionFile) -> ReportedUsage:
    """Every page of a session asks for it, and a long session has tens of thousands of responses."""
    thread = messages_of(file).thread
    came_from = forks.origin(file)
    elsewhere = forks.responses(file, came_from) if came_from else frozenset()
    cost, spent = usage.cost(_own_records(file), elsewhere)
    return ReportedUsage(usage.tokens_in_context(thread), cost, spent=spent)


def _own_records(file: SessionFile) -> list[Record]:
    """Without those of sub-agents, which are sessions of their own."""
    records = records_of(file)
    return records if file.parent else [record for record in records if not record.is_sidechain]


@cached(LRUCache(REMEMBERED), key=_state_key, lock=Lock())
def _abandoned(file: SessionFile) -> list[AbandonedBranch]:
    return _abandoned_branches(messages_of(file))


def _message_id(conversation: SessionMessages, row_id: int) -> int | None:
    """The message with this id, or the one of which this is a further line."""
    if row_id in conversation.units:
        return row_id
    return conversation.further_lines.get(row_id)


def _state(conversation: SessionMessages, record: Record, live: set[int]) -> State:
    if record.offset in live:
        return "live"
    if not record.is_read or f"\0{record.offset}" in conversation.tree.outside:
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


# -- what lists ask ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClaudeListing(FileListing[SessionFile]):
    """`listing.Listing` of such a store."""

    store: Store

    def files(self) -> list[SessionFile]:
        return paths.all_files(self.store)

    def words_of(self, file: SessionFile) -> str:
        return facts_of(file).first_words

    def time_of(self, file: SessionFile) -> float:
        return facts_of(file).newest

    def listed(self, file: SessionFile) -> Session:
        facts = facts_of(file)
        return Session(
            store=self.store.name,
            id=file.id,
            row=file.number,
            source=facts.source,
            model=facts.model,
            title=facts.title,
            base_title=facts.title,
            parent=file.parent,
            started_at=facts.began or file.state.changed / 1e9,
            cwd=facts.cwd,
            branched_from=forks.origin(file),
            delegated=bool(file.parent),
            delegated_from=file.parent,
            forked=bool(file.parent),
            mark=RowsDigest(1 if file.state.size else 0, 0, file.state.changed, file.state.text),
            git_branch=facts.branch,
        )


# -- text for an index outside of the store ----------------------------------------------------------------------------


def _portion(file: SessionFile, reading: BinaryIO, conversation: SessionMessages, after: str) -> SearchableText | None:
    """The next messages after a cursor, each once, when it is complete; None where a message that was returned before
    is no longer there. A cursor is JSON: the file's inode, the last message that was returned, and its record.
    """
    last = _last_at(file, conversation, after) if after else -1
    if last is None:
        return None
    units = conversation.units
    return searchable(
        conversation,
        last,
        cursor=after,
        message_of=lambda each: codec.message_of(reading, conversation, units[each], file.id),
        cursor_at=lambda each: json.dumps([file.state.inode, each, units[each].uuids[0]]),
        open_end=_is_open(file, conversation),
    )


def _last_at(file: SessionFile, conversation: SessionMessages, cursor: str) -> int | None:
    inode, last, uuid = json.loads(cursor)
    is_known = uuid in conversation.tree.nodes or uuid in conversation.tree.outside
    return last if inode == file.state.inode and is_known and last in conversation.units else None


def _is_open(file: SessionFile, conversation: SessionMessages) -> bool:
    """Whether the last message is a response that may still get more lines."""
    units = map(conversation.units.__getitem__, reversed(conversation.ids))
    last = next((message for message in units if message.copy_of is None), None)
    if last is None or last.role != "assistant" or time.time() - file.state.changed / 1e9 > SETTLED:
        return False
    return not any(conversation.tree.record(uuid).is_end for uuid in last.uuids)


# -- branches that nothing continues any more: what a rewind left ------------------------------------------------------


def _abandoned_branches(conversation: SessionMessages) -> list[AbandonedBranch]:
    """The branches, oldest first: each with its messages, which are in no context and follow one another."""
    abandoned = {uuid for uuid in conversation.tree.order if _is_abandoned(conversation, conversation.of_record(uuid))}
    tops: dict[str, str] = {}
    members: dict[str, dict[int, None]] = {}
    # A parent comes before its children, except for records that were written again.
    for uuid in conversation.tree.order:
        if uuid in abandoned:
            tops[uuid] = top = _top(conversation, uuid, abandoned, tops)
            members.setdefault(top, {}).update(dict.fromkeys(conversation.of_record(uuid)))
    return [
        AbandonedBranch(_message_before(conversation, top), tuple(sorted(ids)), conversation.units[max(ids)].time)
        for top, ids in members.items()
    ]


def _is_abandoned(conversation: SessionMessages, ids: Sequence[int]) -> bool:
    units = [conversation.units[each] for each in ids if conversation.states[each] == "out"]
    is_own = any(each.is_summary or each.copy_of is not None for each in units)
    return 0 < len(units) == len(ids) and not is_own


def _top(conversation: SessionMessages, uuid: str, abandoned: set[str], tops: dict[str, str]) -> str:
    """The first record of the branch that a record is on; records without a message are skipped."""
    top, passed = uuid, {uuid}
    parent = conversation.tree.nodes[uuid].parent
    while parent in conversation.tree.nodes and parent not in passed:
        if parent in tops:
            return tops[parent]
        if parent in abandoned:
            top = parent
        elif conversation.of_record(parent):
            break
        passed.add(parent)
        parent = conversation.tree.nodes[parent].parent
    return top


def _message_before(conversation: SessionMessages, top: str) -> int | None:
    """The message that a branch follows, None where it begins the session."""
    passed = {top}
    parent = conversation.tree.nodes[top].parent
    while parent in conversation.tree.nodes and parent not in passed:
        if ids := conversation.of_record(parent):
            return ids[-1]
        passed.add(parent)
        parent = conversation.tree.nodes[parent].parent
    return None
