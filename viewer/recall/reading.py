"""Reading on in one session: whole messages in order, in answers of some thousand characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewer.stores.errors import NotFound
from viewer.stores.registry import Reader
from viewer.web import cursors

from .search import ANSWER, RecalledHit
from .texts import RecalledMessage, SessionTexts, shown_texts, texts_of

BEFORE = 600  # characters of the message before the one that is asked for
SMALL = 40  # messages that are read at a time
MOST_IDS = 50


@dataclass(frozen=True, slots=True)
class ReadMessages:
    """Messages in order, the first or last of them perhaps in part; `next` is the cursor for what follows, "" at the
    end. `messages` is how many the session has.
    """

    messages: tuple[RecalledHit, ...]
    next: str
    total: int


def read_history(
    reader: Reader,
    session_id: str,
    *,
    around: int | None = None,
    ids: Sequence[int] = (),
    offset: int = 0,
    cursor: str = "",
    size: int = ANSWER,
) -> ReadMessages:
    """Messages of a session: those of these `ids` alone; or the message `around` from the character `offset` on, with
    the end of the one before it, and all that follow; or all of them from the first one.

    Raises NotFound, StoreUnavailable, and BadCursor for a cursor of another call.
    """
    session = reader.session(reader.newest_part(session_id))
    texts = texts_of(reader, session)
    chosen = _of_ids(texts, ids) if ids else list(texts.messages)
    kind = f"read {cursors.digest(repr(list(ids)))}" if ids else "read"
    if cursor:
        at, offset = (max(each, 0) for each in cursors.read(cursor, kind, int, int))
    else:
        at = _at(texts, around) if around is not None and not ids else 0
    total = texts.index.messages
    read: list[RecalledHit] = []
    room = size
    if around is not None and not (cursor or ids or offset) and at:
        read += _parts(reader, session.id, chosen[at - 1 : at], ends=min(BEFORE, size // 4))
        room -= len(read[0].text) if read else 0
    for start in range(at, len(chosen), SMALL):
        for number, part in enumerate(_parts(reader, session.id, chosen[start : start + SMALL], offset=offset)):
            kept = _cut(part, room)
            read.append(kept)
            room -= len(kept.text)
            if kept.end < part.end:
                return ReadMessages(tuple(read), cursors.written(kind, start + number, kept.end), total)
            if room <= 0 and start + number + 1 < len(chosen):
                return ReadMessages(tuple(read), cursors.written(kind, start + number + 1, 0), total)
        offset = 0
    return ReadMessages(tuple(read), "", total)


def _of_ids(texts: SessionTexts, ids: Sequence[int]) -> list[RecalledMessage]:
    by_id = {each.entry.id: each for each in texts.messages}
    named = dict.fromkeys(texts.index.message_of(row) if 0 <= row < 2**63 else None for row in ids[:MOST_IDS])
    chosen = [by_id[each] for each in named if each in by_id]
    if not chosen:
        raise NotFound(f"This session has none of the messages {', '.join(map(str, ids[:MOST_IDS]))}.")
    return sorted(chosen, key=lambda each: each.place)


def _at(texts: SessionTexts, around: int) -> int:
    """The position of this message, or of the next one where it is one of our own calls."""
    place = texts.index.place_of(around) if 0 <= around < 2**63 else None
    if place is None:
        raise NotFound(f"This session has no message {around}.")
    later = (at for at, each in enumerate(texts.messages) if each.place > place)
    return next(later, max(len(texts.messages) - 1, 0))


def _parts(
    reader: Reader, session_id: str, messages: Sequence[RecalledMessage], *, offset: int = 0, ends: int = 0
) -> list[RecalledHit]:
    """These messages whole, the first of them from `offset` on; with `ends`, only so much of their ends."""
    shown = shown_texts(reader, session_id, messages)
    parts = []
    for number, each in enumerate(messages):
        if each.entry.id not in shown:
            continue
        text, words = shown[each.entry.id].text, each.words
        start = min(offset, len(text)) if not number else 0
        start = max(start, len(text) - ends) if ends else start
        parts.append(
            RecalledHit(
                id=each.entry.id,
                place=each.place,
                author=words.author,
                tool=words.tool,
                calls=words.named_calls,
                time=words.time,
                text=text[start:],
                start=start,
                end=len(text),
                length=len(text),
                in_context=each.entry.state == "live",
            )
        )
    return parts


def _cut(part: RecalledHit, room: int) -> RecalledHit:
    """The beginning of a message that there is room for, up to the end of a line or word if one is near."""
    if len(part.text) <= room:
        return part
    room = max(room, 1)
    near = max(part.text.rfind("\n", room - 200, room), part.text.rfind(" ", room - 60, room)) + 1
    text = part.text[: near if near > room // 2 else room]
    return part.part(text)
