"""What a compaction is planned on: the rows in context, as a commit expects them.

Its token is JSON: {"file": [device, inode], "rows": [[id, bytes of content, bytes of calls], ...], "records": [ids of
the agent's own rows]}.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from viewer.stores.changes import (
    Json,
    LiveContext,
)
from viewer.stores.errors import (
    CompactionConflict,
    SessionBusy,
)
from viewer.stores.message import BOOKKEEPING_ROLES

from . import messages
from .columns import Columns
from .database import OpenStore, identity
from .dialect import StoreConnection
from .messages import live_context
from .repeats import written_again


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The basis of a plan: live rows as (id, bytes of content, bytes of calls; -1 for NULL), and the file."""

    session_id: str
    rows: tuple[tuple[int, int, int], ...]
    file: tuple[int, int]

    @property
    def watermark(self) -> int:
        """The highest planned id: rows above it arrived later, and stay live."""
        return self.rows[-1][0] if self.rows else 0

    @property
    def sizes(self) -> dict[int, int]:
        """Row id -> bytes of its content and calls."""
        return {row_id: max(content, 0) + max(calls, 0) for row_id, content, calls in self.rows}


# -- commit ----------------------------------------------------------------------------------------------------------


def snapshot(reader: OpenStore, session_id: str) -> Snapshot:
    """The live rows of the session as a commit will expect them."""
    return Snapshot(session_id, live_rows(reader.con, reader.columns, session_id), identity(reader.store))


def live_rows(con: StoreConnection, columns: Columns, session_id: str) -> tuple[tuple[int, int, int], ...]:
    length = columns.dialect.byte_length
    return tuple(
        con.execute(
            f"SELECT id, COALESCE({length.format('content')}, -1), COALESCE({length.format('tool_calls')}, -1) "
            "FROM messages WHERE session_id = ? AND active = 1 ORDER BY +id",
            [session_id],
        ).fetchall()
    )


READINGS = 5  # attempts to read a session consistently while it is being written to


def token_of(planned: Snapshot, records: Iterable[int]) -> Json:
    """The token of a basis."""
    return {"file": list(planned.file), "rows": [list(row) for row in planned.rows], "records": list(records)}


def snapshot_of(session_id: str, token: Json) -> Snapshot:
    """The basis of a plan."""
    device, inode = token["file"]
    return Snapshot(session_id, tuple((row[0], row[1], row[2]) for row in token["rows"]), (device, inode))


def basis(reader: OpenStore, session_id: str, planned: Json | None = None) -> LiveContext:
    """The live context now, or without the messages added since a basis with the token `planned`.

    Raises SessionBusy, and with `planned` CompactionConflict when one of its rows was changed or taken back since.
    """
    for _ in range(READINGS):
        # The snapshot first: then a row that changes between the two readings differs from it at the commit.
        live_snapshot = _unchanged(reader, session_id, planned) if planned else snapshot(reader, session_id)
        rows = [row for row in live_context(reader, session_id) if row.id <= live_snapshot.watermark]
        if [row.id for row in rows] == [row[0] for row in live_snapshot.rows]:
            records = (row.id for row in rows if row.role in BOOKKEEPING_ROLES)
            again = written_again(messages.rows_of(reader, session_id, [row.id for row in rows]).values())
            once = [row for row in rows if row.id not in again]
            repeats = [row for row in rows if row.id in again]
            return LiveContext(once, live_snapshot.sizes, token_of(live_snapshot, records), repeats)
    raise SessionBusy("The session is being rewritten just now. Try again in a moment.")


def _unchanged(reader: OpenStore, session_id: str, token: Json) -> Snapshot:
    """The basis of a plan whose rows are unchanged; later rows do not count. Raises CompactionConflict."""
    planned, now = snapshot_of(session_id, token), snapshot(reader, session_id)
    if now.file != planned.file:
        raise CompactionConflict("The store's file was replaced since this summary was made. Plan again.")
    if tuple(row for row in now.rows if row[0] <= planned.watermark) != planned.rows:
        raise CompactionConflict(
            "Messages this summary was made from were changed or taken back since. Nothing was written and the summary "
            "is kept. Plan again."
        )
    return planned
