"""Which clients have a session open, and why a session is not written to.

Each client records its session in `sessions/<process>.json`, and deletes that file when it ends.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewer.stores import refused
from viewer.stores.base import Store
from viewer.stores.jsonl.files import beginning
from viewer.stores.lock_owners import Holder, own_namespace

from . import paths
from .messages import SessionMessages, messages_of
from .paths import SessionFile
from .records import NO_UUID
from .schema import LONGEST_NAME

LARGEST = 100_000  # bytes; the rest of such a file is not read
TRUSTED_SECONDS = 600.0  # for which a client in another container, whose process cannot be seen, counts as open
LATEST = 10**14  # milliseconds: the year 5138
_NAMESPACE = re.compile(r"pid:\[(\d+)\]")
NO_SPLIT = "Claude Code's sessions are compacted in place; one session does not go on in another."
SUB_AGENT = "This is the transcript of a sub-agent: the client does not go on with it."
CIRCLE = (
    "Records of this session name one another as parents in a circle. {count:,} of its messages are not reached from "
    "its end: Claude Code does not send them, and a summary would leave them out. It is not compacted."
)
TANGLED = (
    "How Claude Code reads this session is not known here: its records name each other as parents, have the id of one "
    "response in several places, or go on from before the compaction. It is not compacted."
)
TOO_LONG = (
    "A message that Claude Code still sends, in a line of {size:,} bytes, is too long to be read here, so that no "
    "summary could say what is in it. It is not compacted."
)
NO_IDS = "Records of this session have no id of their own by which a compaction could keep them. It is not compacted."


# -- clients -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Client:
    """An open client; `since` in epoch seconds, `is_busy` while it runs a turn."""

    process: int
    since: float
    is_busy: bool

    @property
    def holder(self) -> Holder:
        turn = "is running a turn of" if self.is_busy else "has"
        says = (
            f"Claude Code (process {self.process}) {turn} this session"
            f"{'' if self.is_busy else ' open'} and would go on with what it has in memory. Close it first."
        )
        return Holder(f"pid={self.process}:agent=claude-code:", self.since, self.since, says)


def clients_of(store: Store, session_id: str) -> list[Client]:
    """The open clients of a session."""
    return [client for each in _entries(store.path / "sessions") if (client := _client(each, session_id)) is not None]


def open_sessions(store: Store) -> Collection[str] | None:
    """The sessions that a client has open; None where no client ever recorded that, as older ones do not."""
    directory = store.path / "sessions"
    if not directory.is_dir():
        return None
    named = ((entry, str(entry.get("sessionId"))) for entry in _entries(directory))
    return {session_id for entry, session_id in named if _client(entry, session_id)}


def _entries(directory: Path) -> Iterator[dict[str, Any]]:
    try:
        paths = list(directory.glob("*.json"))
    except OSError:
        return
    for path in paths:
        try:
            entry = json.loads(beginning(path, LARGEST))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            yield entry


def _client(entry: dict[str, Any], session_id: str) -> Client | None:
    process, since = entry.get("pid"), entry.get("startedAt")
    if entry.get("sessionId") != session_id or not isinstance(process, int) or not _is_alive(entry, process):
        return None
    return Client(process, _seconds(since), entry.get("status") == "busy")


def _seconds(milliseconds: Any) -> float:
    """The time in epoch seconds, 0.0 for a value that is not a time."""
    is_time = isinstance(milliseconds, (int, float)) and 0 < milliseconds < LATEST
    return milliseconds / 1000 if is_time else 0.0


def _is_alive(entry: dict[str, Any], process: int) -> bool:
    namespace = _NAMESPACE.search(str(entry.get("pidDomain")))
    if namespace and own_namespace() and namespace[1] != own_namespace():
        return time.time() - _seconds(entry.get("updatedAt")) < TRUSTED_SECONDS
    if sys.platform != "linux":
        return _exists(process)
    try:  # the 22nd field, counted after the name, which may contain anything
        start = Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return False
    return entry.get("procStart") in (None, start)


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


# -- why a session cannot be compacted, as a sentence ------------------------------------------------------------------


def store_refusal(store: Store) -> str:
    """Why nothing in the store can be compacted, "" where it can."""
    if os.access(paths.projects(store), os.R_OK | os.W_OK | os.X_OK):
        return ""
    return "This user may not write to the directory of these sessions."


def session_refusal(store: Store, file: SessionFile) -> str:
    """Why this session can never be compacted here, "" where it can."""
    if file.parent:
        return SUB_AGENT
    reason = store_refusal(store) or ("" if os.access(file.path, os.R_OK | os.W_OK) else refused.NOT_WRITABLE)
    return reason or unknown_form_refusal(messages_of(file))


def unknown_form_refusal(conversation: SessionMessages) -> str:
    """Why nothing is written to a session with unknown forms, "" where all are known."""
    return refused.unknown_form(conversation.unknown, "Claude Code") if conversation.unknown else ""


def context_refusal(conversation: SessionMessages) -> str:
    """Why the context can be neither summarised nor kept without a loss, "" where it can."""
    if not conversation.thread or conversation.is_sub_agent:
        return ""
    top, on_thread = conversation.thread[0], {record.uuid for record in conversation.thread}
    parent = "" if top.is_boundary else top.parent
    if parent in on_thread and conversation.unlinked:
        return CIRCLE.format(count=conversation.unlinked)
    if parent in on_thread or conversation.is_tangled:
        return TANGLED
    if parent and conversation.unlinked:
        record = "a record without an id" if parent == NO_UUID else f"the record {parent[:LONGEST_NAME]}"
        return refused.lost_link(record, conversation.unlinked, "Claude Code")
    if NO_UUID in on_thread:
        return NO_IDS
    cut = [record.length for record in conversation.thread if record.is_cut]
    return TOO_LONG.format(size=max(cut)) if cut else ""
