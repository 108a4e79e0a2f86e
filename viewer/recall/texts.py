"""The texts of a session as they are searched and read again: of each message its words and its calls."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Literal

from cachetools import LRUCache

from compaction import messages as chat
from compaction import redaction
from viewer.history import index_cache
from viewer.rendering.calls import calls_of
from viewer.rendering.texts import json_value
from viewer.rendering.tools import key_argument
from viewer.stores.base import Session
from viewer.stores.clean_text import clean, line
from viewer.stores.message import BOOKKEEPING_ROLES, StoredMessage, live_content, message_of, own_words
from viewer.stores.registry import Reader
from viewer.stores.search.passages import arguments_text
from viewer.stores.search.query import fold
from viewer.stores.transcript import HistoryEntry, TranscriptIndex

Author = Literal["person", "client", "agent", "tool"]

HELD = 60_000_000  # characters of all sessions in this process, some 120 MB
AT_ONCE = 500  # messages that are read at a time
LONGEST = 2_000_000  # characters of one message that are searched and read
CALL = 100  # characters of a call's main argument
PASSAGE, SHORTEST = 500, 250  # characters of a passage: about so many, and no fewer unless the message ends
# The tools of `viewer.mcp`, whatever an agent puts before their names ("mcp__palimpsest__search_history").
TOOLS = (
    "search_history", "read_history", "what_was_lost", "what_the_model_sees", "list_sessions", "compact_session",
    "undo_compaction",
)  # fmt: skip
_OWN = re.compile(rf"(?:.*[^a-z])?(?:{'|'.join(TOOLS)})", re.IGNORECASE | re.DOTALL)
_IN_SCRIPT = re.compile(rf"palimpsest\w{{0,30}}?(?:__|\.)(?:{'|'.join(TOOLS)})\W")  # Codex has a script call them


@dataclass(frozen=True)
class RecalledText:
    """What one message says. `tool` is the call that a result answers, `calls` are those that the message makes: id,
    name with main argument, and whether it is one of ours. `mute`: it is nothing but such a call, or a result.
    """

    id: int
    author: Author
    time: float
    text: str
    tool: str = ""
    calls: tuple[tuple[str, str, bool], ...] = ()
    mute: bool = False

    @property
    def named_calls(self) -> tuple[str, ...]:
        """The calls that it makes, without ours."""
        return tuple(dict.fromkeys(short for _, short, is_own in self.calls if not is_own))

    @cached_property
    def folded(self) -> str:
        return fold(self.text)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where its passages begin."""
        return tuple(_starts(self.text))


@dataclass(frozen=True, slots=True)
class RecalledMessage:
    """A message of History at its `place`, counted from 1. `away`: it is no longer in context, or not all of it is."""

    place: int
    entry: HistoryEntry
    away: bool
    words: RecalledText


@dataclass(frozen=True, slots=True)
class SessionTexts:
    """The messages of a session in order, without our own calls and their results, and its History."""

    session: Session
    index: TranscriptIndex
    messages: tuple[RecalledMessage, ...]

    @property
    def away(self) -> int:
        return sum(each.away for each in self.messages)


_Key = tuple[str, str, str]
_Held = dict[tuple[int, int], RecalledText]  # by a row's id and size
_cache: LRUCache[_Key, _Held] = LRUCache(
    HELD, getsizeof=lambda held: min(2 * sum(len(each.text) + 200 for each in held.values()), HELD)
)
_lock = Lock()


def texts_of(reader: Reader, session: Session) -> SessionTexts:
    """All texts of a session. Those that this process has read before are not read again: a message that is written
    does not change. Raises StoreUnavailable.
    """
    index = index_cache.index_of(reader, session)
    entries = index.entries
    sizes = {
        entry.full_id: index.sizes[number] for entry in entries if (number := index.number(entry.full_id)) is not None
    }
    key = reader.store.name, reader.store.url, session.id
    with _lock:
        held = dict(_cache.get(key, {}))
    missing = [each for each in sizes.items() if each not in held]
    if missing or len(held) > len(sizes):
        new = dict(_read(reader, session, [row for row, _ in missing], _calls_in(held)))
        held = {each: text for each in sizes.items() if (text := held.get(each) or new.get(each[0])) is not None}
        with _lock:
            _cache[key] = held
    recalled = (
        RecalledMessage(place + 1, entry, entry.state == "under" or entry.shortened, held[row])
        for place, entry in enumerate(entries)
        if (row := (entry.full_id, sizes.get(entry.full_id, 0))) in held
    )
    return SessionTexts(session, index, tuple(each for each in recalled if not each.words.mute))


def forget() -> None:
    """Drop everything that this process has cached."""
    with _lock:
        _cache.clear()


_Calls = dict[str, tuple[str, bool]]  # by id: name and main argument, and whether it is one of ours


def _calls_in(held: Mapping[tuple[int, int], RecalledText]) -> _Calls:
    """The calls whose results may follow."""
    return {call: (short, is_own) for text in held.values() for call, short, is_own in text.calls}


def _read(reader: Reader, session: Session, ids: Sequence[int], calls: _Calls) -> Iterator[tuple[int, RecalledText]]:
    for start in range(0, len(ids), AT_ONCE):
        rows = reader.messages(session.id, ids[start : start + AT_ONCE])
        for row_id in ids[start : start + AT_ONCE]:
            if row_id in rows:
                yield row_id, text_of(rows[row_id], calls)


def text_of(row: StoredMessage, calls: _Calls | None = None, *, redacting: bool = False) -> RecalledText:
    """What a row says; `calls` are those before it, to which its own are added."""
    calls = {} if calls is None else calls
    answered = [calls[each] for each in chat.answers(message_of(row)) if each in calls]
    made: list[tuple[str, str, bool]] = []
    pieces = [_said(row, redacting=redacting)]
    for call in calls_of(row):
        short = f"{line(call.name, 80) or 'a tool'}({key_argument(json_value(call.arguments), call.arguments)})"
        short, is_own = redaction.redact_shown(line(short, CALL)), is_of_recall(call.name, call.arguments)
        made += [(each, short, is_own) for each in call.ids]
        if is_own:
            continue
        arguments = redaction.redact_shown(call.arguments) if redacting else call.arguments
        pieces.append(f"{call.name}\n{arguments_text(arguments)}")
    calls.update({each: (short, is_own) for each, short, is_own in made})
    text = clean(unicodedata.normalize("NFC", "\n".join(filter(None, pieces)))[:LONGEST])
    is_result = row.role in chat.RESULT_ROLES or bool(answered)
    tool = next((short for short, _ in answered), "") or line(row.tool_name, 80)
    return RecalledText(
        id=row.id,
        author=_author(row, is_result=is_result),
        time=row.timestamp,
        text=text,
        tool=tool if is_result else "",
        calls=tuple(made),
        mute=row.role in BOOKKEEPING_ROLES
        or (any(is_own for *_, is_own in made) and not text.strip())
        or any(is_own for _, is_own in answered)
        or (is_result and is_of_recall(row.tool_name)),
    )


def is_of_recall(name: str, arguments: str = "") -> bool:
    """Whether a call asks one of our own tools, by its name, or in a script."""
    return _OWN.fullmatch(name[-100:]) is not None or (
        "palimpsest" in arguments and _IN_SCRIPT.search(arguments) is not None
    )


def _said(row: StoredMessage, *, redacting: bool) -> str:
    if redacting:
        row = replace(row, content=redaction.redact_shown_value(row.content))
    words = own_words(row)
    if words.kind:
        return chat.text(live_content(row))
    return "\n".join([chat.text(words.typed), *words.added])


def _author(row: StoredMessage, *, is_result: bool) -> Author:
    if is_result:
        return "tool"
    if row.role == "assistant":
        return "agent"
    return "person" if row.role == "user" and chat.is_typed(message_of(row)) else "client"


def _starts(text: str) -> Iterator[int]:
    """Passages end where a paragraph, a line or a sentence does, if one ends there."""
    at = 0
    while True:
        yield at
        if len(text) - at <= PASSAGE + SHORTEST:
            return
        at = _break(text, at + SHORTEST, at + PASSAGE)


def _break(text: str, start: int, stop: int) -> int:
    for mark in ("\n\n", "\n", ". ", "。", " "):
        if (at := text.rfind(mark, start, stop)) >= 0:
            return at + len(mark)
    return stop


# -- for an answer -----------------------------------------------------------------------------------------------------

_REDACTED = re.compile(rf"{re.escape(redaction.SHOWN_AS)}[^\]\n]{{1,60}}\]")


class ShownText:
    """A message's text without secrets, by the positions that its searched text has."""

    def __init__(self, searched: str, shown: str) -> None:
        self.text = shown
        self._ends = _matching(searched, shown)

    def at(self, position: int) -> int:
        """The same position in the text that is shown, or the nearest one behind a secret."""
        shift = 0
        for searched, shown in self._ends:
            if searched > position:
                break
            shift = shown - searched
        return max(0, min(position + shift, len(self.text)))


def _matching(searched: str, shown: str) -> list[tuple[int, int]]:
    """Positions behind each replaced text, in both."""
    ends: list[tuple[int, int]] = []
    if searched == shown:
        return ends
    at, begin = 0, 0
    for match in _REDACTED.finditer(shown):
        at += match.start() - begin
        begin = match.end()
        following = shown[begin : begin + 30].partition(redaction.SHOWN_AS)[0]
        next_at = searched.find(following, at) if following else -1
        if next_at >= 0:
            at = next_at
            ends.append((at, begin))
    return ends


def shown_texts(reader: Reader, session_id: str, messages: Sequence[RecalledMessage]) -> dict[int, ShownText]:
    """The texts of these messages without secrets, by the messages' ids."""
    rows = reader.messages(session_id, [each.entry.full_id for each in messages])
    return {
        each.entry.id: ShownText(each.words.text, text_of(rows[each.entry.full_id], redacting=True).text)
        for each in messages
        if each.entry.full_id in rows
    }
