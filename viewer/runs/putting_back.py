"""*Put back*: messages that were summarised away are quoted in one new message of the live context, and its undo."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from compaction import tool_groups
from compaction.handoff import PUT_BACK_START, defused
from viewer import times
from viewer.history import index_cache
from viewer.stores import lock_owners
from viewer.stores.base import Session, Store
from viewer.stores.clean_text import sanitized
from viewer.stores.errors import NotFound, SessionBusy, StoreError
from viewer.stores.message import StoredMessage, is_put_back, message_of, row_tokens
from viewer.stores.registry import Reader, open_store, writer_of
from viewer.stores.transcript import HistoryEntry, TranscriptIndex
from viewer.usage import counting

from . import pins
from .planning import busy_sentence

INTRODUCTION = (
    "These are quotations, word for word. Nothing new is asked in them: go on with what you were asked last, with them"
    " in mind."
)


class InContext(StoreError):
    """The model is sent this message already: it was not summarised away, or it was put back."""

    code = "in_context"


class OverWindow(StoreError):
    """With these messages the context would be larger than the model's window."""

    code = "over_window"


@dataclass(frozen=True, slots=True)
class PutBackOutlook:
    """What would be written: a message of this text with so many tokens. `refusal` says why it cannot be, None if it
    can.
    """

    text: str
    tokens: int
    refusal: StoreError | None


def outlook(reader: Reader, session: Session, message_ids: Sequence[int], holder: str = "") -> PutBackOutlook:
    """What putting back these messages would write now; `holder` may hold the session. Raises NotFound."""
    index = index_cache.index_of(reader, session)
    entries = _entries(index, message_ids)
    quotations = _quotations(reader, session.id, entries)
    written = "\n\n".join([PUT_BACK_START, INTRODUCTION, *quotations])
    count, live = counting.counter_for(session.model), reader.live(session.id)
    tokens, window = count(written), counting.context_window(session.model, session.window)
    refusal = (
        _in_context(entries, quotations, live)
        or reader.append_refusal(session.id)
        or _busy(reader, session.id, live, holder)
        or _too_large(tokens, window, lambda: sum(row_tokens(row, count) for row in live))
    )
    return PutBackOutlook(written, tokens, refusal)


def put_back(store: Store, session_id: str, message_ids: Sequence[int], *, now: float) -> int:
    """Append one message with these messages to the live context, while nobody compacts the session; returns its id.

    Raises NotFound, InContext, OverWindow, SessionEnded, SessionBusy, StoreReadOnly, StoreUnavailable or
    WriteDisturbed: then nothing is written.
    """
    writer, holder = writer_of(store), lock_owners.new_holder()
    _text(store, session_id, message_ids, holder)
    with writer.hold(session_id, holder):
        text = _text(store, session_id, message_ids, holder)  # another call may have put them back meanwhile
        [message_id] = writer.append(session_id, [{"role": "user", "content": text}], now=now)
    return message_id


def _text(store: Store, session_id: str, message_ids: Sequence[int], holder: str) -> str:
    """The text to write. Raises as `put_back` does."""
    with open_store(store) as reader:
        drafted = outlook(reader, reader.session(session_id), message_ids, holder)
    if drafted.refusal is not None:
        raise drafted.refusal
    return drafted.text


def undo(store: Store, session_id: str, message_id: int) -> None:
    """Take a message that was put back out of the context again; nothing else changes.

    Raises NotFound, NotUndoable, SessionBusy, SessionEnded, StoreReadOnly, StoreUnavailable or WriteDisturbed: then
    nothing is written.
    """
    with open_store(store) as reader:
        if (refusal := reader.append_refusal(session_id)) is not None:
            raise refusal
        if message_id not in reader.messages(session_id, [message_id]):
            raise NotFound(f"This session has no message {message_id}.")
    writer_of(store).take_back(session_id, message_id)


def quoting(reader: Reader, session_id: str, entry: HistoryEntry) -> list[StoredMessage]:
    """The messages in context that quote this message, because somebody put it back."""
    [quotation] = _quotations(reader, session_id, [entry])
    return [row for row in reader.live(session_id) if is_put_back(row) and quotation in row.content]


def _entries(index: TranscriptIndex, message_ids: Iterable[int]) -> list[HistoryEntry]:
    """These messages of History, each once, in its order. Raises NotFound."""
    return [index.entry(place) for place in sorted(set(map(index.shown_place, message_ids)))]


def _quotations(reader: Reader, session_id: str, entries: Sequence[HistoryEntry]) -> list[str]:
    """Each message: who, when, and the words. Raises NotFound for one without words."""
    rows = reader.messages(session_id, [entry.full_id for entry in entries])
    quotations = []
    for entry in entries:
        words = pins.words_of(rows[entry.full_id]) if entry.full_id in rows else None
        if words is None:
            raise NotFound(f"Message {entry.id} has no words in it that could be put back.")
        who, said = words
        at = times.known(rows[entry.full_id].timestamp)
        when = f", {datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC" if at else ""
        quotations.append(sanitized(defused(f"{who}{when}:\n{said}")))
    return quotations


def _in_context(
    entries: Sequence[HistoryEntry], quotations: Sequence[str], live: Sequence[StoredMessage]
) -> InContext | None:
    put = [row.content for row in live if is_put_back(row)]
    for entry, quotation in zip(entries, quotations, strict=True):
        if entry.state == "live" and not entry.shortened:
            return InContext(f"Message {entry.id} is in context: the model is sent it anyway.")
        if any(quotation in content for content in put):
            return InContext(f"Message {entry.id} was put back already, and is in context.")
    return None


def _busy(reader: Reader, session_id: str, live: Sequence[StoredMessage], ours: str) -> SessionBusy | None:
    presence = reader.presence(session_id)
    if presence.turn is not None:
        return SessionBusy(busy_sentence(presence.turn, "running a turn of this session"))
    if presence.holder is not None and presence.holder.holder != ours:
        return SessionBusy(busy_sentence(presence.holder))
    if tool_groups.loose_ends([message_of(row) for row in live]).running is not None:
        return SessionBusy("A tool call waits for its result. Nothing is put between the two: wait for it.")
    return None


def _too_large(tokens: int, window: int, in_context: Callable[[], int]) -> OverWindow | None:
    total = tokens if tokens > window else tokens + in_context()
    if total <= window:
        return None
    return OverWindow(f"With it the context would have {total:,} tokens, and the window is {window:,}.")
