"""Where pi's sessions are: files of lines in its directory."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from viewer.stores.base import Store
from viewer.stores.jsonl.files import state_of
from viewer.stores.trees.paths import ENDING, Locations, SessionFields, SessionLocation, files, pi_id

DEEPEST = 5  # levels of directories below pi's that are searched


def pi_sessions(store: Store) -> Locations:
    """Every session of pi's directory by its id."""
    sessions: dict[str, SessionLocation] = {}
    root = store.path / "sessions"
    for path in files(root, depth=DEEPEST):
        if not path.endswith(ENDING):
            continue
        with suppress(OSError):
            name, state = pi_id(path), state_of(path)
            if name in sessions and sessions[name].state == state:
                continue  # the same file, through a link
            if name in sessions:
                name = os.path.relpath(path, root).removesuffix(ENDING)
            sessions[name] = SessionLocation(name, "", "", Path(path), "", state, SessionFields())
    return sessions
