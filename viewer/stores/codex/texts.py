"""The texts of a session's messages, for an index outside of the store: each message once, when it is complete.

A cursor is JSON: the files of the session, the last message that was returned, and its time.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_right
from collections.abc import Sequence

from viewer.stores.search.pages import SearchableMessage, SearchableText
from viewer.stores.search.passages import words_of

from . import codec
from .units import RolloutMessage, RolloutMessages

PORTION = 1_000_000  # characters of text that are returned at once
SETTLED = 60.0  # seconds after which a response counts as complete


def searchable(
    reader: codec.ItemReader, rollout_messages: RolloutMessages, session_id: str, after: str
) -> SearchableText | None:
    """The next messages after a cursor; None where a message that was returned before is no longer there."""
    last = _last(rollout_messages, after) if after else -1
    if last is None:
        return None
    behind = (rollout_messages.units[each] for each in rollout_messages.ids[bisect_right(rollout_messages.ids, last) :])
    every = [unit for unit in behind if unit.copy_of is None]  # a shortened copy adds no text
    units = _whole(rollout_messages, every)
    messages: list[SearchableMessage] = []
    size, last_unit = 0, None
    for unit in units:
        if size >= PORTION:
            break
        row = codec.message_of(reader, rollout_messages, unit, session_id)
        text = words_of(row).text
        messages.append(SearchableMessage(unit.id, row.role, row.timestamp, text))
        size, last_unit = size + len(text), unit
    cursor = json.dumps([_files(rollout_messages), last_unit.id, last_unit.time]) if last_unit else after
    more = bool(units) and last_unit is not units[-1]
    return SearchableText(tuple(messages), cursor, more, waits=len(units) < len(every))


def _files(messages: RolloutMessages) -> str:
    return " ".join(f"{each.rollout.file_id}:{each.state.inode}" for each in messages.lineage.parts)


def _last(messages: RolloutMessages, cursor: str) -> int | None:
    """A new file changes no id; if text before the cursor was removed, the message at the cursor differs."""
    files, last, last_time = json.loads(cursor)
    unit = messages.units.get(last)
    return last if _files(messages).startswith(files) and unit is not None and unit.time == last_time else None


def _whole(messages: RolloutMessages, units: Sequence[RolloutMessage]) -> Sequence[RolloutMessage]:
    """The messages without an unfinished last response."""
    if not units or messages.replay.open_end is None or units[-1].id != messages.replay.open_end:
        return units
    changed = messages.lineage.current.state.changed / 1e9
    return units if time.time() - changed > SETTLED else units[:-1]
