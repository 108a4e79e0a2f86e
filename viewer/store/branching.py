"""New sessions beside the one they come from: a branch, which goes its own way with the context of an earlier moment.

A branch is written as the owner writes its own (`docs/hermes.md` section 5): a session whose parent is the one it was
taken from, marked in `model_config` as a branch of it, so that nobody takes it for the parent's continuation. What ties
the parent to a chat is not taken along: its messages must go on reaching the parent. The parent itself is only read.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from . import titles
from .columns import Columns, quoted, read_columns
from .errors import NotBranchable, NotFound, StoreReadOnly
from .sessions import BRANCHED, get_session, read_config
from .stores import Reader, Store, branch_reason
from .transaction import write
from .writing import clone, recount

# Of a session's row: what it is, where it works, and the prompt it is sent, inline or by hash.
_TAKEN_ALONG = (
    "source", "created_source", "user_id", "model", "system_prompt", "system_prompt_hash", "tool_names", "cwd",
    "git_branch", "git_repo_root", "profile_name",
)  # fmt: skip
# Of `model_config`, beside the keys that begin with "_" (marks of other sessions, measurements of one context): a
# thread that a provider keeps for one session, and a record of which there is one.
_LEFT_BEHIND = ("codex_thread_id", "onboarding_run")


def branch(store: Store, session_id: str, row_ids: Sequence[int] | None, *, now: float) -> str:
    """Make a session whose context is these rows (of the session or the parts it continues), or for None its live rows
    as they are; the new session's id.

    One transaction. `now` is in epoch seconds. Raises NotFound, NotBranchable, StoreReadOnly or StoreUnavailable:
    nothing is written then.
    """
    with write(store) as con:
        reader = Reader(store, con, read_columns(con))
        if reason := branch_reason(reader):
            raise StoreReadOnly(reason)
        source = get_session(reader, session_id)
        ids = _live_ids(con, session_id) if row_ids is None else sorted(row_ids)
        if not ids:
            raise NotBranchable("There is no message in context to branch from.")
        own = {
            "parent_session_id": session_id,
            "model_config": json.dumps(_config(con, session_id) | {BRANCHED: session_id}),
            "title": titles.of_branch(con, source.name),
            "title_source": "branch",
            "started_at": now,
        }
        branch_id = insert_session(con, reader.columns, session_id, _TAKEN_ALONG, own)
        copies = clone(con, reader.columns, branch_id, ids)
        if len(copies) != len(ids):
            raise NotBranchable(f"{len(ids) - len(copies)} of the {len(ids)} messages no longer exist in the database.")
        recount(con, reader.columns, branch_id)
    return branch_id


def insert_session(
    con: sqlite3.Connection, columns: Columns, source_id: str, taken: Sequence[str], own: Mapping[str, Any]
) -> str:
    """A new session with the values of another in the columns `taken`, and its `own`; columns that are missing are left
    out. `own` has the `started_at` that its id, which is returned, tells.
    """
    new_id = _new_id(con, own["started_at"])
    values = {name: value for name, value in ({"id": new_id} | dict(own)).items() if name in columns.sessions}
    copied = [quoted(name) for name in taken if name in columns.sessions]
    names = ", ".join([*copied, *map(quoted, values)])
    made = con.execute(
        f"INSERT INTO sessions ({names}) SELECT {', '.join([*copied, *'?' * len(values)])} FROM sessions WHERE id = ?",
        [*values.values(), source_id],
    )
    if made.rowcount != 1:
        raise NotFound(f"Session {source_id} is gone; nothing was written.")
    return new_id


def _new_id(con: sqlite3.Connection, now: float) -> str:
    """An id in the owner's form: local time and six hexadecimal digits."""
    while True:
        new_id = f"{datetime.fromtimestamp(now):%Y%m%d_%H%M%S}_{secrets.token_hex(3)}"
        if con.execute("SELECT 1 FROM sessions WHERE id = ?", [new_id]).fetchone() is None:
            return new_id


def _live_ids(con: sqlite3.Connection, session_id: str) -> list[int]:
    found = con.execute("SELECT id FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", [session_id])
    return [row[0] for row in found.fetchall()]


def _config(con: sqlite3.Connection, session_id: str) -> dict[str, Any]:
    """What of the session's `model_config` holds for another session too."""
    (stored,) = con.execute("SELECT model_config FROM sessions WHERE id = ?", [session_id]).fetchone()
    config = read_config(stored).items()
    return {name: value for name, value in config if not name.startswith("_") and name not in _LEFT_BEHIND}
