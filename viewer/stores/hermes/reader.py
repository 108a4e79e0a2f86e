"""Reading the sessions of a store of Hermes Agent: everything that the site asks a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings

from viewer.stores.base import Capabilities, ChangeToken, ChildSession, ReportedUsage, Session, Store
from viewer.stores.changes import Commit, CommitState, Edit, Json, LiveContext, UndoPlan
from viewer.stores.listing import Listing
from viewer.stores.lock_owners import Presence
from viewer.stores.message import Handoff, HistoryMessage, Preview, StoredMessage, own_words
from viewer.stores.reader import Reader
from viewer.stores.recorded import Recorded
from viewer.stores.refused import Action, Refusal, read_only
from viewer.stores.search.pages import HitPage, PageRequest, SearchFilter
from viewer.stores.search.query import Query
from viewer.stores.transcript import Boundary, Item, TranscriptIndex

from . import commit, database, indexing, messages, paths, plan, presence, search, suspicion, undo
from .database import OpenStore as Connected
from .envelopes import ADDED_START
from .listing import HermesListing
from .practice import copy_session


@dataclass(frozen=True, slots=True)
class HermesReader(Connected, Reader):
    """An open store. Ids of messages are row ids; lists are read completely, no cursor stays open."""

    def capabilities(self) -> Capabilities:
        return presence.capabilities(self)

    def refusal(self, session_id: str | None, action: Action = "compact") -> Refusal | None:
        if session_id is None:
            return read_only(presence.compact_reason(self))
        if action == "prune":
            return None
        if action == "branch":
            return presence.to_branch(self, session_id)
        return presence.to_compact(self, session_id, action)

    def append_refusal(self, session_id: str) -> Refusal | None:
        return presence.to_append(self, session_id)

    @property
    def listing(self) -> Listing:
        return HermesListing(self)

    # -- what a compaction asks

    def basis(self, session_id: str, planned: Json | None = None) -> LiveContext:
        return plan.basis(self, session_id, planned)

    def find_commit(
        self, session_id: str, token: Json, edits: Sequence[Edit], recorded: Recorded, mode: str = "in_place"
    ) -> Commit | None:
        return commit.find_commit(self, session_id, token, edits, recorded, mode)

    def commit_state(self, session_id: str, receipt: Json) -> CommitState:
        return commit.commit_state(self, receipt)

    def undo_plan(self, session_id: str, compaction: Json | Boundary) -> UndoPlan:
        return undo.undo_plan(self, session_id, compaction)

    def context_before(self, session_id: str, compaction: Json | Boundary) -> list[int]:
        return undo.context_before(session_id, compaction)

    def presence(self, session_id: str) -> Presence:
        turn = presence.lease_of(self, session_id)
        return Presence(presence.lock_of(self, session_id), turn, sees_turns=presence.has_leases(self))

    # -- sessions

    def session(self, session_id: str) -> Session:
        return paths.get_session(self, session_id)

    def usage(self, session_id: str) -> ReportedUsage:
        return paths.usage(self, session_id)

    def reply_times(self, session_id: str) -> list[float]:
        return paths.reply_times(self, session_id)

    def parts(self, session_id: str) -> list[str]:
        return paths.chain(self, session_id)

    def newest_part(self, session_id: str) -> str:
        return paths.tip(self, session_id)

    def children(self, parts: Sequence[str]) -> list[ChildSession]:
        return paths.children(self, parts)

    def system_prompt(self, session_id: str) -> str:
        return paths.system_prompt(self, session_id)

    # -- messages

    def messages(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        return messages.read_rows(self, ids)

    def shown(self, session_id: str, items: Iterable[Item]) -> list[HistoryMessage | Handoff]:
        return messages.history_messages(self, items)

    def previews(self, session_id: str, ids: Sequence[int]) -> dict[int, Preview]:
        rows = messages.rows_of(self, session_id, ids)
        begun = [row.id for row in rows.values() if row.role == "user" and row.text.startswith(ADDED_START)]
        added = [row.id for row in self.messages(session_id, begun).values() if own_words(row).added] if begun else []
        return {
            row.id: Preview(row.id, row.role, row.text, row.size > messages.START_BYTES, bool(row.calls))
            for row in rows.values()
        } | Reader.previews(self, session_id, added)

    def change_token(self, session_id: str) -> ChangeToken:
        return indexing.token_of(self, session_id)

    def index(self, session_id: str, recorded: Recorded, token: ChangeToken) -> TranscriptIndex:
        return indexing.build_index(self, session_id, recorded, token.newest)

    def extended(
        self, session_id: str, index: TranscriptIndex, before: ChangeToken, now: ChangeToken
    ) -> TranscriptIndex | None:
        return indexing.extended(self, session_id, index, before, now)

    def practise(self, session_id: str, *, now: float) -> str:
        return copy_session(self, session_id, settings.DEMO_STORE, now=now)

    def live(self, session_id: str) -> list[StoredMessage]:
        return messages.live_context(self, session_id)

    def raw(self, session_id: str, *, before: int | None, limit: int) -> list[StoredMessage]:
        return messages.raw_rows(self, session_id, before=before, limit=limit)

    def suspected_handoff(self, session_id: str, live_ids: Sequence[int]) -> int | None:
        return suspicion.suspected_handoff(self, session_id, live_ids)

    def next_message(self, session_id: str, after: int) -> StoredMessage | None:
        return messages.next_row(self, session_id, after)

    def search(self, query: Query, search_filter: SearchFilter, page: PageRequest) -> HitPage:
        return search.search(self, query, search_filter, page)


@contextmanager
def open_store(store: Store, *, listed: bool = False) -> Iterator[HermesReader]:
    """An open store of Hermes Agent, for one request. Raises StoreUnavailable."""
    with database.open_store(store, listed=listed) as opened:
        yield HermesReader(opened.store, opened.con, opened.columns)
