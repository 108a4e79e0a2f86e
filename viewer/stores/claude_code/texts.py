"""The texts of a session's messages, for an index outside of the store: each message once, when it is complete.

A cursor is JSON: the file's inode, the last message that was returned, and its record.
"""

from __future__ import annotations

import json
import time
from typing import BinaryIO

from viewer.stores import conversation as conversations
from viewer.stores.search.pages import SearchableText

from . import codec
from .places import SessionFile
from .transcript import SessionMessages

SETTLED = 60.0  # seconds after which a response counts as complete


def searchable(
    file: SessionFile, reading: BinaryIO, conversation: SessionMessages, after: str
) -> SearchableText | None:
    """The next messages after a cursor; None where a message that was returned before is no longer there."""
    last = _last(file, conversation, after) if after else -1
    if last is None:
        return None
    units = conversation.units
    return conversations.searchable(
        conversation,
        last,
        cursor=after,
        message_of=lambda each: codec.message_of(reading, conversation, units[each], file.id),
        cursor_at=lambda each: json.dumps([file.state.inode, each, units[each].uuids[0]]),
        open_end=_is_open(file, conversation),
    )


def _last(file: SessionFile, conversation: SessionMessages, cursor: str) -> int | None:
    inode, last, uuid = json.loads(cursor)
    is_known = uuid in conversation.tree.nodes or uuid in conversation.tree.beside
    return last if inode == file.state.inode and is_known and last in conversation.units else None


def _is_open(file: SessionFile, conversation: SessionMessages) -> bool:
    """Whether the last message is a response that may still get more lines."""
    units = map(conversation.units.__getitem__, reversed(conversation.ids))
    last = next((unit for unit in units if unit.copy_of is None), None)
    if last is None or last.role != "assistant" or time.time() - file.state.changed / 1e9 > SETTLED:
        return False
    return not any(conversation.tree.record(uuid).is_end for uuid in last.uuids)
