"""What the agent does to a session, statement by statement as its own code (`docs/hermes.md` section 2)."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

SAID = "role, content, tool_calls, tool_call_id, tool_name, timestamp"
SUMMARY = "[CONTEXT SUMMARY]: the agent's own\n\n## Goal\nGo on."


class HermesAtWork:
    """The agent at work on one session of a store of schema 21 or 31."""

    def __init__(self, path: Path, session_id: str) -> None:
        self.path, self.session_id = path, session_id
        with closing(sqlite3.connect(path)) as con:
            names = [row[1] for row in con.execute("PRAGMA table_info(messages)").fetchall()]
        self.flags_summaries = "_compressed_summary" in names

    def _execute(self, statements: Sequence[tuple[str, Sequence[Any]]]) -> None:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as con:
            con.execute("BEGIN IMMEDIATE")
            for sql, values in statements:
                con.execute(sql, values)
            con.execute("COMMIT")

    def rows(self, where: str = "active = 1") -> list[tuple[Any, ...]]:
        """(id, role, content, calls, call id, tool, time) of the rows of the session, in order."""
        with closing(sqlite3.connect(self.path)) as con:
            return con.execute(
                f"SELECT id, {SAID} FROM messages WHERE session_id = ? AND {where} ORDER BY id", [self.session_id]
            ).fetchall()

    def _insertions(self, rows: Sequence[Sequence[Any]]) -> list[tuple[str, Sequence[Any]]]:
        sql = f"INSERT INTO messages (session_id, {SAID}, observed, active) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 1)"
        return [(sql, (self.session_id, *row)) for row in rows]

    def _counted(self, count: int) -> tuple[str, Sequence[Any]]:
        return "UPDATE sessions SET message_count = ?, tool_call_count = 0 WHERE id = ?", (count, self.session_id)

    def say(self, *words: str) -> list[tuple[Any, ...]]:
        """`append_message`, a user's and an assistant's in turns; what was said."""
        rows = [
            (("user", "assistant")[number % 2], text, None, None, None, 1.9e9 + time.time() % 1 + number)
            for number, text in enumerate(words)
        ]
        count = "UPDATE sessions SET message_count = message_count + 1 WHERE id = ?"
        for insertion in self._insertions(rows):
            self._execute([insertion, (count, [self.session_id])])
        return rows

    def rewind(self, row_id: int) -> None:
        """`rewind_to_message`: this row and everything after it is taken back."""
        self._execute([
            ("UPDATE messages SET active = 0 WHERE session_id = ? AND id >= ? AND active = 1",
             (self.session_id, row_id)),
            ("UPDATE sessions SET rewind_count = COALESCE(rewind_count, 0) + 1 WHERE id = ?", [self.session_id]),
        ])  # fmt: skip

    def replace(self, rows: Sequence[Sequence[Any]], *, active_only: bool) -> None:
        """`replace_messages`: every row of the session, or every live one, is deleted and written anew."""
        narrowed = " AND active = 1" if active_only else ""
        self._execute([
            (f"DELETE FROM messages WHERE session_id = ?{narrowed}", [self.session_id]),
            *self._insertions(rows),
            self._counted(len(rows)),
        ])  # fmt: skip

    def edit(self, row_id: int, rows: Sequence[Sequence[Any]]) -> None:
        """`replace_messages(archive_dropped=True)`: live rows from this one on are taken back, new ones follow."""
        self._execute([
            ("UPDATE messages SET active = 0 WHERE session_id = ? AND active = 1 AND id >= ?",
             (self.session_id, row_id)),
            *self._insertions(rows),
            self._counted(len(self.rows(f"active = 1 AND id < {row_id}")) + len(rows)),
        ])  # fmt: skip

    def compact(self, head: int = 3, tail: int = 20) -> None:
        """`archive_and_compact`; schema 31 tells the originals of the carried tail apart, schema 21 does not."""
        live = self.rows()
        carried = [row[0] for row in live[-tail:]] if self.flags_summaries else []
        marks = ", ".join("?" * len(carried))
        kept = [*live[:head], (0, "assistant", SUMMARY, None, None, None, 1.95e9), *live[-tail:]]
        self._execute([
            (f"UPDATE messages SET active = 0, compacted = 0 WHERE session_id = ? AND id IN ({marks})",
             (self.session_id, *carried)),
            (f"UPDATE messages SET active = 0, compacted = 1 WHERE session_id = ? AND active = 1 "
             f"AND id NOT IN ({marks})", (self.session_id, *carried)),
            *self._insertions([row[1:] for row in kept]),
            self._counted(len(kept)),
        ])  # fmt: skip

    def end(self, reason: str) -> None:
        """End the session."""
        self._execute([("UPDATE sessions SET ended_at = 3, end_reason = ? WHERE id = ?", (reason, self.session_id))])
