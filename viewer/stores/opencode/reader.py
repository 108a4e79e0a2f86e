"""Reading the sessions of an OpenCode database: everything that the site asks a store."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from threading import Lock
from typing import ClassVar

from cachetools import LRUCache

from viewer.stores import conversation
from viewer.stores.base import (
    LONGEST_FIRST_WORDS,
    Capabilities,
    ChangeToken,
    ChildSession,
    ReportedUsage,
    RowsDigest,
    Session,
    Store,
)
from viewer.stores.changes import IN_EFFECT, Commit, CommitState, Edit, Json, LiveContext, UndoPlan
from viewer.stores.errors import NotBranchable, NotRedoable, StoreReadOnly
from viewer.stores.jsonl.listing import FileListing
from viewer.stores.jsonl.reader import FileReader
from viewer.stores.lock_owners import Presence
from viewer.stores.message import Addition, ReportedCompaction, StoredMessage
from viewer.stores.reader import preview
from viewer.stores.recorded import Recorded
from viewer.stores.refused import Action, Refusal, read_only
from viewer.stores.search.pages import SearchableText
from viewer.stores.transcript import Boundary
from viewer.usage.pricing import Cost, by_quarter, reported_cost

from . import codec, commit, paths, presence, undo
from .paths import SessionRow, whole
from .records import MessageRecord, records_of
from .replay import MessageUnit, OpenCodeMessages

HELD = 16  # sessions of which the records are kept
FIRST = 20  # messages in which the first request is looked for
_lock = Lock()
SETTLED = 600.0  # seconds without a write after which a turn that has not ended counts as broken off

_held: LRUCache[tuple[str, str], OpenCodeMessages] = LRUCache(HELD)


@dataclass(frozen=True)
class OpenCodeListing(FileListing[SessionRow]):
    """`listing.Listing` of such a store: a session's row is what a session's file is in others."""

    store: Store
    con: sqlite3.Connection

    def files(self) -> list[SessionRow]:
        return paths.session_rows(self.con)

    def words_of(self, file: SessionRow) -> str:
        return first_words(self.con, file.id)

    def time_of(self, file: SessionRow) -> float:
        return file.state.changed / 1e9

    def listed(self, file: SessionRow) -> Session:
        parent, title = file.text("parent_id"), file.title
        return Session(
            store=self.store.name,
            id=file.id,
            row=file.number,
            source="opencode",
            model=file.model,
            title=title,
            base_title=title,
            parent=parent,
            started_at=whole(file.values.get("time_created")) / 1000,
            archived=bool(file.values.get("time_archived")),
            cwd=file.text("directory"),
            branched_from="",
            delegated=bool(parent),
            delegated_from=parent,
            forked=bool(parent),
            mark=RowsDigest(
                file.messages, 0, file.newest, f"{file.state.text} {title} {file.revert} {file.values['time_archived']}"
            ),
        )


def first_words(con: sqlite3.Connection, session_id: str) -> str:
    """The beginning of the first request, "" for none."""
    messages = OpenCodeMessages(records_of(con, session_id, FIRST))
    for unit in messages.units.values():
        if unit.is_prompt:
            row = codec.message_of(codec.rows_of(con, [unit.record]), messages, unit, session_id)
            return preview(row)[:LONGEST_FIRST_WORDS]
    return ""


def text_of_rows(con: sqlite3.Connection, row: SessionRow) -> str:
    """A text that differs whenever the session, or a message or a part of it, was added, removed or updated."""
    digest = blake2b(repr((row.revert, row.values.get("time_updated"))).encode(), digest_size=16)
    query = "SELECT id, time_created, time_updated FROM message WHERE session_id = ? ORDER BY time_created, id"
    for each in con.execute(query, (row.id,)):
        digest.update(repr(each).encode())
    query = """SELECT p.id, p.time_updated FROM message m JOIN part p ON p.message_id = m.id WHERE m.session_id = ?
        ORDER BY p.id"""
    for each in con.execute(query, (row.id,)):
        digest.update(repr(each).encode())
    return digest.hexdigest()


def messages_now(con: sqlite3.Connection, row: SessionRow) -> OpenCodeMessages:
    """All messages of a session, as the database has them now."""
    return OpenCodeMessages(records_of(con, row.id), row.revert, text_of_rows(con, row))


def forget() -> None:
    """Read all sessions anew, also where a row was changed without another time."""
    _held.clear()


@dataclass(frozen=True)
class OpenCodeReader(FileReader):
    """An open store; `con` has one view of the database."""

    store: Store
    con: sqlite3.Connection
    _messages_by_id: dict[str, OpenCodeMessages] = field(default_factory=dict)

    tail_only: ClassVar[bool] = True

    # -- what the store can do

    def capabilities(self) -> Capabilities:
        size = 0
        for path in (paths.database(self.store), f"{paths.database(self.store)}-wal"):
            with suppress(OSError):
                size += os.stat(path).st_size
        ((sessions,),) = self.con.execute("SELECT count(*) FROM session").fetchall()
        return Capabilities(None, sessions, size, False, True, True)

    def refusal(self, session_id: str | None, action: Action = "compact") -> Refusal | None:
        if session_id is None:
            return read_only(presence.of_store(self.store, self.con))
        row = self._row(session_id)
        if action in presence.NEVER:
            return StoreReadOnly(presence.NEVER[action])
        reason = presence.of_store(self.store, self.con) or presence.of_session(row, self._messages(session_id))
        return read_only(reason or (presence.NO_SPLIT if action == "split" else ""))

    # -- sessions

    @cached_property
    def listing(self) -> OpenCodeListing:
        return OpenCodeListing(self.store, self.con)

    def _row(self, session_id: str) -> SessionRow:
        return paths.session_row(self.con, self.store, session_id)

    def session(self, session_id: str) -> Session:
        return self.listing.session_of(self._row(session_id))

    def children(self, parts: Sequence[str]) -> list[ChildSession]:
        rows = [row for row in self.listing.all() if row.text("parent_id") in parts and row.id not in parts]
        rows.sort(key=lambda row: (whole(row.values.get("time_created")), row.id))
        return [ChildSession(row.id, row.title or first_words(self.con, row.id), "delegate") for row in rows]

    def usage(self, session_id: str) -> ReportedUsage:
        """A fork begins with copies of messages, whose times are before its own, and whose cost its sum includes."""
        row, messages = self._row(session_id), self._messages(session_id)
        began = whole(row.values.get("time_created"))
        total = sum(whole(each) for name, each in row.values.items() if name.startswith("tokens_"))
        dollars = reported_cost(row.values.get("cost"), total)
        priced = [(each, reported_cost(each.cost, each.tokens)) for each in messages.records if each.tokens]
        inherited = sum((price or 0.0 for each, price in priced if each.made < began), 0.0)
        return ReportedUsage(
            tokens=_in_context(messages),
            cost=Cost(dollars, inherited=min(inherited, dollars)) if dollars else None,
            total=total or None,
            spent=by_quarter((each.time, price) for each, price in priced if each.made >= began),
        )

    # -- messages

    def _messages(self, session_id: str) -> OpenCodeMessages:
        if session_id not in self._messages_by_id:
            row = self._row(session_id)
            key = str(paths.database(self.store)), f"{session_id} {text_of_rows(self.con, row)}"
            with _lock:
                messages = _held.get(key)
            if messages is None:
                messages = messages_now(self.con, row)
                with _lock:
                    _held[key] = messages
            self._messages_by_id[session_id] = messages
        return self._messages_by_id[session_id]

    def messages(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        messages = self._messages(session_id)
        return self._read(messages, session_id, [messages.units[each] for each in ids if each in messages.units])

    def sent(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        messages = self._messages(session_id)
        units = [messages.units[each] for each in ids if each in messages.units and messages.is_sent(each)]
        return self._read(messages, session_id, units, sent=True)

    def _read(
        self, messages: OpenCodeMessages, session_id: str, units: Iterable[MessageUnit], *, sent: bool = False
    ) -> dict[int, StoredMessage]:
        return commit.read(self.con, messages, session_id, units, sent=sent)

    def raw(self, session_id: str, *, before: int | None, limit: int) -> list[StoredMessage]:
        messages = self._messages(session_id)
        chosen: list[MessageRecord] = []
        count = 0
        for record in reversed(messages.records):
            if count >= limit:
                break
            if before is None or record.number < before:
                chosen.append(record)
                count += 1 + sum(part.is_answered for part in record.parts)
        data = codec.rows_of(self.con, chosen)
        rows = [row for each in reversed(chosen) for row in codec.raw_rows(data, messages, each, session_id)]
        return [row for row in rows if before is None or row.id < before][-limit:]

    def _reported(self, session_id: str, handoffs: Sequence[int]) -> Mapping[int, ReportedCompaction | None]:
        messages = self._messages(session_id)
        return {each.handoff: _of_compaction(messages, each.request) for each in messages.compactions}

    def additions(self, session_id: str, ids: Sequence[int], *, end: bool) -> list[Addition]:
        messages = self._messages(session_id)
        rows = codec.rows_of(self.con, (each for each in messages.context if each.role == "user"))
        return list(codec.additions(rows, messages, frozenset(ids), end=end))

    def searchable(self, session_id: str, after: str) -> SearchableText | None:
        """A cursor is JSON: the last message that was returned, and a digest of those up to it."""
        messages = self._messages(session_id)
        last, digest = json.loads(after) if after else (-1, _digest(messages, -1))
        if digest != _digest(messages, last):
            return None
        newest = messages.records[-1].time if messages.records else 0.0
        waits = messages.is_open and messages.records[-1].role != "user" and time.time() - newest < SETTLED
        settled = replace(messages, records=messages.records[:-1]) if waits else messages
        text = conversation.searchable(
            settled,
            last,
            cursor=after,
            message_of=lambda each: self._read(messages, session_id, [messages.units[each]])[each],
            cursor_at=lambda each: json.dumps([each, _digest(messages, each)]),
        )
        return replace(text, waits=waits)

    # -- History

    def change_token(self, session_id: str) -> ChangeToken:
        messages = self._messages(session_id)
        return ChangeToken(((session_id, messages.text),), messages.ids[-1] if messages.ids else 0)

    # -- what a compaction asks

    def basis(self, session_id: str, planned: Json | None = None) -> LiveContext:
        messages = self._messages(session_id)
        ids = messages.live if planned is None else commit.planned_ids(self.con, messages, session_id, planned)
        sent = self.sent(session_id, ids)
        rows = [sent[each] for each in ids if each in sent]
        token = commit.token_of(ids, rows) if planned is None else planned
        return LiveContext(rows, {row.id: row.size for row in rows}, token)

    def find_commit(
        self, session_id: str, token: Json, edits: Sequence[Edit], recorded: Recorded, mode: str = "in_place"
    ) -> Commit | None:
        return commit.find(self.con, self._messages(session_id), session_id, token, edits)

    def commit_state(self, session_id: str, receipt: Json) -> CommitState:
        messages = self._messages(session_id)
        if undo.taken(messages, receipt) is not None:
            return CommitState("in effect", redo_refusal=IN_EFFECT)
        reason = ""
        try:
            undo.check_redo(messages, receipt)
        except NotRedoable as refused:
            reason = refused.message
        return CommitState("undone", {"handoff": receipt["handoff"]}, reason)

    def undo_plan(self, session_id: str, compaction: Json | Boundary) -> UndoPlan:
        return undo.plan(session_id, self._messages(session_id), compaction)

    def context_before(self, session_id: str, compaction: Json | Boundary) -> list[int]:
        in_effect = undo.taken(self._messages(session_id), compaction)
        if in_effect is None:
            raise NotBranchable(undo.GONE)
        return list(in_effect.before)

    def presence(self, session_id: str) -> Presence:
        holder = presence.holder_of(self.store, self._row(session_id), self._messages(session_id))
        return Presence(holder, sees_turns=True)


def _digest(messages: OpenCodeMessages, last: int) -> str:
    """A digest of the messages up to this one."""
    return blake2b(repr([each for each in messages.ids if each <= last]).encode(), digest_size=8).hexdigest()


def _in_context(messages: OpenCodeMessages) -> int | None:
    """The tokens of the newest request and its answer; None where there was none since the newest compaction."""
    for record in reversed(messages.staying):
        if record.is_summary:
            return None
        if record.role == "assistant" and record.tokens:
            return record.tokens
    return None


def _of_compaction(messages: OpenCodeMessages, request: MessageRecord) -> ReportedCompaction:
    earlier = [record for record in messages.staying if record.number < request.number and not record.is_flagged]
    before = next((record.tokens for record in reversed(earlier) if record.tokens), None)
    is_auto = any(part.is_auto for part in request.parts)
    return ReportedCompaction("auto" if is_auto else "manual", before, None, "")
