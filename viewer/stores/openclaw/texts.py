"""The texts of a session's messages, for an index outside of the store: each message once.

A cursor is JSON: the identity of the file or rows, the last message that was returned, and its time.
"""

from __future__ import annotations

import json

from viewer.stores import conversation
from viewer.stores.search.pages import SearchableText

from . import codec
from .messages import EntryMessages
from .places import SessionPlace


def searchable(
    source: codec.EntrySource, location: SessionPlace, entry_messages: EntryMessages, after: str
) -> SearchableText | None:
    """The next messages after a cursor; None where a message that was returned before is no longer there."""
    last = _last(location, entry_messages, after) if after else -1
    if last is None:
        return None
    units, states = entry_messages.units, entry_messages.states
    return conversation.searchable(
        entry_messages,
        last,
        cursor=after,
        message_of=lambda each: codec.message_of(
            source.value(units[each]), units[each], location.id, states[each], entry_messages.envelopes
        ),
        cursor_at=lambda each: json.dumps([_kept_in(location), each, units[each].time]),
    )


def _kept_in(location: SessionPlace) -> str:
    return f"{location.state.inode} {location.generation}"


def _last(location: SessionPlace, messages: EntryMessages, cursor: str) -> int | None:
    container, last, last_time = json.loads(cursor)
    unit = messages.units.get(last)
    return last if container == _kept_in(location) and unit is not None and unit.time == last_time else None
