"""What a session's messages say, for an index that is kept outside of the store: each message once, when it is whole.

A cursor is JSON: the file's inode, the last message that was given, and the record that it stands in.
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

PORTION = 1_000_000  # characters of text that are given at once
SETTLED = 60.0  # seconds after which no more lines of a response are waited for


def searchable(file: SessionFile, reading: BinaryIO, found: SessionMessages, after: str) -> SearchableText | None:
    """The next messages behind a cursor; None where what was given before is not there any more."""
    last = _last(file, found, after) if after else -1
    if last is None:
        return None
    behind = (found.units[each] for each in found.ids[bisect_right(found.ids, last) :])
    units = [unit for unit in behind if unit.copy_of is None]  # a shortened copy says nothing of its own
    every, units = units, list(_whole(file, found, units))
    messages: list[SearchableMessage] = []
    size, taken = 0, None
    for unit in units:
        if size >= PORTION:
            break
        row = codec.message_of(reading, found, unit, file.id)
        text = words_of(row).text
        messages.append(SearchableMessage(unit.id, row.role, row.timestamp, text))
        size, taken = size + len(text), unit
    cursor = json.dumps([file.state.inode, taken.id, taken.uuids[0]]) if taken else after
    more = bool(units) and taken is not units[-1]
    return SearchableText(tuple(messages), cursor, more, waits=len(units) < len(every))


def _last(file: SessionFile, found: SessionMessages, cursor: str) -> int | None:
    inode, last, uuid = json.loads(cursor)
    is_known = uuid in found.tree.nodes or uuid in found.tree.beside
    return last if inode == file.state.inode and is_known and last in found.units else None


def _whole(file: SessionFile, found: SessionMessages, units: Sequence[Unit]) -> Sequence[Unit]:
    """Without a response at the end of which more lines may follow."""
    if not units or units[-1].role != "assistant" or time.time() - file.state.changed / 1e9 > SETTLED:
        return units
    is_whole = any(found.tree.record(uuid).is_end for uuid in units[-1].uuids)
    return units if is_whole else units[:-1]
