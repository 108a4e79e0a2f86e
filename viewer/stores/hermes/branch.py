"""New sessions that come from another one, as the agent writes its own (`docs/hermes.md` section 7).

A *branch* continues separately, with the context of an earlier moment. Its parent is the session that it was made from,
which is only read; a mark in `model_config` says that it is a branch, so that it does not count as the continuation.
The parent's connection to a chat is not copied: its messages must still reach the parent.

A *split* is how the agent once compacted: the compacted context goes into a new session that continues the old one, and
takes over its connection to its chat. The old one is ended with the reason "compression", its rows stay unchanged.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any

from viewer.stores.base import Store
from viewer.stores.errors import CompactionConflict, NotBranchable, NotFound, StoreReadOnly, TitleTaken
from viewer.stores.writer import LONGEST_TITLE

from .columns import Columns, quoted
from .commit import BlockCommit, check_planned
from .database import OpenStore, columns_of
from .dialect import StoreConnection
from .encode import Step, clone, insert_block, recount
from .paths import BRANCHED, ended_reason, get_session, read_config
from .plan import Snapshot
from .presence import branch_reason, split_reason
from .tally import Tally
from .transaction import write

# Columns of a session's row: its kind, its working place, and its prompt, inline or by hash.
_TAKEN_ALONG = (
    "source", "created_source", "user_id", "model", "system_prompt", "system_prompt_hash", "tool_names", "cwd",
    "git_branch", "git_repo_root", "profile_name",
)  # fmt: skip


_OF_THE_CONVERSATION = (
    "title_source", "session_key", "chat_id", "chat_type", "thread_id", "display_name", "origin_json",
    "transport_profile", "pinned", "archived", "auto_archived",
)  # fmt: skip


# Keys of `model_config`, in addition to those that begin with "_" (marks of other sessions, measurements of one
# context): a provider's thread of one session, and a record of the conversation that does not apply to a branch.
_OF_ONE_SESSION = ("codex_thread_id",)


_OF_ONE_CONVERSATION = (*_OF_ONE_SESSION, "onboarding_run")


def branch(store: Store, session_id: str, row_ids: Sequence[int], *, now: float) -> str:
    """Make a session whose context is these rows, of the session or the parts it continues; returns the new session's
    id.

    One transaction. `now` is in epoch seconds. Raises NotFound, NotBranchable, StoreReadOnly, StoreUnavailable or
    WriteDisturbed: then nothing is written.
    """
    with write(store) as con:
        reader = OpenStore(store, con, columns_of(store, con))
        if reason := branch_reason(reader):
            raise StoreReadOnly(reason)
        tally = Tally(con, reader.columns)
        source = get_session(reader, session_id)
        ids = sorted(row_ids)
        own = {
            "parent_session_id": session_id,
            "model_config": json.dumps(_config(con, session_id, _OF_ONE_CONVERSATION) | {BRANCHED: session_id}),
            "title": of_branch(con, source.name),
            "title_source": "branch",
            "started_at": now,
        }
        branch_id = _insert_session(con, reader.columns, session_id, _TAKEN_ALONG, own)
        there = f"SELECT COUNT(*) FROM messages WHERE id IN {reader.columns.dialect.ids}"
        if gone := len(ids) - con.execute(there, [json.dumps(ids)]).fetchone()[0]:
            raise NotBranchable(f"{gone} of the {len(ids)} messages no longer exist in the database.")
        clone(con, reader.columns, branch_id, ids)
        recount(con, reader.columns, branch_id)
        tally.check(messages=len(ids), sessions=1)
    return branch_id


def split(
    store: Store, planned: Snapshot, steps: Sequence[Step], *, lock_holder: str, lease_holder: str, now: float
) -> BlockCommit:
    """Write the context that `steps` make into a new session that continues the planned one, which ends; in one
    transaction, on the conditions of `writing.commit`. Rows above the watermark are cloned after it, in order.

    Raises what `writing.commit` raises: then nothing is written.
    """
    with write(store, planned.file) as con:
        started = time.monotonic()
        reader = OpenStore(store, con, columns_of(store, con))
        if reason := split_reason(reader):
            raise StoreReadOnly(reason)
        tally = Tally(con, reader.columns)
        late = check_planned(con, store, reader.columns, planned, lock_holder, lease_holder)
        if reason := ended_reason(reader, planned.session_id):
            raise CompactionConflict(reason)
        config = _config(con, planned.session_id, _OF_ONE_SESSION)
        (title,) = con.execute("SELECT title FROM sessions WHERE id = ?", [planned.session_id]).fetchone()
        own = {
            "parent_session_id": planned.session_id,
            "model_config": json.dumps(config) if config else None,
            "title": of_next_part(con, title) if title else None,
            "started_at": now,  # agents of schema 16 require that it is not before the end of the old one
        }
        part_id = _insert_session(con, reader.columns, planned.session_id, (*_TAKEN_ALONG, *_OF_THE_CONVERSATION), own)
        handoff_id, block, copies = insert_block(con, reader.columns, part_id, steps, late, now)
        con.execute(
            "UPDATE sessions SET ended_at = ?, end_reason = 'compression' WHERE id = ?", [now, planned.session_id]
        )
        tally.check(messages=len(block), sessions=1)
    return BlockCommit(handoff_id, block, copies, len(block), time.monotonic() - started, part_id)


def _insert_session(
    con: StoreConnection, columns: Columns, source_id: str, copied_columns: Sequence[str], own: Mapping[str, Any]
) -> str:
    """A new session with the values of another in `copied_columns`, and its `own`; columns that the store lacks are
    left out. `own` contains the `started_at` from which its id, which is returned, is made.
    """
    new_id = _new_id(con, own["started_at"])
    values = {name: value for name, value in ({"id": new_id} | dict(own)).items() if name in columns.sessions}
    copied = [quoted(name) for name in copied_columns if name in columns.sessions]
    names = ", ".join([*copied, *map(quoted, values)])
    insertion = con.execute(
        f"INSERT INTO sessions ({names}) SELECT {', '.join([*copied, *'?' * len(values)])} FROM sessions WHERE id = ?",
        [*values.values(), source_id],
    )
    if insertion.rowcount != 1:
        raise NotFound(f"Session {source_id} is gone; nothing was written.")
    return new_id


def _new_id(con: StoreConnection, now: float) -> str:
    """An id in the agent's form: local time and six hexadecimal digits."""
    while True:
        new_id = f"{datetime.fromtimestamp(now):%Y%m%d_%H%M%S}_{secrets.token_hex(3)}"
        if con.execute("SELECT 1 FROM sessions WHERE id = ?", [new_id]).fetchone() is None:
            return new_id


def _config(con: StoreConnection, session_id: str, left_behind: Sequence[str]) -> dict[str, Any]:
    """The keys of the session's `model_config` that apply to another session as well."""
    (stored,) = con.execute("SELECT model_config FROM sessions WHERE id = ?", [session_id]).fetchone()
    config = read_config(stored).items()
    return {name: value for name, value in config if not name.startswith("_") and name not in left_behind}


_NUMBERED = re.compile(r"(.+?) #(\d+)", re.DOTALL)


def cleaned(title: str) -> str:
    """The title as the agent would store it: printable, single spaces, not too long."""
    printable = "".join(character if character.isprintable() else " " for character in title)
    return " ".join(printable.split())[:LONGEST_TITLE].rstrip()


def check_free(con: StoreConnection, title: str, *, but: str = "") -> None:
    """Inside a transaction: raise TitleTaken if a session other than `but` has this title."""
    other = title and con.execute("SELECT id FROM sessions WHERE title = ? AND id <> ?", [title, but]).fetchone()
    if other:  # it may be in no list: an older part of the same conversation keeps the name without a number
        raise TitleTaken(f"Session {other[0]} of this store is already named {title!r}; nothing was written.")


def of_branch(con: StoreConnection, name: str) -> str:
    """`name (branch)`, numbered when that is taken."""
    return _first_free(con, name, (f" (branch{'' if number == 1 else f' {number}'})" for number in count(1)))


def of_next_part(con: StoreConnection, title: str) -> str:
    """`title #2` for the part that follows the first one, `#3` for the next: the agent's way of numbering them."""
    numbered = _NUMBERED.fullmatch(title)
    base, newest = (numbered[1], int(numbered[2])) if numbered else (title, 1)
    return _first_free(con, base, (f" #{number}" for number in count(newest + 1)))


def _first_free(con: StoreConnection, name: str, endings: Iterator[str]) -> str:
    for ending in endings:
        title = cleaned(name)[: LONGEST_TITLE - len(ending)].rstrip() + ending
        if con.execute("SELECT 1 FROM sessions WHERE title = ?", [title]).fetchone() is None:
            return title
    raise AssertionError("unreachable")
