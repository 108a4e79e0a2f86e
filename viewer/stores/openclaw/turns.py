"""Who works on a session of OpenClaw's now."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from viewer.stores.lock_owners import Holder

from . import database, owners
from .places import ENDING, SessionPlace

LOCK = f"{ENDING}.lock"
RUNS = "OpenClaw (process {process}) runs a turn of this agent. Wait until it has answered, and try again."


def holder_at(home: Path, location: SessionPlace) -> Holder | None:
    """Who works on the session at `location` in the state directory `home`, None for nobody. Times are unknown. Raises
    StoreUnavailable.
    """
    if location.row_id:
        return owners.holder_of(home, database.status_of(location.path, location.key))
    return _running(location.path.parent)


def _running(directory: Path) -> Holder | None:
    """Who runs a turn of any session in a directory: all of them write to one index."""
    with suppress(OSError):
        for name in sorted(os.listdir(directory)):
            process = owners.living(directory / name, "starttime") if name.endswith(LOCK) else None
            if process is not None:
                return Holder(f"pid={process}:agent=openclaw:", 0.0, 0.0, RUNS.format(process=process))
    return None
