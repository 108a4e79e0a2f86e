"""Messages that somebody pinned: every compaction from then on keeps their words, here and through the doors."""

from __future__ import annotations

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
        pinned = [] if message_id in pinned_ids(reader, session) else [*texts(reader, session), new]
        window = counting.context_window(session.model, session.window)
    count = counting.counter_for(session.model)
    if (tokens := sum(map(count, pinned))) > SHARE * window:
        raise PinsFull(
            f"With this message the pins would take {tokens:,} tokens, and they may take a tenth of the window, "
            f"{int(SHARE * window):,}. Unpin another message first."
        )
    Pin.objects.get_or_create(store=store.name, session_id=plain(session_id), message_id=message_id)


def unpin(store: Store, session_id: str, message_id: int) -> None:
    """Unpin a message; nothing changes if it is not pinned. Raises NotFound, StoreUnavailable."""
    with open_store(store) as reader:
        session = reader.session(session_id)
        parts = reader.parts(session.id) if session.parts > 1 else [session.id]
    Pin.objects.filter(store=store.name, session_id__in=list(map(plain, parts)), message_id=message_id).delete()
