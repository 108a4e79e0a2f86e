"""Names of processes that hold a lock, a lease or a run, and whether such a process is dead.

The form is the one that Hermes Agent uses for its own lock owners (`docs/hermes.md` section 3).
"""

from __future__ import annotations

import os
import re
import secrets
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

OUR_NAME = "palimpsest"

_PID = re.compile(r"(?:^|:)pid=(\d+)(?::|$)")

_NAMESPACE = re.compile(r"(?:^|:)pidns=(\d+)(?::|$)")

_BOOT = re.compile(r"(?:^|:)boot=(\w+)(?::|$)")


@dataclass(frozen=True, slots=True)
class Holder:
    """The owner of a lock or a lease, from when until when (epoch seconds); `says` is a sentence about it where the
    kind of store has its own.
    """

    holder: str
    since: float
    expires: float
    says: str = ""

    @property
    def is_palimpsest(self) -> bool:
        return f":agent={OUR_NAME}:" in self.holder


@dataclass(frozen=True, slots=True)
class Presence:
    """Who is at a session: `holder` compacts it, or would go on with what it has in memory; `turn` runs a turn of it.
    None for nobody. `sees_turns` says that the agent shows who runs a turn, as one or the other.
    """

    holder: Holder | None = None
    turn: Holder | None = None
    sees_turns: bool = False


def new_holder() -> str:
    """A name in the agent's form, for this process and thread, and the boot of this machine's kernel."""
    namespace, boot = own_namespace(), own_boot()
    stamp = f":pidns={namespace}:boot={boot}" if namespace and boot else f":pidns={namespace}" if namespace else ""
    return f"pid={os.getpid()}{stamp}:tid={threading.get_ident()}:agent={OUR_NAME}:nonce={secrets.token_hex(4)}"


def is_dead(holder: str) -> bool:
    """Whether the process with this name, one of ours, certainly no longer exists, wherever the name was read.

    Two machines may number their process namespaces alike, so the boot must be this one too.
    """
    boot = _BOOT.search(holder)
    return boot is not None and boot[1] == own_boot() and is_gone(holder)


def is_gone(holder: str) -> bool:
    """Whether the name contains this process namespace and a process that does not exist."""
    pid, namespace = _PID.search(holder), _NAMESPACE.search(holder)
    if pid is None or namespace is None or namespace[1] != own_namespace():
        return False
    try:
        os.kill(int(pid[1]), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


def own_namespace() -> str:
    """The inode of this process's pid namespace, "" where the system has none."""
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return ""


@cache
def own_boot() -> str:
    """The beginning of the boot id of this machine's kernel, "" where it has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    except OSError:
        return ""
