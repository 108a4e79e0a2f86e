"""The client's own settings: how many tokens in context make it compact by itself.

Read from the `config.toml` in its home, which belongs to a person: whatever is wrong with it, the client's default
counts.
"""

from __future__ import annotations

import os
import stat
import tomllib
from functools import lru_cache
from pathlib import Path

from viewer.stores.base import Store

NAME = "config.toml"
LIMIT = "model_auto_compact_token_limit"
LARGEST = 1_000_000  # bytes of a file that is read
# The client compacts at nine tenths of a model's window, and tells 95 hundredths of it (0.169.0, four models).
OF_TOLD = (18, 19)


def threshold(store: Store, window: int) -> int:
    """Tokens in context at which the client compacts by itself, for a model whose window it tells as so many. A limit
    that somebody set counts where it is lower.
    """
    usual = window * OF_TOLD[0] // OF_TOLD[1]
    limit = _limit(store)
    return usual if limit is None else min(limit, usual)


def _limit(store: Store) -> int | None:
    path = store.path / NAME
    try:
        found = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
        return None
    return _read(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=100)
def _read(path: Path, changed: int, size: int) -> int | None:
    """The limit that a file sets as it was at this time; of all else it says nothing is kept."""
    try:
        with path.open("rb") as file:
            found = tomllib.loads(file.read(LARGEST).decode("utf-8", "replace")).get(LIMIT)
    except (OSError, ValueError, RecursionError):
        return None
    return max(found, 1) if type(found) is int else None  # of none, and less, it compacts each time
