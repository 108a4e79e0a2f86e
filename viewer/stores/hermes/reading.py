"""Messages of a session: History, windows of it, the live context, raw rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from viewer.stores.batches import chunks
from viewer.stores.history_types import Boundary, History, HistoryEntry
from viewer.stores.message import Handoff, HistoryMessage, StoredMessage, parted
from viewer.stores.transcript import IndexedBoundary, Item

from . import history as histories
from . import notices, row_digests
from .codec import decode_row
from .columns import marks
from .known import KnownBlock, KnownUndone
from .opening import OpenStore

# -- history ---------------------------------------------------------------------------------------------------------


def read_history(
    reader: OpenStore,
    session_id: str,
    known: Iterable[KnownBlock] = (),
    undone: Mapping[int, KnownUndone] | None = None,
) -> History:
    """The History of a session and the parts it continues. Reads the start of every row's content."""
    return histories.build(row_digests.light_rows(reader, session_id), known, undone)


def history_messages(reader: OpenStore, items: Iterable[Item]) -> list[HistoryMessage | Handoff]:
    """The rows of a stretch of History, in its order. A row that was deleted since the History was read is left out."""
    listed = list(items)
    rows = read_rows(reader, [item.full_id if isinstance(item, HistoryEntry) else item.handoff_id for item in listed])
    shown: list[HistoryMessage | Handoff] = []
    for item in listed:
        row = rows.get(item.full_id if isinstance(item, HistoryEntry) else item.handoff_id)
        if row is None:
            continue
        shown.append(
            HistoryMessage(item, row, own_words(row)) if isinstance(item, HistoryEntry) else handoff_of(item, row)
        )
    return shown


def own_words(row: StoredMessage) -> Any:
    """The row's live content without the additions of an agent's compaction."""
    content = row_digests.parted(row.content, row.flagged)[1]
    return notices.without_marker(content) if isinstance(content, str) else content


def handoff_of(boundary: Boundary | IndexedBoundary, row: StoredMessage) -> Handoff:
    parts = parted(row)
    return Handoff(boundary, row, parts.summary, parts.directive)


# -- rows ------------------------------------------------------------------------------------------------------------


def read_rows(reader: OpenStore, ids: Sequence[int]) -> dict[int, StoredMessage]:
    """The rows of these ids, whole and decoded; ids that do not exist are absent."""
    rows: dict[int, StoredMessage] = {}
    for chunk in chunks([row_id for row_id in ids if abs(row_id) < 2**63]):
        for row in _decoded(reader, f"id IN ({marks(chunk)})", chunk):
            rows[row.id] = row
    return rows


def live_context(reader: OpenStore, session_id: str) -> list[StoredMessage]:
    """The rows the agent reloads, in id order: what the model would be sent, including bookkeeping rows."""
    if "active" not in reader.columns.messages:
        return _decoded(reader, "session_id = ? ORDER BY id", [session_id])
    # In a compacted session few rows are live: the index over sessions and ids would read all of them.
    live = "SELECT id FROM messages WHERE session_id = ? AND active = 1"
    return _decoded(reader, f"id IN ({live}) ORDER BY id", [session_id])


def raw_rows(
    reader: OpenStore, session_id: str, *, before: int | None, limit: int, live_only: bool = False
) -> list[StoredMessage]:
    """At most `limit` rows of the session as stored, the newest or those below `before`, in id order."""
    narrowed = " AND active = 1" if live_only and "active" in reader.columns.messages else ""
    below = before if before is not None else 2**63 - 1
    where = f"session_id = ? AND id < ?{narrowed} ORDER BY id DESC LIMIT ?"
    return _decoded(reader, where, [session_id, below, limit])[::-1]


def next_row(reader: OpenStore, session_id: str, after: int) -> StoredMessage | None:
    """The first row of the session above this id, or None."""
    rows = _decoded(reader, "session_id = ? AND id > ? ORDER BY id LIMIT 1", [session_id, after])
    return rows[0] if rows else None


def _decoded(reader: OpenStore, where: str, values: Sequence[Any]) -> list[StoredMessage]:
    cursor = reader.con.execute(f"SELECT * FROM messages WHERE {where}", values)
    names = [column[0] for column in cursor.description]
    return [decode_row(dict(zip(names, row, strict=True))) for row in cursor.fetchall()]
