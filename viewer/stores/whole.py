"""Stores that are small enough to be read whole each time: a kind gives its conversations, the rest is done here.

Such a store has no index and no numbers of its own. Its sessions are numbered by their order, its messages as the kind
numbers them; after any change in it, lists read all of it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from viewer.stores.errors import NotFound

from .base import LONGEST_FIRST_WORDS, Capabilities, ChangeToken, RowsDigest, Session, Store
from .listing import Activity, Changes
from .message import State, StoredMessage
from .packing import HistoryParts, pack
from .reader import Reader, preview
from .recorded import Recorded
from .search.pages import SearchableMessage, SearchableText
from .search.passages import words_of
from .transcript import HistoryEntry, TranscriptIndex

PORTION = 1_000_000  # characters of text that an index is given at once


@dataclass(frozen=True, slots=True)
class WholeRow:
    """A `packing.IndexRow`. `is_plain` is always false: what is read whole each time is indexed anew each time."""

    id: int
    role: str
    state: State
    time: float
    size: int
    is_plain: bool = False

    @property
    def is_prompt(self) -> bool:
        return self.role == "user" and self.size > 0


@dataclass(frozen=True, slots=True)
class WholeConversation:
    """One session with all its messages, in order."""

    session: Session
    messages: Sequence[StoredMessage]

    @property
    def digest(self) -> str:
        """A text that differs when anything in the conversation differs."""
        return blake2b(repr((self.session, self.messages)).encode(), digest_size=16).hexdigest()


def first_words(messages: Sequence[StoredMessage]) -> str:
    """The beginning of the first request, "" for none."""
    requests = (preview(message) for message in messages if message.role == "user")
    return next(requests, "")[:LONGEST_FIRST_WORDS]


@dataclass(frozen=True, slots=True)
class WholeListing:
    """`listing.Listing` of such a store: any change makes it another one."""

    conversations: Sequence[WholeConversation]

    def changed(self, cursor: str, messages: int, sessions: int) -> Changes | None:
        digest = blake2b("".join(each.digest for each in self.conversations).encode(), digest_size=16).hexdigest()
        if cursor:
            return Changes((), cursor) if cursor == digest else None
        newest = sorted(self.conversations, key=lambda each: each.session.last_active, reverse=True)
        return Changes([each.session.id for each in newest[:messages]], digest)

    def page(self, number: int, limit: int) -> list[tuple[int, str | None]]:
        return [pair for pair in reversed(self._numbered()) if pair[0] <= number][:limit]

    def _numbered(self) -> list[tuple[int, str | None]]:
        return [(number, each.session.id) for number, each in enumerate(self.conversations, start=1)]

    def sessions(self, ids: Sequence[str]) -> dict[str, Session]:
        numbers = {session_id: number for number, session_id in self._numbered()}
        return {each.session.id: _listed(each, numbers[each.session.id]) for each in self._of(ids)}

    def _of(self, ids: Sequence[str]) -> Iterator[WholeConversation]:
        return (each for each in self.conversations if each.session.id in set(ids))

    def activity(self, session: Session, before: str | None) -> Activity:
        conversation = next(self._of([session.id]))
        messages = conversation.messages
        was_compacted = any(message.state == "under" for message in messages)
        return Activity(conversation.session.last_active, first_words(messages), was_compacted)


def _listed(conversation: WholeConversation, number: int) -> Session:
    session, messages = conversation.session, conversation.messages
    return replace(
        session,
        row=number,
        base_title=session.title,
        delegated=bool(session.delegated_from),
        forked=bool(session.parent),
        mark=RowsDigest(
            len(messages),
            sum(message.state == "live" for message in messages),
            max((each.id for each in messages), default=0),
            conversation.digest,
        ),
    )


class WholeReader(Reader):
    """An open store of which everything has been read."""

    __slots__ = ("_conversations", "_size", "store")
    offers_text = True

    def __init__(self, store: Store, conversations: Sequence[WholeConversation], size: int) -> None:
        self.store, self._size = store, size
        self._conversations = {each.session.id: each for each in conversations}

    def capabilities(self) -> Capabilities:
        return Capabilities(
            schema=None,
            sessions=len(self._conversations),
            size=self._size,
            search=False,
            summary_flag=False,
            turn_leases=False,
        )

    @property
    def listing(self) -> WholeListing:
        return WholeListing(list(self._conversations.values()))

    def _conversation(self, session_id: str) -> WholeConversation:
        if session_id not in self._conversations:
            raise NotFound(f"Store {self.store.name} has no session {session_id!r}.")
        return self._conversations[session_id]

    def session(self, session_id: str) -> Session:
        return self._conversation(session_id).session

    def messages(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        wanted_ids = set(ids)
        return {each.id: each for each in self._conversation(session_id).messages if each.id in wanted_ids}

    def live(self, session_id: str) -> list[StoredMessage]:
        return [each for each in self._conversation(session_id).messages if each.state == "live"]

    def raw(self, session_id: str, *, before: int | None, limit: int) -> list[StoredMessage]:
        rows = self._conversation(session_id).messages
        return [each for each in rows if before is None or each.id < before][-limit:]

    def change_token(self, session_id: str) -> ChangeToken:
        conversation = self._conversation(session_id)
        return ChangeToken(
            ((session_id, conversation.digest),), max((each.id for each in conversation.messages), default=0)
        )

    def index(self, session_id: str, recorded: Recorded, token: ChangeToken) -> TranscriptIndex:
        rows = self._conversation(session_id).messages
        entries = [_entry(row) for row in rows if row.state != "out"]
        parts = HistoryParts(entries, (), {entry.id: entry.id for entry in entries}, settled=False)
        return pack(parts, [WholeRow(row.id, row.role, row.state, row.timestamp, row.size) for row in rows])

    def searchable(self, session_id: str, after: str) -> SearchableText | None:
        """The cursor counts messages and contains the digest of their text."""
        rows = self._conversation(session_id).messages
        start, _, digest = after.partition(" ")
        given = int(start or 0)
        if digest != _text_digest(rows[:given]):
            return None
        messages, size = [], 0
        for row in rows[given:]:
            text = words_of(row).text
            messages.append(SearchableMessage(row.id, row.role, row.timestamp, text))
            size += len(text)
            if size >= PORTION:
                break
        stop = given + len(messages)
        return SearchableText(tuple(messages), f"{stop} {_text_digest(rows[:stop])}", more=stop < len(rows))


def _text_digest(rows: Sequence[StoredMessage]) -> str:
    """A digest of what these messages say; "" for none."""
    digest = blake2b(digest_size=16)
    for row in rows:
        content = row.content if isinstance(row.content, str) else repr(row.content)
        digest.update(repr((row.id, row.role, row.timestamp, row.tool_calls, row.tool_name, len(content))).encode())
        digest.update(content.encode(errors="surrogatepass"))
    return digest.hexdigest() if rows else ""


def _entry(row: StoredMessage) -> HistoryEntry:
    return HistoryEntry(row.id, (row.id,), row.id, row.id, "live" if row.state == "live" else "under", shortened=False)
