"""A message in context that may be a handoff of an unknown form: the site says so, and treats it as a message.

The signs are its shape, long and with a heading in brackets, and its position: it opens the context, and earlier
messages have left the context. The agent's own notices and copies of earlier messages do not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from compaction import is_handoff, messages
from compaction.handoff import COMPACTION_STARTS, RESTATED_STARTS, SYNTHETIC_USER_STARTS
from viewer.stores.message import StoredMessage, message_of

from .columns import marks
from .database import OpenStore
from .messages import live_context, read_rows
from .paths import chain

SHORTEST = 400  # characters: a shorter text summarises nothing
_HEAD = re.compile(r"\[(?![ xX]\])[^\[\]\n]{3,160}\](?!\()|<[a-zA-Z][\w-]{2,60}[^<>\n]{0,200}>")
_NOTICES = tuple(start for start in SYNTHETIC_USER_STARTS if not start.startswith(("[CONTEXT", "[PRIOR")))
_KNOWN = (*_NOTICES, *COMPACTION_STARTS, *RESTATED_STARTS)


OPENING = 5  # rows in context that are checked: a system prompt may come first


def suspected_handoff(reader: OpenStore, session_id: str, live_ids: Sequence[int]) -> int | None:
    """The id of that message among the rows in context, given in order, or None."""
    rows_by_id = read_rows(reader, live_ids[:OPENING])
    rows = [rows_by_id[row_id] for row_id in live_ids[:OPENING] if row_id in rows_by_id]
    opens = [row for row in rows if row.session_id == session_id and row.role in ("user", "assistant")][:2]
    if not opens or not _has_its_shape(opens[0]) or not _is_behind_a_gap(reader, opens):
        return None
    has_handoff = any(is_handoff(message_of(row)) for row in live_context(reader, session_id))
    return None if has_handoff or _was_said_before(reader, opens[0]) else opens[0].id


def _has_its_shape(row: StoredMessage) -> bool:
    text = messages.said(row.content).lstrip()
    return len(text) >= SHORTEST and not text.startswith(_KNOWN) and _HEAD.match(text) is not None


def _is_behind_a_gap(reader: OpenStore, opens: list[StoredMessage]) -> bool:
    """Whether older rows are out of context or in a session before this one, or it is newer than the row after it."""
    first = opens[0]
    older = "SELECT 1 FROM messages WHERE session_id = ? AND id < ? LIMIT 1"
    if reader.con.execute(older, [first.session_id, first.id]).fetchone():
        return True
    return any(first.timestamp > row.timestamp for row in opens[1:]) or len(chain(reader, first.session_id)) > 1


def _was_said_before(reader: OpenStore, row: StoredMessage) -> bool:
    parts = chain(reader, row.session_id)
    same = (
        "SELECT 1 FROM messages WHERE session_id IN ({}) AND id < ? AND role = ? "
        "AND content = (SELECT content FROM messages WHERE id = ?) LIMIT 1"
    )
    cursor = reader.con.execute(same.format(marks(parts)), [*parts, row.id, row.role, row.id])
    return cursor.fetchone() is not None
