"""What a session's messages say, for an index that is kept outside of the store: each message once.

A cursor is JSON: what the session is kept in, the last message that was given, and when that was said.
"""

from __future__ import annotations

import json
from bisect import bisect_right

from viewer.stores.search.pages import SearchableMessage, SearchableText
from viewer.stores.search.passages import words_of

from . import codec
from .messages import EntryMessages
from .places import SessionPlace

PORTION = 1_000_000  # characters of text that are given at once


def searchable(
    source: codec.EntrySource, place: SessionPlace, found: EntryMessages, after: str
) -> SearchableText | None:
    """The next messages behind a cursor; None where what was given before is not there any more."""
    last = _last(place, found, after) if after else -1
    if last is None:
        return None
    behind = found.ids[bisect_right(found.ids, last) :]
    units = [unit for each in behind if (unit := found.units[each]).copy_of is None]
    messages: list[SearchableMessage] = []
    size, taken = 0, None
    for unit in units:
        if size >= PORTION:
            break
        row = codec.message_of(source.value(unit), unit, place.id, found.states[unit.offset], found.envelopes)
        text = words_of(row).text
        messages.append(SearchableMessage(unit.offset, row.role, row.timestamp, text))
        size, taken = size + len(text), unit
    cursor = json.dumps([_kept_in(place), taken.offset, taken.time]) if taken else after
    return SearchableText(tuple(messages), cursor, more=bool(units) and taken is not units[-1])


def _kept_in(place: SessionPlace) -> str:
    return f"{place.state.inode} {place.generation}"


def _last(place: SessionPlace, found: EntryMessages, cursor: str) -> int | None:
    kept_in, last, said = json.loads(cursor)
    unit = found.units.get(last)
    return last if kept_in == _kept_in(place) and unit is not None and unit.time == said else None
