"""What other context engines leave in a Hermes store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from compaction.handoff import OBJECTIVE
from viewer.stores.hermes.codec import encode_content

RECENT = "[Recent Summary (d0, node 42)]\nThe tokens were rotated.\n[Expand for details: tokens]"
DEEP = "[Depth-3 Summary (d3, node 7)] [L2 bullet summary]\nThe desk moved in May.\n[Expand for details: the move]"
FRAMES = f"{DEEP}\n\n---\n\n{RECENT}"
ASKED = f"{OBJECTIVE}\nmessage 14"
SENT: dict[str, Any] = {
    "alone": FRAMES,
    "a row each": f"{DEEP}\n\n{RECENT}",
    "behind the request": f"{ASKED}\n\n---\n\n{FRAMES}",
    "lossless-claw": '<summary id="sum_1f" kind="leaf" depth="0">\n  <content>\nThe desk moved in May.\n  </content>\n'
    "</summary>",
    "a block each": [{"type": "text", "text": text} for text in (RECENT, DEEP)],
    "a block each behind the request": [{"type": "text", "text": text} for text in (ASKED, DEEP, RECENT)],
    "merged, the request between them": f"{RECENT}\n\n{ASKED}\n\n---\n\n{DEEP}",
    "a message each": (DEEP, RECENT),
    "a message each, the request in the last": (RECENT, f"{ASKED}\n\n---\n\n{DEEP}"),
}


def handoff_rows(form: str) -> int:
    """How many rows an engine leaves in this form."""
    return len(SENT[form]) if isinstance(SENT[form], tuple) else 1


def compacted_by_engine(path: Path, made: Any, *, tail: int = 4, role: str = "user", gone: bool = False) -> int:
    """The agent puts what an engine made, a content or several, in place of 20 messages, its copies of the last ones
    behind it: the first handoff's row.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        ids = [row[0] for row in con.execute("SELECT id FROM messages WHERE session_id = 's1' AND active = 1")]
        copied = "role, content, timestamp, message_uid"
        rows = con.execute(f"SELECT {copied} FROM messages WHERE id IN ({','.join(map(str, ids[-tail:]))})").fetchall()
        con.execute("BEGIN")
        con.execute("UPDATE messages SET active = 0, compacted = 1 WHERE session_id = 's1' AND active = 1")
        con.executemany("UPDATE messages SET compacted = 0 WHERE id = ?", [[row_id] for row_id in ids[-tail:]])
        if gone:
            con.execute("DELETE FROM messages WHERE session_id = 's1'")
        insert = "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s1', ?, ?, ?)"
        stored = map(encode_content, made if isinstance(made, tuple) else (made,))
        [handoff, *_] = [
            con.execute(insert, [role, content, 1_790_000_000 + number * 1e-6]).lastrowid
            for number, content in enumerate(stored)
        ]
        con.executemany(f"INSERT INTO messages (session_id, {copied}) VALUES ('s1', ?, ?, ?, ?)", rows)
        con.execute("COMMIT")
    assert handoff
    return handoff
