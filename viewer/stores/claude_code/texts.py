"""The texts of a session's messages, for an index outside of the store: each message once, when it is complete.

A cursor is JSON: the file's inode, the last message that was returned, and its record.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_right
from collections.abc import Sequence
from typing import BinaryIO

from viewer.stores.search.pages import SearchableMessage, SearchableText
from viewer.stores.search.passages import words_of

from . import codec
from .places import SessionFile
from .transcript import SessionMessages, Unit

PORTION = 1_000_000  # characters of text that are returned at once
SETTLED = 60.0  # seconds after which a response counts as complete


def searchable(
    file: SessionFile, reading: BinaryIO, conversation: SessionMessages, after: str
) -> SearchableText | None:
    """The next messages after a cursor; None where a message that was returned before is no longer there."""
    last = _last(file, conversation, after) if after else -1
    if last is None:
        return None
    behind = (conversation.units[each] for each in conversation.ids[bisect_right(conversation.ids, last) :])
    units = [unit for unit in behind if unit.copy_of is None]  # a shortened copy adds no text
    every, units = units, list(_whole(file, conversation, units))
    messages: list[SearchableMessage] = []
    size, last_unit = 0, None
    for unit in units:
        if size >= PORTION:
            break
        row = codec.message_of(reading, conversation, unit, file.id)
        text = words_of(row).text
        messages.append(SearchableMessage(unit.id, row.role, row.timestamp, text))
        size, last_unit = size + len(text), unit
    cursor = json.dumps([file.state.inode, last_unit.id, last_unit.uuids[0]]) if last_unit else after
    more = bool(units) and last_unit is not units[-1]
    return SearchableText(tuple(messages), cursor, more, waits=len(units) < len(every))


def _last(file: SessionFile, conversation: SessionMessages, cursor: str) -> int | None:
    inode, last, uuid = json.loads(cursor)
    is_known = uuid in conversation.tree.nodes or uuid in conversation.tree.beside
    return last if inode == file.state.inode and is_known and last in conversation.units else None


def _whole(file: SessionFile, conversation: SessionMessages, units: Sequence[Unit]) -> Sequence[Unit]:
    """The messages without a last response that may still get more lines."""
    if not units or units[-1].role != "assistant" or time.time() - file.state.changed / 1e9 > SETTLED:
        return units
    is_whole = any(conversation.tree.record(uuid).is_end for uuid in units[-1].uuids)
    return units if is_whole else units[:-1]
