"""What a session's messages say, for an index that is kept outside of the store: each message once, when it is whole.

A cursor is JSON: the files of the session, the last message that was given, and when that was said.
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

PORTION = 1_000_000  # characters of text that are given at once
SETTLED = 60.0  # seconds after which no more items of a response are waited for


def searchable(reader: codec.ItemReader, found: RolloutMessages, session_id: str, after: str) -> SearchableText | None:
    """The next messages behind a cursor; None where what was given before is not there any more."""
    last = _last(found, after) if after else -1
    if last is None:
        return None
    behind = (found.units[each] for each in found.ids[bisect_right(found.ids, last) :])
    every = [unit for unit in behind if unit.copy_of is None]  # a shortened copy says nothing of its own
    units = _whole(found, every)
    messages: list[SearchableMessage] = []
    size, taken = 0, None
    for unit in units:
        if size >= PORTION:
            break
        row = codec.message_of(reader, found, unit, session_id)
        text = words_of(row).text
        messages.append(SearchableMessage(unit.id, row.role, row.timestamp, text))
        size, taken = size + len(text), unit
    cursor = json.dumps([_files(found), taken.id, taken.time]) if taken else after
    more = bool(units) and taken is not units[-1]
    return SearchableText(tuple(messages), cursor, more, waits=len(units) < len(every))


def _files(found: RolloutMessages) -> str:
    return " ".join(f"{each.rollout.file_id}:{each.state.inode}" for each in found.lineage.parts)


def _last(found: RolloutMessages, cursor: str) -> int | None:
    """A further file changes no id; whether text before the cursor was taken away shows in the message at it."""
    files, last, said = json.loads(cursor)
    unit = found.units.get(last)
    return last if _files(found).startswith(files) and unit is not None and unit.time == said else None


def _whole(found: RolloutMessages, units: Sequence[RolloutMessage]) -> Sequence[RolloutMessage]:
    """Without a response at the end that goes on."""
    if not units or found.replay.open_end is None or units[-1].id != found.replay.open_end:
        return units
    changed = found.lineage.current.state.changed / 1e9
    return units if time.time() - changed > SETTLED else units[:-1]
