"""Ids of sessions that an address cannot hold as they are, and rows whose ids nobody can ask for."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from tests.factories.stores import PRESENT, EmptyStore

ODD = [
    "", "/", "//", ".", "..", "...", "%", "%2F", "%00", "~", "~2F", "~2f", "telegram/123", "../stores", "a\nb",
    "a\r\nb", "\t", "\x01\x1b[1m\x7f", "\\", "?", "a?b=c", "#m1", "&x=1;y", "+", " ", "a b ", "-x", "<b>'\"", "{}",
    "é☃\u2028\u202e", "x" * 1000, "☃" * 600,
]  # fmt: skip
FEW = ["", "..", "telegram/123", "a\r\nb", "%00", "☃" * 600]  # where each costs many requests
ORDINARY = ["20260813_101112_ab12cd", "agent:main:telegram:dm:1", "a.b-c_d", "x" * 200]
UNASKABLE = [  # as SQLite holds it; the first two are text, but no UTF-8, and are not counted
    "CAST(x'EDA080' AS TEXT)",
    "CAST(x'6162FF' AS TEXT)",
    "x'626C6F62'",
    "NULL",
    "'a' || char(0) || 'b'",
    f"'{'y' * 2_001}'",
]


def write_odd(empty_store: EmptyStore) -> None:
    """A session of each odd id, with a message that says where it stands in the list."""
    for at, session_id in enumerate(ODD):
        empty_store.session(session_id, started_at=PRESENT + at)
        empty_store.say(session_id, "user", f"zebra number {at}", timestamp=PRESENT + at)


def write_unaskable(empty_store: EmptyStore) -> None:
    with closing(sqlite3.connect(empty_store.path)) as con, con:
        for sql in UNASKABLE:
            con.execute(f"INSERT INTO sessions (id, source, started_at) VALUES ({sql}, 'cli', {PRESENT})")
            con.execute(
                f"INSERT INTO messages (session_id, role, content, timestamp) SELECT COALESCE({sql}, ''), "
                f"'user', 'zebra', {PRESENT} WHERE {sql} IS NOT NULL"
            )
