"""The texts of a session's messages, for an index outside of the store: each message once, when it is complete.

A cursor is JSON: the files of the session, the last message that was returned, and its time.
"""

from __future__ import annotations

import json
import time

from viewer.stores import conversation
from viewer.stores.search.pages import SearchableText

from . import codec
from .units import RolloutMessages

SETTLED = 60.0  # seconds after which a response counts as complete


def searchable(
    reader: codec.ItemReader, rollout_messages: RolloutMessages, session_id: str, after: str
) -> SearchableText | None:
    """The next messages after a cursor; None where a message that was returned before is no longer there."""
    last = _last(rollout_messages, after) if after else -1
    if last is None:
        return None
    units = rollout_messages.units
    return conversation.searchable(
        rollout_messages,
        last,
        cursor=after,
        message_of=lambda each: codec.message_of(reader, rollout_messages, units[each], session_id),
        cursor_at=lambda each: json.dumps([_files(rollout_messages), each, units[each].time]),
        open_end=_is_open(rollout_messages),
    )


def _files(messages: RolloutMessages) -> str:
    return " ".join(f"{each.rollout.file_id}:{each.state.inode}" for each in messages.lineage.parts)


def _last(messages: RolloutMessages, cursor: str) -> int | None:
    """A new file changes no id; if text before the cursor was removed, the message at the cursor differs."""
    files, last, last_time = json.loads(cursor)
    unit = messages.units.get(last)
    return last if _files(messages).startswith(files) and unit is not None and unit.time == last_time else None


def _is_open(messages: RolloutMessages) -> bool:
    """Whether the last message is an unfinished response."""
    last = next((each for each in reversed(messages.ids) if messages.units[each].copy_of is None), None)
    if last is None or last != messages.replay.open_end:
        return False
    return time.time() - messages.lineage.current.state.changed / 1e9 <= SETTLED
