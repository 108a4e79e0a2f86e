"""Messages that somebody pinned: every compaction from then on keeps their words, here and through the doors."""

from __future__ import annotations

from dataclasses import dataclass

from compaction import messages as m
from viewer.stores.base import Session, Store
from viewer.stores.errors import NotFound, StoreError
from viewer.stores.message import StoredMessage, message_of, parted
from viewer.stores.registry import Reader, open_store
from viewer.usage import counting

from .models import Pin
from .plain import plain

SHARE = 0.1  # of a context window that pins may take
WHO = {"user": "User", "assistant": "Agent", "tool": "Tool output"}


class PinsFull(StoreError):
    """With this message the pins of the session would take more of its window than they may."""

    code = "pins_full"
    status = 409


def pinned_ids(reader: Reader, session: Session) -> list[int]:
    """The ids of a conversation's pinned messages, in the order in which they were pinned."""
    parts = list(map(plain, reader.parts(session.id) if session.parts > 1 else [session.id]))
    pins = Pin.objects.filter(store=reader.store.name, session_id__in=parts).order_by("pk")
    return list(pins.values_list("message_id", flat=True))


@dataclass(frozen=True, slots=True)
class PinnedMessage:
    """A pinned message with the tokens of its text, which are 0 for one without; `row` is None if it is not there any
    more.
    """

    id: int
    row: StoredMessage | None
    tokens: int


def pinned(reader: Reader, session: Session) -> list[PinnedMessage]:
    """A conversation's pinned messages, in the order in which they were pinned."""
    ids, count = pinned_ids(reader, session), counting.counter_for(session.model)
    rows = reader.messages(session.id, ids) if ids else {}
    return [PinnedMessage(each, rows.get(each), count(_text(rows[each])) if each in rows else 0) for each in ids]


def room(session: Session) -> int:
    """Tokens that the pins of a session may take."""
    return int(SHARE * counting.context_window(session.model, session.window))


def texts(reader: Reader, session: Session) -> tuple[str, ...]:
    """The pinned messages as a handoff carries them: who, and the words; without those that are not there any more."""
    ids = pinned_ids(reader, session)
    rows = reader.messages(session.id, ids) if ids else {}
    return tuple(filter(None, (_text(rows[each]) for each in ids if each in rows)))


def _text(row: StoredMessage) -> str:
    """Who, and the words; "" for a message without any."""
    words = words_of(row)
    return "" if words is None else f"{words[0]}: {words[1]}"


def words_of(row: StoredMessage) -> tuple[str, str] | None:
    """Who, and the words; None for a message without any."""
    message = parted(row).message
    if message is None:
        return None
    sent = message_of(message)
    words = (m.words(sent) or m.text(sent.get("content"))).strip()
    return (WHO.get(message.role, message.role), words) if words else None


def pin(store: Store, session_id: str, message_id: int) -> None:
    """Pin a message; nothing changes if it is pinned. Raises NotFound, PinsFull, StoreUnavailable."""
    with open_store(store) as reader:
        session = reader.session(session_id)
        rows = reader.messages(session_id, [message_id])
        if message_id not in rows or not (new := _text(rows[message_id])):
            raise NotFound(f"There is no message {message_id} with words in it in this session.")
        texts_then = [] if message_id in pinned_ids(reader, session) else [*texts(reader, session), new]
    count = counting.counter_for(session.model)
    if (tokens := sum(map(count, texts_then))) > room(session):
        raise PinsFull(
            f"With this message the pins would take {tokens:,} tokens, and they may take a tenth of the window, "
            f"{room(session):,}. Unpin another message first."
        )
    Pin.objects.get_or_create(store=store.name, session_id=plain(session_id), message_id=message_id)


def unpin(store: Store, session_id: str, message_id: int) -> None:
    """Unpin a message; nothing changes if it is not pinned. Raises NotFound, StoreUnavailable."""
    with open_store(store) as reader:
        session = reader.session(session_id)
        parts = reader.parts(session.id) if session.parts > 1 else [session.id]
    Pin.objects.filter(store=store.name, session_id__in=list(map(plain, parts)), message_id=message_id).delete()
