"""Links in a store that is a directory of files: the rule for all kinds.

A directory that its owner linked is read like a normal one, because people move sessions to another disk that way. A
session's file that is a link is read only if it leads to a file in the same directory or below: an agent's tools write
to these directories, and such a link may lead to any file that this user may read. `remarks` reports both.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from threading import Lock

from cachetools import TTLCache, cached

LINKED = "{path} is a link: what lies in {target} is read as if it lay there."
LED_AWAY = "{path} is a link to a file elsewhere ({target}), and is not read."
DEEPEST, MOST = 6, 5  # levels of directories that are searched, and the number of sentences
LOOKED_AGAIN = 60.0  # seconds between two searches

_said: TTLCache[tuple[str, tuple[str, ...]], list[str]] = TTLCache(100, LOOKED_AGAIN)


def regular_file(path: str | Path) -> os.stat_result:
    """The status of a file. Raises OSError, also for anything but a regular file, and for a link to a
    file elsewhere.
    """
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        if leads_away(path):
            raise OSError(f"{path} is a link to a file elsewhere")
        status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path} is not a file")
    return status


def leads_away(path: str | Path) -> bool:
    """Whether a file is a link to somewhere else than the link's own directory or below."""
    home = os.path.realpath(os.path.dirname(path))
    return os.path.islink(path) and not os.path.realpath(path).startswith(os.path.join(home, ""))


def leads_back(path: str) -> bool:
    """Whether a directory is a link to one of its own parents: following it would not end."""
    home, target = os.path.realpath(os.path.dirname(path)), os.path.realpath(path)
    return os.path.join(home, "").startswith(os.path.join(target, ""))


def linked(*directories: Path) -> Iterator[str]:
    """Sentences about those of these directories that are links."""
    for path in directories:
        if os.path.islink(path):
            yield LINKED.format(path=path, target=os.path.realpath(path))


@cached(_said, lock=Lock())
def remarks(room: str, endings: tuple[str, ...]) -> list[str]:
    """What in a directory of sessions is read through links, or is left out for that, for files with these endings; at
    most a few sentences.
    """
    return list(islice(_remarks(room, endings, DEEPEST), MOST))


def _remarks(directory: str, endings: tuple[str, ...], depth: int) -> Iterator[str]:
    try:
        with os.scandir(directory) as entries:
            sorted_entries = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in sorted_entries:
        with suppress(OSError):
            is_link = entry.is_symlink()
            if is_link and entry.name.endswith(endings) and leads_away(entry.path):
                yield LED_AWAY.format(path=entry.path, target=os.path.realpath(entry.path))
            elif entry.is_dir() and is_link:
                yield LINKED.format(path=entry.path, target=os.path.realpath(entry.path))
            elif depth and entry.is_dir():
                yield from _remarks(entry.path, endings, depth - 1)
