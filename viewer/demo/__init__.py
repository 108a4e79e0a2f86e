"""The demo store: sessions written by us that show everything the site can show, for people who have no agent yet."""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from viewer.demo import disk, stocktaking, support, transcripts
from viewer.stores.hermes import schema

__all__ = ["ensure_demo"]


def ensure_demo(path: Path, *, now: float | None = None) -> bool:
    """Make the demo store at `path` unless there is a file; returns True when it was made.

    Its sessions were last active up to some weeks before `now` (epoch seconds, the present by default). It is built in
    a temporary file and renamed, so that a killed start leaves nothing incomplete; of two starts only one builds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone_in(path.parent):
        if path.exists():
            return False
        unfinished = path.with_name(f"{path.name}.unfinished")
        for leftover in path.parent.glob(f"{unfinished.name}*"):
            leftover.unlink()
        schema.create(unfinished)
        _fill(unfinished, time.time() if now is None else now)
        unfinished.rename(path)
        return True


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _fill(path: Path, now: float) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for script in [*transcripts.read_all(), disk.session(), stocktaking.session(), support.session()]:
            script.write(connection, now)
