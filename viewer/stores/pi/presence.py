"""Whether pi may have a session open, and why one is not written to.

pi locks nothing, and continues from its memory: entries that are written to the file meanwhile are not on its path. The
signs are a pi process in the session's directory, and a file that has just been written to.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from viewer.stores import refused
from viewer.stores.lock_owners import Holder
from viewer.stores.settings_files import json5_value_in
from viewer.stores.trees import presence as tree_presence
from viewer.stores.trees import sources
from viewer.stores.trees.codec import EntrySource
from viewer.stores.trees.messages import EntryMessages
from viewer.stores.trees.paths import SessionLocation
from viewer.stores.trees.plain_schema import VERSION, unknown_in
from viewer.stores.trees.plain_tree import header_of

SETTINGS = "settings.json"
QUIET_SECONDS = 20.0  # since the last write to a file, until it counts as not in use by a client
# The name of the process (`pi-rpc` when embedded in another program), and the path it is started from.
NAME, PACKAGE = re.compile(rb"pi(-[a-z-]{1,20})?"), b"/pi-coding-agent/"
OPEN = (
    "pi (process {process}) runs in this session's directory. If it has the session open, it would go on with what it "
    "has in memory and the compaction would have no effect. End it first."
)
JUST_WRITTEN = (
    "This session was written to {seconds:.0f} s ago. pi locks nothing: end it first if it has the session open, and "
    "try again in {left:.0f} s."
)


def holder_of(location: SessionLocation, cwd: str) -> Holder | None:
    """Who may have a session of pi open, None for nobody; `cwd` is the directory that it works in."""
    for process in processes_in(cwd):
        return Holder(f"pid={process}:agent=pi:", 0.0, 0.0, OPEN.format(process=process))
    changed = location.state.changed / 1e9
    ago = time.time() - changed
    if abs(ago) < QUIET_SECONDS:  # a clock may be ahead
        message = JUST_WRITTEN.format(seconds=max(ago, 0), left=QUIET_SECONDS - ago + 1)
        return Holder("agent=pi:", changed, changed + QUIET_SECONDS, message)
    return None


def processes_in(cwd: str) -> Iterator[int]:
    """Processes of pi in a directory, as far as this user may see them; none except on Linux."""
    if sys.platform != "linux" or not cwd:
        return
    with suppress(OSError, ValueError):  # a path may contain a NUL byte
        directory_status = os.stat(cwd)
        for name in os.listdir("/proc"):
            if name.isdigit() and _is_pi(name) and _is_in(name, directory_status):
                yield int(name)


def _is_pi(process: str) -> bool:
    """pi replaces its command line by its name once it has started; a stand-alone binary keeps its path."""
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
    name = command.split(b"\0")[0].strip().rpartition(b"/")[2]
    return NAME.fullmatch(name) is not None or PACKAGE in command


def _is_in(process: str, directory_status: os.stat_result) -> bool:
    try:
        status = os.stat(f"/proc/{process}/cwd")
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == (directory_status.st_dev, directory_status.st_ino)


# -- why a session is not written to -----------------------------------------------------------------------------------

NO_RENAME = "pi gives its sessions their names: /name."
NO_EDITS = (
    "Tool output can be shortened in sessions of pi from version 0.87 on: an older one sends it whole all the same. "
    "Its settings name no such version as the one that was used last. Choose a summary."
)
NO_HEADER = "pi does not open this file: the first line that it can read is no header of a session. It is not changed."
BYTE_ORDER_MARK = (
    "This session's file begins with a byte order mark, which programs for Windows put there. pi has not opened such "
    "files since version 0.87. It can be compacted once these three bytes are gone."
)


def of_pi(location: SessionLocation) -> str:
    """Why nothing can be written to a session of pi, "" where it can. Raises StoreUnavailable."""
    if reason := _of_pi_form(location):
        return reason
    if reason := tree_presence.of_links(sources.messages_of(location, is_strict=False)):
        return reason
    return "" if os.access(location.path, os.R_OK | os.W_OK) else refused.NOT_WRITABLE


def of_pi_branch(location: SessionLocation) -> str:
    """Why no branch can be made from a session of pi, "" where one can. Raises StoreUnavailable."""
    return _of_pi_form(location) or tree_presence.of_room(location)


def _of_pi_form(location: SessionLocation) -> str:
    """The unknown part of a file of pi, as a sentence (`trees.plain_schema`)."""
    with sources.opened(location) as source:
        messages = sources.messages_of(location, is_strict=False)
        return _of_header(source, messages) or _of_unknown(source, messages)


def _of_header(source: EntrySource, messages: EntryMessages) -> str:
    if not messages.entries:
        return tree_presence.EMPTY
    if source.start(messages.entries[0], 3) == "\ufeff":
        return BYTE_ORDER_MARK
    header = header_of(messages.entries)
    if header is None or header.version is None or header.has_no_id:
        return NO_HEADER
    return tree_presence.of_version(header.version, VERSION)


def _of_unknown(source: EntrySource, messages: EntryMessages) -> str:
    """For an entry of an unknown form that is on the path, or names another entry; entries on abandoned branches do not
    matter.
    """
    on_path = {entry.offset for entry in messages.tree.path}
    for entry in messages.entries:
        has_say = entry.offset in on_path or (
            entry.is_in_tree and entry.names_any and entry.offset not in messages.left
        )
        if entry.is_unknown and has_say:
            return refused.unknown_form(unknown_in(source.value(entry) or {}), "pi")
    return ""


def pi_version(home: Path) -> tuple[int, ...]:
    """The numbers of the version of pi that was used last in a terminal, none where the settings do not say."""
    version = json5_value_in(home / SETTINGS, "lastChangelogVersion")
    numbers = version.split("-")[0].split(".") if isinstance(version, str) else []
    return tuple(map(int, numbers)) if all(re.fullmatch("[0-9]{1,6}", each) for each in numbers) else ()
