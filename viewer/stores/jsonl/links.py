"""Links in a store that is a directory of files: the rule for all kinds.

A directory that its owner linked is read as if it lay there; so sessions are moved to another disk. A session's file
that is a link is read where it leads to a file in the same directory or below, and nowhere else: an agent's tools write
to these directories, and such a link may lead to any file that this user may read. Both are said (`remarks`).
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
DEEPEST, MOST = 6, 5  # directories below one another that are looked into, and sentences
LOOKED_AGAIN = 60.0  # seconds

_said: TTLCache[tuple[str, tuple[str, ...]], list[str]] = TTLCache(100, LOOKED_AGAIN)


def regular_file(path: str | Path) -> os.stat_result:
    """What a look at a file tells. Raises OSError, also for what is no regular file, and a link to one elsewhere."""
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        if leads_away(path):
            raise OSError(f"{path} is a link to a file elsewhere")
        found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(f"{path} is not a file")
    return found


def leads_away(path: str | Path) -> bool:
    """Whether a file that is a link lies elsewhere than in the directory where the link is, or below."""
    home = os.path.realpath(os.path.dirname(path))
    return os.path.islink(path) and not os.path.realpath(path).startswith(os.path.join(home, ""))


def leads_back(path: str) -> bool:
    """Whether a directory that is a link is one of those that the link lies in: it would have no end."""
    home, target = os.path.realpath(os.path.dirname(path)), os.path.realpath(path)
    return os.path.join(home, "").startswith(os.path.join(target, ""))


def linked(*directories: Path) -> Iterator[str]:
    """That these directories are links, of those that are."""
    for path in directories:
        if os.path.islink(path):
            yield LINKED.format(path=path, target=os.path.realpath(path))


@cached(_said, lock=Lock())
def remarks(room: str, endings: tuple[str, ...]) -> list[str]:
    """What of a directory of sessions is read through links, or is not, of files with these endings; some of each."""
    return list(islice(_remarks(room, endings, DEEPEST), MOST))


def _remarks(directory: str, endings: tuple[str, ...], depth: int) -> Iterator[str]:
    try:
        with os.scandir(directory) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        with suppress(OSError):
            is_link = entry.is_symlink()
            if is_link and entry.name.endswith(endings) and leads_away(entry.path):
                yield LED_AWAY.format(path=entry.path, target=os.path.realpath(entry.path))
            elif entry.is_dir() and is_link:
                yield LINKED.format(path=entry.path, target=os.path.realpath(entry.path))
            elif depth and entry.is_dir():
                yield from _remarks(entry.path, endings, depth - 1)
