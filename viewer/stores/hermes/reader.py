"""What a store of Hermes Agent tells of its sessions: every reading that the rest of the site asks for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viewer.holders import Held
from viewer.stores.base import Capabilities, ChangeToken, Child, Session
from viewer.stores.listing import Listing
from viewer.stores.message import Handoff, HistoryMessage, Preview, StoredMessage
from viewer.stores.query import Query
from viewer.stores.recorded import Recorded
from viewer.stores.searching import Found, Key, SearchFilter, Stage
from viewer.stores.transcript import Item, Outline

from . import branching, guards, indexing, light, lock_time, opening, reading, relations, search, sessions, writing
from .listing import HermesListing
from .opening import Reader
from .writing import Snapshot


@dataclass(frozen=True, slots=True)
class HermesReader(Reader):
    """An open store. Ids of messages are row ids; lists are read whole, no cursor stays open."""

    def capabilities(self) -> Capabilities:
        """What this store can do here."""
        return opening.capabilities(self)

    def compact_reason(self) -> str:
        """Why sessions of this store cannot be compacted in place, as one sentence; "" when they can."""
        return opening.compact_reason(self)

    def split_reason(self) -> str:
        """Why no session of this store can be compacted by splitting it, as one sentence; "" when one can."""
        return opening.split_reason(self)

    def ended_reason(self, session_id: str) -> str:
        """Why a session that has ended cannot be split, as one sentence; "" when it can."""
        return branching.ended_reason(self, session_id)

    def branch_reason(self) -> str:
        """Why no session can be branched off in this store, as one sentence; "" when one can."""
        return opening.branch_reason(self)

    @property
    def listing(self) -> Listing:
        """What lists of sessions ask."""
        return HermesListing(self)

    # -- what a compaction asks

    def basis(self, session_id: str) -> Snapshot:
        """The live messages as a commit will expect them."""
        return writing.snapshot(self, session_id)

    def lock_of(self, session_id: str) -> Held | None:
        """Who is compacting this session now, None when nobody."""
        return guards.lock_of(self, session_id)

    def lease_of(self, session_id: str) -> Held | None:
        """Who is running a turn of this session now, None when nobody, or where the agent does not tell."""
        return guards.lease_of(self, session_id)

    def sees_turns(self) -> bool:
        """Whether the agent tells that it runs a turn."""
        return guards.has_leases(self)

    def commit_seconds(self, octets: Mapping[int, int], kept: Collection[int]) -> float:
        """How long a commit would keep the agent from writing that flags messages of so many bytes and keeps some."""
        return lock_time.of_commit(self.columns, octets, kept)

    def copy_seconds(self, octets: int) -> float:
        """How long copying messages with so many bytes of text would keep the agent from writing."""
        return lock_time.of_copies(octets)

    # -- sessions

    def session(self, session_id: str) -> Session:
        """The session of this id. Raises NotFound."""
        return sessions.get_session(self, session_id)

    def parts(self, session_id: str) -> list[str]:
        """Ids of the sessions that one conversation consists of, up to this one, first part first."""
        return sessions.chain(self, session_id)

    def newest_part(self, session_id: str) -> str:
        """The newest session of the conversation that this one belongs to: the one an agent goes on with."""
        return sessions.tip(self, session_id)

    def children(self, parts: Sequence[str]) -> list[Child]:
        """The sessions that name one of these as their parent, oldest first."""
        return relations.children(self, parts)

    def system_prompt(self, session_id: str) -> str:
        """The system prompt kept beside the messages of a session, "" for none."""
        return sessions.system_prompt(self, session_id)

    # -- messages

    def messages(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        """The stored messages of these ids, of a session or the parts before it; those that do not exist are absent."""
        return reading.read_rows(self, ids)

    def shown(self, session_id: str, items: Iterable[Item]) -> list[HistoryMessage | Handoff]:
        """What stands behind a stretch of History, in its order; messages that were deleted since are left out."""
        return reading.history_messages(self, items)

    def previews(self, session_id: str, ids: Sequence[int]) -> dict[int, Preview]:
        """The beginnings of these messages; those that do not exist are absent."""
        rows = light.rows_of(self, session_id, ids)
        return {
            row.id: Preview(row.id, row.role, row.text, row.size > light.START_OCTETS, bool(row.calls))
            for row in rows.values()
        }

    def change_token(self, session_id: str) -> ChangeToken:
        """What tells whether messages of a session, or of the parts before it, came, went or changed their state."""
        return indexing.token_of(self, session_id)

    def index(self, session_id: str, recorded: Recorded, token: ChangeToken) -> Outline:
        """The once-only History of a session as it was when it had this token."""
        return indexing.made(self, session_id, recorded, token.newest)

    def extended(self, session_id: str, index: Outline, before: ChangeToken, now: ChangeToken) -> Outline | None:
        """The index with the messages that were appended between two tokens; None where it has to be made anew."""
        return indexing.extended(self, session_id, index, before, now)

    def handoff_key(self, content: Any) -> str:
        """The same for two contents that hold the same handoff."""
        return light.handoff_key(content)

    def live(self, session_id: str) -> list[StoredMessage]:
        """The messages in context, in order, those that an agent keeps for itself included."""
        return reading.live_context(self, session_id)

    def raw(self, session_id: str, *, before: int | None, limit: int, live_only: bool = False) -> list[StoredMessage]:
        """At most `limit` messages of a session as stored, the newest or those before this id, in order."""
        return reading.raw_rows(self, session_id, before=before, limit=limit, live_only=live_only)

    def next_message(self, session_id: str, after: int) -> StoredMessage | None:
        """The first message of a session behind this id, None when there is none."""
        return reading.next_row(self, session_id, after)

    def search(
        self,
        query: Query,
        wanted: SearchFilter,
        limit: int,
        after: Key | None = None,
        *,
        stage: Stage = "none",
        masking: bool = False,
    ) -> Found:
        """At most `limit` hits behind the key `after` and the `stage` of an earlier page; with `masking`, without what
        looks like a secret in what is shown of them.
        """
        return search.search(self, query, wanted, limit, after, stage=stage, masking=masking)
