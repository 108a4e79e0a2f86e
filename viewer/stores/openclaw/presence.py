"""Who works on OpenClaw's sessions, and why one is not written to.

A state directory is run by a gateway, or by a client that takes a single turn. Each records itself in
`tmp/openclaw-<user>/gateway.state.lock`, which a killed process leaves behind, and keeps a database next to it locked
while it lives. A gateway says in the session's row that a turn runs; any other owner means one turn.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewer.stores import refused
from viewer.stores.jsonl.files import beginning
from viewer.stores.lock_owners import Holder
from viewer.stores.trees import codec as tree_codec
from viewer.stores.trees import presence as tree_presence
from viewer.stores.trees import sources, strict_schema
from viewer.stores.trees.messages import EntryMessages
from viewer.stores.trees.paths import ENDING, SessionLocation
from viewer.stores.trees.records import HEADER, TreeEntry
from viewer.stores.trees.strict_schema import KNOWN, LEAF_SET

from . import database, records

LOCK, LOCKED = "gateway.state.lock", "gateway.state.lock.sqlite"
LARGEST = 100_000  # bytes of such a record
STARTED = 19  # the field of a process's start in /proc/<pid>/stat, counted after its name
RUNNING = "running"
TURN = "OpenClaw ({process}) runs a turn of this session. Wait until it has answered, and try again."
BY_ITSELF = "OpenClaw ({process}) works on these sessions by itself just now. Try again once it is done."


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that owns a state directory, 0 where its id is unknown; `is_gateway` says that it is a gateway."""

    process: int
    is_gateway: bool


def owner_of(home: Path) -> Owner | None:
    """The living owner of a state directory, None for none."""
    try:
        rooms = sorted(each for each in os.listdir(home / "tmp") if each.startswith("openclaw-"))
    except OSError:
        return None
    owners = (_owner(home / "tmp" / room) for room in rooms)
    return next((owner for owner in owners if owner is not None), None)


def _owner(room: Path) -> Owner | None:
    record = _record(room / LOCK)
    process = living(room / LOCK, "startTime")
    if process is None and _is_locked(room / LOCKED):
        pid = record.get("pid")
        process = pid if isinstance(pid, int) else 0
    return None if process is None else Owner(process, bool(record) and not record.get("role"))


def living(path: Path, start: str) -> int | None:
    """The process that is recorded in a file, with its start under a name; None where it no longer exists."""
    record = _record(path)
    process = record.get("pid")
    return process if isinstance(process, int) and _is_alive(process, record.get(start)) else None


def _record(path: Path) -> dict[str, Any]:
    """What an owner records about itself: JSON, followed by a line of blanks."""
    try:
        text = beginning(path, LARGEST).decode("utf-8", "replace")
        record, _ = json.JSONDecoder().raw_decode(text)
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _is_alive(process: int, started: Any) -> bool:
    """Whether the process exists and, where that is known, began at the recorded time."""
    if not os.path.isdir("/proc/self"):
        return _answers(process)
    try:
        stat = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
        since = int(stat.rpartition(")")[2].split()[STARTED])
    except (OSError, ValueError, IndexError):
        return False
    return started is None or started == since


def _answers(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _is_locked(path: Path) -> bool:
    """Whether a process keeps this database locked; it may be one that cannot be seen from here."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)) as con:
            con.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except sqlite3.OperationalError as problem:
        return "locked" in str(problem)
    except sqlite3.Error:
        return False
    return False


def holder_of(home: Path, status: str) -> Holder | None:
    """Who works on a session whose row has this status, None for nobody. Times are unknown."""
    owner = owner_of(home)
    if owner is None or (owner.is_gateway and status != RUNNING):
        return None
    message = TURN if owner.is_gateway else BY_ITSELF
    prefix = f"pid={owner.process}:" if owner.process else ""
    who = f"process {owner.process}" if owner.process else "a process that does not name itself"
    return Holder(f"{prefix}agent=openclaw:", 0.0, 0.0, message.format(process=who))


# -- sessions ----------------------------------------------------------------------------------------------------------

LOCK_ENDING = f"{ENDING}.lock"
RUNS = "OpenClaw (process {process}) runs a turn of this agent. Wait until it has answered, and try again."


def holder_at(home: Path, location: SessionLocation) -> Holder | None:
    """Who works on the session at `location` in the state directory `home`, None for nobody. Times are unknown. Raises
    StoreUnavailable.
    """
    if location.row_id:
        return holder_of(home, database.status_of(location.path, location.key))
    return _running(location.path.parent)


def _running(directory: Path) -> Holder | None:
    """Who runs a turn of any session in a directory: all of them write to one index."""
    with suppress(OSError):
        for name in sorted(os.listdir(directory)):
            process = living(directory / name, "starttime") if name.endswith(LOCK_ENDING) else None
            if process is not None:
                return Holder(f"pid={process}:agent=openclaw:", 0.0, 0.0, RUNS.format(process=process))
    return None


# -- why a session is not written to -----------------------------------------------------------------------------------

NO_TITLE = "OpenClaw gives its sessions their names."
ENDED = "This conversation goes on in another session since, by a reset or a rewind."
NOT_NAMED = (
    "OpenClaw's own list of sessions does not name this one, so that it would not go on with it. It can be read, and "
    "is not changed."
)
PUT_AWAY = "A reset put this transcript away, and OpenClaw does not go on with it. It can be read, and is not changed."
UNSETTLED = (
    "OpenClaw has not brought its own index of this session up to date yet. It does when it starts, or with the next "
    "message. Nothing was written; try again then."
)
QUEUED = "A message waits in OpenClaw to be answered in this session. Try again once it is answered."
NO_WRITE = "{path} or its directory cannot be written by this user."
UNKNOWN = (
    "The database of this OpenClaw has schema {version}, which is not known here: its sessions can be read as far as "
    "they are understood, and are not changed."
)
COLD = "This session is in a cold archive of OpenClaw's. It can be changed again once OpenClaw has restored it."
VERSIONS_OF_ROWS = (3, 4)  # in the header of a session in a database
FORM = 3  # of files of lines, in pi since November 2025


def of_file(location: SessionLocation) -> str:
    """Why a session in a file can never be compacted here, "" where it can. Raises StoreUnavailable."""
    if reason := _of_form(location):
        return reason
    return "" if os.access(location.path, os.R_OK | os.W_OK) else refused.NOT_WRITABLE


def of_branch(location: SessionLocation) -> str:
    """Why no branch can be made from a session in a file, "" where one can. Raises StoreUnavailable."""
    return _of_form(location) or _of_entries(location, to_branch=True) or tree_presence.of_room(location)


def _of_form(location: SessionLocation) -> str:
    entries, _ = sources.entries_of(location)
    if not entries:
        return tree_presence.EMPTY
    version = next((each.version for each in entries if each.version is not None), None)
    return tree_presence.of_version(version, FORM)


def of_location(location: SessionLocation) -> str:
    """Why a session of OpenClaw can never be compacted here, "" where it can. Raises StoreUnavailable."""
    if location.is_cold:
        return COLD
    if not location.is_current:
        return PUT_AWAY if location.ended else ENDED if location.goes_on else NOT_NAMED
    reason = of_database(location.path) if location.row_id else of_file(location)
    return reason or _of_entries(location, to_branch=False)


def of_location_to_branch(location: SessionLocation) -> str:
    """Why no branch can be made from a session of OpenClaw, "" where one can. Raises StoreUnavailable."""
    if location.is_cold or not location.is_current:
        return of_location(location)
    if location.row_id:
        return of_database(location.path) or _of_entries(location, to_branch=True)
    return of_branch(location)


def _of_entries(location: SessionLocation, *, to_branch: bool) -> str:
    """What in OpenClaw's entries is unknown or missing, as a sentence; for a branch only what is unknown."""
    with ExitStack() as opened:
        con = opened.enter_context(database.connected(location.path)) if location.row_id else None
        source = opened.enter_context(records.opened(location, con))
        messages = records.messages_of(location, con)
        version = next((each.version for each in messages.entries if each.version is not None), None)
        if location.row_id and version is not None and version not in VERSIONS_OF_ROWS:
            return tree_presence.of_version(version, max(VERSIONS_OF_ROWS))
        if location.row_id and (broken := next((each for each in messages.entries if not each.id), None)) is not None:
            return tree_codec.NO_OBJECT.format(number=broken.offset)
        unknown = next((each for each in messages.entries if _has_a_say(messages, each)), None)
        if unknown is not None:
            return refused.unknown_form(strict_schema.unknown_in(source.value(unknown) or {}), "OpenClaw")
        return "" if to_branch else tree_presence.of_links(messages)


def _has_a_say(messages: EntryMessages, entry: TreeEntry) -> bool:
    """Whether an entry of an unknown form may influence what is sent: not if it follows an abandoned entry."""
    is_damaged = not entry.type and not entry.is_unknown  # the client does not read it, so its links are missing
    if entry.form in (KNOWN, LEAF_SET) or is_damaged or entry.type == HEADER:
        return False
    before = messages.tree.known_before(entry.parent)
    return not before or messages.tree.nodes[before].offset not in messages.left


def of_database(path: Path) -> str:
    """Why nothing in a database can be compacted, "" where it can. Raises StoreUnavailable."""
    version, _ = database.schema(path, database.state_text(path))
    if version not in database.KNOWN_SCHEMAS:
        return UNKNOWN.format(version=version)
    is_writable = os.access(path, os.R_OK | os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK)
    return "" if is_writable else NO_WRITE.format(path=path)
