"""Whether a client is at a session, and why a session is not written to.

No client locks anything. One that runs has the database open, and a turn that runs has a newest message that is not
finished. A client that was killed leaves such a message for ever; then nobody has the database open.
"""

from __future__ import annotations

import os
import sqlite3
import sys

from viewer.stores import refused
from viewer.stores.base import Store
from viewer.stores.lock_owners import Holder
from viewer.stores.open_files import writers_of

from .paths import KNOWN_MIGRATION, SessionRow, database, newest_migration
from .replay import OpenCodeMessages

NO_SPLIT = "OpenCode's sessions are compacted in place; one session does not go on in another."
NO_PRUNE = (
    "OpenCode replaces old tool output by one fixed sentence, which cannot say what was shortened: tool output is not "
    "shortened in its sessions. Choose a summary."
)
NO_BRANCH = "Branches of OpenCode's sessions are made in OpenCode: /fork, or `opencode -s SESSION --fork`."
NEVER = {"prune": NO_PRUNE, "branch": NO_BRANCH}
NO_RENAME = "Sessions of OpenCode are renamed in OpenCode: /rename."
OTHER_TABLES = (
    "The tables of this database are of another version of OpenCode than the one that is known here ({newest} in place "
    "of {known}). Its sessions can be read, and are not changed."
)
SUB_AGENT = (
    "This is the session of a sub-agent. Whether OpenCode goes on with one that was compacted here is not known; it is "
    "not changed."
)
NOT_WRITABLE = "This user may not write to OpenCode's database."
TURN = (
    "OpenCode (process {process}) has its database open, and a turn of this session has not ended. Wait for it or "
    "end it."
)
TURN_UNSEEN = (
    "A turn of this session has not ended, and only Linux says whether OpenCode still runs. End the turn in OpenCode "
    "first."
)
REVERTED = (
    "Somebody went back in this session (/undo), and the next prompt deletes what came after. Send a prompt in "
    "OpenCode first, or take that back (/redo)."
)


def of_store(store: Store, con: sqlite3.Connection) -> str:
    """Why nothing in the store can be changed, "" where it can."""
    newest = newest_migration(con)
    if newest != KNOWN_MIGRATION:
        return OTHER_TABLES.format(newest=newest[:60] or "none", known=KNOWN_MIGRATION)
    path = database(store)
    is_writable = os.access(path, os.R_OK | os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK)
    return "" if is_writable else NOT_WRITABLE


def of_session(row: SessionRow, messages: OpenCodeMessages) -> str:
    """Why this session can never be changed here, "" where it can."""
    if row.text("parent_id"):
        return SUB_AGENT
    return refused.unknown_form(messages.unknown, "OpenCode") if messages.unknown else ""


def holder_of(store: Store, row: SessionRow, messages: OpenCodeMessages) -> Holder | None:
    """Who keeps the session from being changed now; None for nobody. Times are unknown."""
    if row.revert:
        return Holder("agent=opencode:", 0.0, 0.0, REVERTED)
    if not messages.is_open:
        return None
    if sys.platform != "linux":
        return Holder("agent=opencode:", 0.0, 0.0, TURN_UNSEEN)
    for process in writers_of(database(store)):
        return Holder(f"pid={process}:agent=opencode:", 0.0, 0.0, TURN.format(process=process))
    return None
