"""The texts of a session's messages, for an index outside of the store: each message once.

A cursor is JSON: the identity of the file or rows, the last message that was returned, and its time.
"""

from __future__ import annotations

import json
from bisect import bisect_right

from viewer.stores.search.pages import SearchableMessage, SearchableText
from viewer.stores.search.passages import words_of

from . import codec
from .messages import EntryMessages
from .places import SessionPlace

PORTION = 1_000_000  # characters of text that are returned at once


def searchable(
    source: codec.EntrySource, location: SessionPlace, entry_messages: EntryMessages, after: str
) -> SearchableText | None:
    """The next messages after a cursor; None where a message that was returned before is no longer there."""
    last = _last(location, entry_messages, after) if after else -1
    if last is None:
        return None
    behind = entry_messages.ids[bisect_right(entry_messages.ids, last) :]
    units = [unit for each in behind if (unit := entry_messages.units[each]).copy_of is None]
    messages: list[SearchableMessage] = []
    size, last_unit = 0, None
    for unit in units:
        if size >= PORTION:
            break
        row = codec.message_of(
            source.value(unit), unit, location.id, entry_messages.states[unit.offset], entry_messages.envelopes
        )
        text = words_of(row).text
        messages.append(SearchableMessage(unit.offset, row.role, row.timestamp, text))
        size, last_unit = size + len(text), unit
    cursor = json.dumps([_kept_in(location), last_unit.offset, last_unit.time]) if last_unit else after
    return SearchableText(tuple(messages), cursor, more=bool(units) and last_unit is not units[-1])


def _kept_in(location: SessionPlace) -> str:
    return f"{location.state.inode} {location.generation}"


def _last(location: SessionPlace, messages: EntryMessages, cursor: str) -> int | None:
    container, last, last_time = json.loads(cursor)
    unit = messages.units.get(last)
    return last if container == _kept_in(location) and unit is not None and unit.time == last_time else None
