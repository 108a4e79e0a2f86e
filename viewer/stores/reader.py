"""What the site asks an open store of any kind. A kind overrides what it can answer; otherwise the answer is that it
cannot.

Ids of messages are integers, unique within a session and its earlier parts. Nothing here writes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from compaction import messages
from viewer.stores.errors import StoreReadOnly
from viewer.stores.lock_owners import Presence

from .base import Capabilities, ChangeToken, ChildSession, ReportedUsage, Session, Store
from .changes import Commit, CommitState, Edit, Json, LiveContext, UndoPlan
from .listing import Listing
from .message import AbandonedBranch, Addition, Handoff, HistoryMessage, Preview, StoredMessage, live_content, own_words
from .recorded import Recorded
from .refused import NO_APPENDING, READ_ONLY, Action, Refusal
from .search.pages import HitPage, PageRequest, SearchableText, SearchFilter
from .search.query import Query
from .transcript import Boundary, HistoryEntry, Item, TranscriptIndex


class Reader(ABC):
    """An open store, for one request."""

    __slots__ = ()
    store: Store
    # Whether `searchable` gives the text for an index outside of the store; otherwise `search` answers.
    offers_text: ClassVar[bool] = False

    # Whether a compaction keeps an unbroken end of the context word for word and nothing before the handoff.
    tail_only: ClassVar[bool] = False
    rows_are_messages: ClassVar[bool] = True  # each raw row is a message of its own, or one that no model is sent

    # -- what the store can do

    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What this store can do here."""

    def refusal(self, session_id: str | None, action: Action = "compact") -> Refusal | None:
        """Why this can never be done with this session here, as the exception to raise, with one sentence; None when it
        can. Without a session, why it can be done with no session of the store. Whether a session can be pruned is
        asked of those that can be compacted. Raises NotFound.
        """
        if session_id is not None:
            self.session(session_id)
        return StoreReadOnly(READ_ONLY)

    def append_refusal(self, session_id: str) -> Refusal | None:
        """Why no message can ever be appended to this session's context here, as the exception to raise; None when one
        can. Raises NotFound.
        """
        self.session(session_id)
        return StoreReadOnly(NO_APPENDING)

    # -- sessions

    @property
    @abstractmethod
    def listing(self) -> Listing:
        """What lists of sessions ask."""

    @abstractmethod
    def session(self, session_id: str) -> Session:
        """The session of this id. Raises NotFound."""

    def parts(self, session_id: str) -> list[str]:
        """Ids of the sessions that one conversation consists of, up to this one, first part first."""
        return [session_id]

    def newest_part(self, session_id: str) -> str:
        """The newest session of this conversation, in which an agent continues."""
        return session_id

    def children(self, parts: Sequence[str]) -> list[ChildSession]:
        """The sessions that name one of these as their parent, oldest first."""
        return []

    def system_prompt(self, session_id: str) -> str:
        """The system prompt of a session, where it is stored apart from the messages, "" for none."""
        return ""

    def usage(self, session_id: str) -> ReportedUsage:
        """What the agent recorded about the tokens and the cost of a session. Raises NotFound."""
        return ReportedUsage()

    def reply_times(self, session_id: str) -> list[float]:
        """When a model answered in a session, in epoch seconds; needed where the agent keeps only the sum of its cost,
        which is divided by the replies then.
        """
        return []

    def practise(self, session_id: str, *, now: float) -> str | None:
        """Copy a session unchanged into the demo store, where compacting it harms nobody; returns the id of the copy.
        None where the demo store cannot hold such rows: then the messages in context are copied. Raises NotFound.
        """
        return None

    # -- messages

    @abstractmethod
    def messages(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        """The stored messages of these ids, of a session or the parts before it; those that do not exist are absent."""

    def sent(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        """As `messages`, for messages in context: without what the agent leaves out of a request."""
        return self.messages(session_id, ids)

    @abstractmethod
    def live(self, session_id: str) -> list[StoredMessage]:
        """The messages in context, in order, including the agent's own records, without what it leaves out of a
        request.
        """

    @abstractmethod
    def raw(self, session_id: str, *, before: int | None, limit: int) -> list[StoredMessage]:
        """At most `limit` messages of a session as stored, the newest or those before this id, in order."""

    def shown(self, session_id: str, items: Iterable[Item]) -> list[HistoryMessage | Handoff]:
        """The messages of a stretch of History, in its order, without those that were deleted since."""
        entries = [item for item in items if isinstance(item, HistoryEntry)]
        rows = self.messages(session_id, [entry.full_id for entry in entries])
        displayed = ((entry, rows[entry.full_id]) for entry in entries if entry.full_id in rows)
        return [HistoryMessage(entry, row, live_content(row)) for entry, row in displayed]

    def previews(self, session_id: str, ids: Sequence[int]) -> dict[int, Preview]:
        """The beginnings of these messages; those that do not exist are absent."""
        rows = self.messages(session_id, ids).values()
        return {row.id: Preview(row.id, row.role, preview(row), False, bool(row.tool_calls)) for row in rows}

    def additions(self, session_id: str, ids: Sequence[int], *, end: bool) -> list[Addition]:
        """What the agent itself adds directly before these messages of the context, with `end` also after the last one,
        in order.
        """
        return []

    def abandoned(self, session_id: str) -> list[AbandonedBranch]:
        """The branches that somebody left by continuing from an earlier message, oldest first. Raises NotFound."""
        return []

    def suspected_handoff(self, session_id: str, live_ids: Sequence[int]) -> int | None:
        """The first message among those in context, given in order, that looks like a handoff but has no known form,
        None where none has. It is treated as a message.
        """
        return None

    def next_message(self, session_id: str, after: int) -> StoredMessage | None:
        """The first message of a session after this id, or None."""
        rows = self.raw(session_id, before=None, limit=2**31)
        return next((row for row in rows if row.id > after), None)

    def search(self, query: Query, search_filter: SearchFilter, page: PageRequest) -> HitPage:
        """One page of the messages that match the query. Only called for stores that search themselves."""
        raise NotImplementedError

    def searchable(self, session_id: str, after: str) -> SearchableText | None:
        """What was said in a session after the cursor `after` of an earlier call, "" for all: a portion of some
        megabytes at most, with every message that has words for `passages.words_of`, whatever its state.

        None if text before the cursor was changed or removed: then the text read so far is void, and the caller starts
        again at "". Raises NotFound.
        """
        raise NotImplementedError

    # -- History

    @abstractmethod
    def change_token(self, session_id: str) -> ChangeToken:
        """A token that changes when messages of a session, or of its earlier parts, are added, removed or change their
        state.
        """

    @abstractmethod
    def index(self, session_id: str, recorded: Recorded, token: ChangeToken) -> TranscriptIndex:
        """The History of a session, each message once, as of this token."""

    def extended(
        self, session_id: str, index: TranscriptIndex, before: ChangeToken, now: ChangeToken
    ) -> TranscriptIndex | None:
        """The index with the messages that were appended between two tokens; None where it has to be made anew."""
        return None

    # -- what a compaction asks

    def basis(self, session_id: str, planned: Json | None = None) -> LiveContext:
        """The live context now, read consistently; with the token of an earlier basis, without the messages that were
        added since.

        Raises SessionBusy, and with a token CompactionConflict when a message of that basis was changed or taken back.
        """
        raise StoreReadOnly(READ_ONLY)

    def find_commit(
        self, session_id: str, token: Json, edits: Sequence[Edit], recorded: Recorded, mode: str = "in_place"
    ) -> Commit | None:
        """A commit whose process died before the commit was recorded, or None."""
        return None

    def commit_state(self, session_id: str, receipt: Json) -> CommitState:
        """What became of the commit with this receipt, also where an undo of it was not recorded because its process
        died. Raises NotFound.
        """
        return CommitState("gone")

    def undo_plan(self, session_id: str, compaction: Json | Boundary) -> UndoPlan:
        """What taking back a compaction would do now, or why it cannot be done: one of ours is given by the receipt of
        its commit, any other by its boundary in History.
        """
        return UndoPlan((), (), (), READ_ONLY)

    def context_before(self, session_id: str, compaction: Json | Boundary) -> list[int]:
        """Ids of the messages that were in context before a compaction, in order. Raises NotBranchable."""
        raise StoreReadOnly(READ_ONLY)

    def presence(self, session_id: str) -> Presence:
        """Who is at a session now. Raises NotFound."""
        return Presence()


def preview(row: StoredMessage) -> str:
    """The words of a message, without what a client added to a person's words, white space folded."""
    words = own_words(row)
    return " ".join((messages.said(live_content(row)) if words.kind else words.words).split())
