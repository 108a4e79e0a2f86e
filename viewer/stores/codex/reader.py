"""Reading the sessions of a home of Codex: everything that the site asks a store."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from viewer.stores import conversation
from viewer.stores.base import ChangeToken, ChildSession, ReportedUsage, RowsDigest, Session, Store
from viewer.stores.changes import IN_EFFECT, Commit, CommitState, Edit, Json, LiveContext, UndoPlan
from viewer.stores.errors import NotBranchable, NotRedoable, StoreError
from viewer.stores.jsonl.files import readable
from viewer.stores.jsonl.listing import FileListing
from viewer.stores.jsonl.reader import FileReader
from viewer.stores.lock_owners import Presence
from viewer.stores.message import (
    AbandonedBranch,
    Addition,
    ReportedCompaction,
    State,
    StoredMessage,
)
from viewer.stores.recorded import Recorded
from viewer.stores.refused import Action, Refusal, read_only
from viewer.stores.search.pages import SearchableText
from viewer.stores.transcript import Boundary

from . import codec, commit, paths, presence, undo, usage
from .codec import ItemReader
from .facts import ThreadFacts, facts_of, head_of
from .messages import RolloutMessages, messages_of
from .paths import ThreadFile, Threads
from .plan import planned_items, token_of
from .records import RolloutRecord
from .replay import Lineage, RolloutPart, lineage_of

SETTLED = 60.0  # seconds after which a response counts as complete


@dataclass(frozen=True)
class CodexReader(FileReader):
    """An open store, which is a directory: each question opens the files that it needs."""

    store: Store

    def refusal(self, session_id: str | None, action: Action = "compact") -> Refusal | None:
        if session_id is None:
            return read_only(presence.store_refusal(self.store))
        if action == "prune":
            return None
        file = self._file(session_id)
        if action == "branch":
            return read_only(presence.branch_refusal(self.store, file, self._threads))
        reason = presence.session_refusal(self.store, file, self._threads)
        return read_only(reason or (presence.NO_SPLIT if action == "split" else ""))

    @cached_property
    def listing(self) -> CodexListing:  # cached: it looks at every file
        return CodexListing(self.store)

    @cached_property
    def _threads(self) -> Threads:
        return paths.threads(self.store)

    def _file(self, session_id: str) -> ThreadFile:
        return paths.find(self.store, session_id, self._threads)

    def _lineage(self, session_id: str) -> Lineage:
        return lineage_of(self._file(session_id), self._threads)

    def _messages(self, session_id: str) -> RolloutMessages:
        return messages_of(session_id, self._lineage(session_id))

    # -- sessions

    def session(self, session_id: str) -> Session:
        file, opened = self._file(session_id), presence.open_sessions(self.store)
        with readable(file.path):
            return replace(self.listing.session_of(file), is_open=None if opened is None else session_id in opened)

    def _facts(self, file: ThreadFile) -> ThreadFacts:
        with readable(file.path):
            return facts_of(file, self._threads)

    def usage(self, session_id: str) -> ReportedUsage:
        return usage.reported(self._lineage(session_id))

    def children(self, parts: Sequence[str]) -> list[ChildSession]:
        rows = []
        for session_id, files in self._threads.items():
            with suppress(OSError, StoreError):  # the session's own page reports it
                head = head_of(files[0].path)
                if session_id not in parts and (head.spawned_by in parts or head.forked_from in parts):
                    facts = self._facts(self._file(session_id))
                    kind = "delegate" if head.spawned_by else "branch"
                    rows.append((head.began, session_id, facts.title or facts.first_words, kind))
        return [
            ChildSession(session_id, name, "delegate" if kind == "delegate" else "branch")
            for _, session_id, name, kind in sorted(rows)
        ]

    # -- messages

    def messages(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        rollout_messages = self._messages(session_id)
        message_ids = [message_id for each in ids if (message_id := rollout_messages.message_id_of(each)) is not None]
        with ItemReader() as reader:
            rows = {
                each: codec.message_of(reader, rollout_messages, rollout_messages.units[each], session_id)
                for each in message_ids
            }
        return rows

    def sent(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        messages = self._messages(session_id)
        with ItemReader() as reader:
            return dict(self._sent(reader, messages, session_id, ids))

    def _sent(
        self, reader: ItemReader, messages: RolloutMessages, session_id: str, ids: Sequence[int]
    ) -> Iterator[tuple[int, StoredMessage]]:
        for each in ids:
            message = messages.units.get(each)
            if message is None:
                continue
            row = codec.message_of(reader, messages, message, session_id, sent=messages.states[each] == "live")
            if row.role != "tool" or row.tool_call_id not in messages.lone_results:
                yield each, row

    def raw(self, session_id: str, *, before: int | None, limit: int) -> list[StoredMessage]:
        messages = self._messages(session_id)
        chosen: list[tuple[RolloutPart, RolloutRecord]] = []
        sent = (messages.replay.items[each] for each in messages.sent_items)
        live = {each.part.start + each.record.offset for each in sent}
        for part, record in _newest_first(messages.lineage):
            if len(chosen) == limit:
                break
            row_id = part.start + record.offset
            if before is None or row_id < before:
                chosen.append((part, record))
        with ItemReader() as reader:
            return [
                codec.row_of(reader, part, record, session_id, _state(messages, part.start + record.offset, live))
                for part, record in reversed(chosen)
            ]

    def _reported(self, session_id: str, handoffs: Sequence[int]) -> Mapping[int, ReportedCompaction | None]:
        compactions = self._messages(session_id).compactions
        return {each.handoff: usage.of_compaction(each.replayed) for each in compactions if each.handoff in handoffs}

    def additions(self, session_id: str, ids: Sequence[int], *, end: bool) -> list[Addition]:
        with ItemReader() as reader:
            return list(codec.additions_of(reader, self._messages(session_id), frozenset(ids), end=end))

    def abandoned(self, session_id: str) -> list[AbandonedBranch]:
        messages = self._messages(session_id)
        branches = []
        for behind, items in messages.replay.abandoned:
            ids = [each for each in messages.ids_of(items) if messages.states[each] == "out"]
            before = messages.replay.first.get(behind) if behind is not None else None
            if ids:
                time = max(messages.units[each].time for each in ids)
                branches.append(AbandonedBranch(before if before in messages.units else None, tuple(ids), time))
        return branches

    def searchable(self, session_id: str, after: str) -> SearchableText | None:
        with ItemReader() as reader:
            return _searchable(reader, self._messages(session_id), session_id, after)

    # -- History

    def change_token(self, session_id: str) -> ChangeToken:
        lineage = self._lineage(session_id)
        current = lineage.current
        newest = current.start + current.records[-1].offset if current.records else 0
        return ChangeToken(((session_id, lineage.text),), newest)

    # -- what a compaction asks

    def basis(self, session_id: str, planned: Json | None = None) -> LiveContext:
        messages = self._messages(session_id)
        token = token_of(messages) if planned is None else planned
        ids = messages.live if planned is None else messages.ids_of(planned_items(messages, planned))
        with ItemReader() as reader:
            rows = [row for _, row in self._sent(reader, messages, session_id, ids)]
        return LiveContext(rows, {row.id: row.size for row in rows}, token)

    def find_commit(
        self, session_id: str, token: Json, edits: Sequence[Edit], recorded: Recorded, mode: str = "in_place"
    ) -> Commit | None:
        compaction = commit.newest_of(self._messages(session_id), commit.mark_of(token, edits))
        return None if compaction is None else commit.commit_of(compaction, compaction.replayed.record.time or None)

    def commit_state(self, session_id: str, receipt: Json) -> CommitState:
        if not undo.is_undone(self._lineage(session_id), receipt):
            return CommitState("in effect", redo_refusal=IN_EFFECT)
        reason = ""
        try:
            undo.plan_redo(self._messages(session_id), receipt)
        except NotRedoable as refused:
            reason = refused.message
        return CommitState("undone", {"window": receipt["window"]}, reason)

    def undo_plan(self, session_id: str, compaction: Json | Boundary) -> UndoPlan:
        return undo.plan_undo(session_id, self._messages(session_id), compaction)

    def context_before(self, session_id: str, compaction: Json | Boundary) -> list[int]:
        compacted = undo.compaction_in_effect(self._messages(session_id), compaction)
        if compacted is None:
            raise NotBranchable(undo.GONE)
        return list(compacted.before)

    def presence(self, session_id: str) -> Presence:
        return Presence(presence.holder_of(self.store, session_id, self._file(session_id).path), sees_turns=True)


def _newest_first(lineage: Lineage) -> Iterator[tuple[RolloutPart, RolloutRecord]]:
    for part in reversed(lineage.parts):
        records = part.records if part.is_own else list(part.sent())
        yield from ((part, record) for record in reversed(records))


def _state(messages: RolloutMessages, row_id: int, live: set[int]) -> State:
    if row_id in live:
        return "live"
    message_id = messages.message_id_of(row_id)
    return "out" if message_id is None else messages.states[message_id]


# -- what lists ask ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CodexListing(FileListing[ThreadFile]):
    """`listing.Listing` of such a store."""

    store: Store

    @cached_property
    def _threads(self) -> Threads:
        return paths.threads(self.store)

    def files(self) -> list[ThreadFile]:
        return paths.all_files(self.store)

    def words_of(self, file: ThreadFile) -> str:
        return facts_of(file, self._threads).first_words

    def time_of(self, file: ThreadFile) -> float:
        return facts_of(file, self._threads).newest

    def listed(self, file: ThreadFile) -> Session:
        facts = facts_of(file, self._threads)
        head = facts.head
        parent = head.spawned_by or head.forked_from
        return Session(
            store=self.store.name,
            id=file.id,
            row=file.number,
            source=head.source,
            model=facts.model,
            title=facts.title,
            base_title=facts.title,
            parent=parent,
            started_at=head.began or file.state.changed / 1e9,
            archived=file.rollout.is_archived,
            cwd=facts.cwd,
            branched_from=head.forked_from,
            delegated=head.is_sub_agent,
            delegated_from=parent if head.is_sub_agent else "",
            forked=bool(parent),
            mark=RowsDigest(1 if file.state.size else 0, 0, file.state.changed, file.state.text + file.row.title),
            git_branch=head.branch,
            window=facts.window,
        )


# -- text for an index outside of the store ----------------------------------------------------------------------------


def _searchable(
    reader: ItemReader, rollout_messages: RolloutMessages, session_id: str, after: str
) -> SearchableText | None:
    """The next messages after a cursor, each once, when it is complete; None where a message that was returned before
    is no longer there. A cursor is JSON: the files of the session, the last message that was returned, and its time.
    """
    last = _last_at(rollout_messages, after) if after else -1
    if last is None:
        return None
    units = rollout_messages.units
    return conversation.searchable(
        rollout_messages,
        last,
        cursor=after,
        message_of=lambda each: codec.message_of(reader, rollout_messages, units[each], session_id),
        cursor_at=lambda each: json.dumps([_files(rollout_messages), each, units[each].time]),
        open_end=_is_open(rollout_messages),
    )


def _files(messages: RolloutMessages) -> str:
    return " ".join(f"{each.rollout.file_id}:{each.state.inode}" for each in messages.lineage.parts)


def _last_at(messages: RolloutMessages, cursor: str) -> int | None:
    """A new file changes no id; if text before the cursor was removed, the message at the cursor differs."""
    files, last, last_time = json.loads(cursor)
    message = messages.units.get(last)
    return last if _files(messages).startswith(files) and message is not None and message.time == last_time else None


def _is_open(messages: RolloutMessages) -> bool:
    """Whether the last message is an unfinished response."""
    last = next((each for each in reversed(messages.ids) if messages.units[each].copy_of is None), None)
    if last is None or last != messages.replay.open_end:
        return False
    return time.time() - messages.lineage.current.state.changed / 1e9 <= SETTLED
