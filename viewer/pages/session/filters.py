"""Filters of a session's History: only its prompts, replies, edits, commands, failures or thinking.

What a message does is known from its text alone, so the first filter of a session reads all of it (some 3,000 messages
a second); that is kept in this process as five bytes a message, and only what was appended is read later.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from threading import Lock
from typing import Any, NamedTuple

from cachetools import LRUCache

from compaction import messages as engine
from viewer.pages.parts.opened import OpenSession
from viewer.rendering import calls, outcomes, tools
from viewer.stores.errors import NotFound
from viewer.stores.message import HistoryMessage, StoredMessage
from viewer.stores.transcript import HistoryWindow, TranscriptIndex

from .messages import of_history

PORTION = 400  # messages that are read at once
HELD = 2_000_000  # messages of all sessions whose kinds are kept in this process

PROMPT, REPLY, EDIT, COMMAND, FAILURE, THINKING, SAID, ACTED = (1 << bit for bit in range(8))


class Filter(NamedTuple):
    """`flag` is that of the messages it shows; `of_calls`: it shows calls of them, and nothing else of them."""

    label: str
    flag: int
    of_calls: bool = False


FILTERS = {
    "prompts": Filter("Prompts", PROMPT),
    "replies": Filter("Replies", REPLY),
    "edits": Filter("Edits", EDIT, of_calls=True),
    "commands": Filter("Commands", COMMAND, of_calls=True),
    "failures": Filter("Failures", FAILURE, of_calls=True),
    "thinking": Filter("Thinking", THINKING),
}
_SORTS = {"edit": EDIT, "command": COMMAND}


@dataclass(frozen=True, slots=True)
class Kinds:
    """What each message of History does, as `flags`; `shown_in` has the place of the message with whose calls it is
    shown: a result's caller, else its own. `digest` is the index's of so many messages. `settled` of them are
    not read again, because none gets a result any more.
    """

    digest: str
    flags: bytes
    shown_in: Sequence[int]
    settled: int

    def matches(self, flag: int) -> list[int]:
        """The places of the messages with this flag; results are with their callers."""
        places = enumerate(zip(self.flags, self.shown_in, strict=False))
        return [place for place, (flags, caller) in places if flags & flag and caller == place]

    def with_results(self, places: Sequence[int]) -> list[int]:
        """These places, each with those of its results after it."""
        chosen = set(places)
        found = (place for place, caller in enumerate(self.shown_in) if caller in chosen)
        return sorted(found, key=lambda place: (self.shown_in[place], place))

    def place_of(self, index: TranscriptIndex, row_id: int) -> int:
        """The place where a message is shown, or that of a boundary. Raises NotFound."""
        boundary = index.boundary_at(row_id)
        if boundary is not None:
            return boundary.place
        place = index.place_of(row_id)
        if place is None:
            raise NotFound(f"Message {row_id} is not part of this session's History.")
        return self.shown_in[place]


@dataclass(frozen=True, slots=True)
class FilterLink:
    """A filter as a link: its address, its name, and whether it is this one."""

    href: str
    label: str
    is_current: bool


def filter_links(opened: OpenSession, only: str) -> list[FilterLink]:
    """All of History, and those of its filters that can show something, as far as that is known without reading it."""
    view, can = opened.urls.view, _can_show(opened)
    links = [FilterLink(view(), "Everything", not only)]
    for name, each in FILTERS.items():
        if each.flag & can or name == only:
            links.append(FilterLink(view(only=name), each.label, name == only))
    return links


def lists(opened: OpenSession) -> dict[str, bool]:
    """Which lists of the work of a session can have lines, as far as that is known without reading it."""
    can = _can_show(opened)
    return {"files": bool(can & EDIT), "failures": bool(can & FAILURE)}


def _can_show(opened: OpenSession) -> int:
    """The flags that messages have; all that are possible where a session was not read for a filter or a list yet."""
    if not opened.index.has_results:
        return ~(EDIT | COMMAND | FAILURE)
    with _kept_lock:
        kept = _kept.get(_key(opened))
    if kept is None or len(kept.flags) != opened.index.messages:
        return ~0
    return reduce(or_, set(kept.flags), 0)


def count(opened: OpenSession, only: str) -> int:
    """How many messages a filter shows. Raises StoreUnavailable."""
    return len(kinds_of(opened).matches(FILTERS[only].flag))


def window(
    opened: OpenSession, only: str, *, around: int | None, before: int | None, after: int | None, limit: int
) -> HistoryWindow:
    """At most `limit` messages of a filter with the results of their calls, around or next to a message: the newest
    without one. `earlier` and `later` count messages of the filter. Raises NotFound.
    """
    kinds = kinds_of(opened)
    places = kinds.matches(FILTERS[only].flag)
    if after is not None:
        start = bisect_right(places, kinds.place_of(opened.index, after))
        stop = min(start + limit, len(places))
    elif around is not None:
        at = bisect_left(places, kinds.place_of(opened.index, around))
        start = max(0, min(at - limit // 2, len(places) - limit))
        stop = min(start + limit, len(places))
    else:
        stop = len(places) if before is None else bisect_left(places, kinds.place_of(opened.index, before))
        start = max(0, stop - limit)
    shown = places[start:stop]
    shown = kinds.with_results(shown) if FILTERS[only].of_calls else shown
    return HistoryWindow(tuple(map(opened.index.entry, shown)), earlier=start, later=len(places) - stop)


def is_shown(call: calls.ShownCall, of: Filter) -> bool:
    """Whether a filter of calls shows this one."""
    if of.flag == FAILURE:
        return call.result is not None and bool(call.result.outcome.word)
    return _SORTS.get(call.sort) == of.flag


def thinking_of(row: StoredMessage) -> StoredMessage:
    """The row with what the model thought as its words, and nothing else."""
    thought = "\n\n".join(filter(str.strip, (row.reasoning, *_thoughts(row.content))))
    return replace(row, content=thought, reasoning="", tool_calls=[], extra={})


def _thoughts(content: Any) -> list[str]:
    parts = (part for part in engine.blocks(content) if isinstance(part, dict) and part.get("type") == "thinking")
    return [part["thinking"] for part in parts if isinstance(part.get("thinking"), str)]


# -- reading what messages do ------------------------------------------------------------------------------------------

_kept: LRUCache[tuple[str, str, str], Kinds] = LRUCache(HELD, getsizeof=lambda kinds: min(len(kinds.flags) + 1, HELD))
_kept_lock = Lock()
_locks = [Lock() for _ in range(16)]  # a session is read by one request at once, those of other sessions go on


def kinds_of(opened: OpenSession) -> Kinds:
    """What each message does. Raises StoreUnavailable."""
    index, key = opened.index, _key(opened)
    with _locks[hash(key) % len(_locks)]:
        with _kept_lock:
            kept = _kept.get(key)
        if kept is not None and (len(kept.flags) > index.messages or kept.digest != index.digest(len(kept.flags))):
            kept = None
        if kept is None or len(kept.flags) < index.messages:
            kept = _read(opened, kept)
            with _kept_lock:
                _kept[key] = kept
        return kept


def _key(opened: OpenSession) -> tuple[str, str, str]:
    store = opened.reader.store
    return store.name, store.url, opened.session.id


def _read(opened: OpenSession, kept: Kinds | None) -> Kinds:
    """The kinds of all messages; of the kept ones only those are read again that may get results."""
    index = opened.index
    start = kept.settled if kept is not None else 0
    flags = bytearray(kept.flags[:start] if kept is not None else b"") + bytearray(index.messages - start)
    shown_in = array("i", [*(kept.shown_in[:start] if kept is not None else ()), *range(start, index.messages)])
    places: list[int] = []
    rows: list[StoredMessage] = []
    called: list[list[engine.Call]] = []
    for first in range(start, index.messages, PORTION):
        entries = [index.entry(place) for place in range(first, min(first + PORTION, index.messages))]
        for item in opened.reader.shown(opened.session.id, entries):
            place = index.place_of(item.entry.id) if isinstance(item, HistoryMessage) else None
            if not isinstance(item, HistoryMessage) or place is None:
                continue
            row = of_history(item).row
            made = [] if row.role in engine.RESULT_ROLES else calls.calls_of(row)
            flags[place] = _flags(row, made)
            places.append(place)
            rows.append(replace(row, content=None, tool_calls=[], reasoning="", extra={}, inner=()))
            called.append([call._replace(arguments="") for call in made])
    pairs = calls.pair(rows, called)
    for (caller, _), result in pairs.items():
        shown_in[places[result]] = places[caller]
        flags[places[caller]] |= flags[places[result]] & (FAILURE | EDIT | COMMAND)
    for place in index.prompts:
        flags[place] |= PROMPT
    _find_replies(flags, index)
    waiting = [places[at] for at, made in enumerate(called) if any((at, n) not in pairs for n in range(len(made)))]
    return Kinds(index.digest(index.messages), bytes(flags), shown_in, _settled(shown_in, waiting))


def _settled(shown_in: Sequence[int], waiting: Iterable[int]) -> int:
    """How many messages cannot get results any more: none of the newest calls, nor of those that wait for results among
    the newest `PORTION` messages. No later result is of a call before.
    """
    recent = (place for place in waiting if place >= len(shown_in) - PORTION)
    settled = min((*shown_in[-1:], *recent), default=0)
    while (caller := min(shown_in[settled:], default=settled)) < settled:
        settled = caller
    return settled


def _flags(row: StoredMessage, made: Sequence[engine.Call]) -> int:
    if row.role in engine.RESULT_ROLES:
        inner = [call for each in row.inner for call in engine.calls({"tool_calls": [each]})]
        alone = _SORTS.get(tools.sort(row.tool_name, ""), 0)
        failed = FAILURE if outcomes.of_row(row).word else 0
        return ACTED | alone | failed | _sorts(inner)
    said = SAID if row.role == "assistant" and engine.said(row.content).strip() else 0
    thought = THINKING if row.reasoning.strip() or any(map(str.strip, _thoughts(row.content))) else 0
    return said | thought | (ACTED if made else 0) | _sorts(made)


def _sorts(made: Sequence[engine.Call]) -> int:
    found = 0
    for call in made:
        found |= _SORTS.get(tools.sort(call.name, call.arguments), 0)
    return found


def _find_replies(flags: bytearray, index: TranscriptIndex) -> None:
    """Mark the last words of each turn: all after its last call, or the newest before."""
    found = closed = False
    for place in reversed(range(index.messages)):
        flags[place] &= ~REPLY
        if flags[place] & PROMPT:
            found = closed = False
            continue
        closed = closed or (found and bool(flags[place] & ACTED))
        if flags[place] & SAID and not closed:
            flags[place] |= REPLY
            found, closed = True, bool(flags[place] & ACTED)
