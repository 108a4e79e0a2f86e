"""Files of sessions damaged at random: as by crashes, full disks, programs that copy, sort and join."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

Lines = list[bytes]
_IDS = re.compile(rb'"(?:id|call_id)":"([^"]{6,60})"')


def damaged(data: bytes, chance: Random) -> tuple[str, bytes]:
    """The same file damaged once to three times, and how."""
    lines, how = data.splitlines(keepends=True), []
    for _ in range(chance.choice((1, 1, 2, 3))):
        name = chance.choice(list(_DAMAGES))
        how.append(name)
        lines = b"".join(_DAMAGES[name](lines, chance)).splitlines(keepends=True)
    return ", ".join(how), b"".join(lines)


def _place(lines: Lines, chance: Random) -> int:
    """A line, seldom the first: without that the client refuses a file as a whole."""
    return chance.randrange(0 if chance.random() < 0.05 else min(1, len(lines) - 1), len(lines))


def _cut(lines: Lines, chance: Random) -> Lines:
    """Bytes of one line are not there, maybe its end."""
    at = _place(lines, chance)
    start = chance.randrange(len(lines[at]))
    gone = chance.choice((1, 1, 2, 5, 40, 400, len(lines[at])))
    return [*lines[:at], lines[at][:start] + lines[at][start + gone :], *lines[at + 1 :]]


def _overwritten(lines: Lines, chance: Random) -> Lines:
    """Bytes of one line are others."""
    at = _place(lines, chance)
    start, count = chance.randrange(len(lines[at])), chance.choice((1, 1, 3, 30))
    value = chance.choice((b"\0", b"x", b"7", b'"', b"\xff", b"\n", b"\\", b"}"))
    return [*lines[:at], lines[at][:start] + value * count + lines[at][start + count :], *lines[at + 1 :]]


def _nulls(lines: Lines, chance: Random) -> Lines:
    at = _place(lines, chance)
    return [*lines[:at], lines[at].rstrip(b"\n") + b"\0" * chance.choice((1, 200)) + b"\n", *lines[at + 1 :]]


def _doubled(lines: Lines, chance: Random) -> Lines:
    start = _place(lines, chance)
    stop = min(len(lines), start + chance.choice((1, 1, 2, 8)))
    to = chance.choice((stop, len(lines), _place(lines, chance) + 1))
    return [*lines[:to], *lines[start:stop], *lines[to:]]


def _glued(lines: Lines, chance: Random) -> Lines:
    at = _place(lines, chance)
    return [*lines[:at], lines[at].rstrip(b"\n"), *lines[at + 1 :]]


def _half_before(lines: Lines, chance: Random) -> Lines:
    at = _place(lines, chance)
    return [*lines[:at], lines[at][: chance.randrange(len(lines[at]))].rstrip(b"\n"), *lines[at:]]


def _shuffled(lines: Lines, chance: Random) -> Lines:
    start = min(1, len(lines) - 1) if chance.random() < 0.95 else 0
    count = chance.choice((2, 4, 12, len(lines)))
    at = chance.randrange(start, max(start + 1, len(lines) - count + 1))
    some = lines[at : at + count]
    chance.shuffle(some)
    return [*lines[:at], *some, *lines[at + count :]]


def _lost(lines: Lines, chance: Random) -> Lines:
    at = _place(lines, chance)
    return [*lines[:at], *lines[at + chance.choice((1, 1, 3)) :]]


def _ids_repeated(lines: Lines, chance: Random) -> Lines:
    """One id stands in place of another one."""
    ids = sorted({found for line in lines[1:] for found in _IDS.findall(line)})
    if len(ids) < 2:
        return lines
    one, other = chance.sample(ids, 2)
    at = _place(lines, chance)
    everywhere = chance.random() < 0.5
    return [line.replace(one, other) if everywhere or number == at else line for number, line in enumerate(lines)]


def _end_cut(lines: Lines, chance: Random) -> Lines:
    data = b"".join(lines)
    return [data[: len(data) - chance.randrange(1, len(data) // 2)]]


def _marked(lines: Lines, chance: Random) -> Lines:
    at = chance.choice((0, _place(lines, chance)))
    return [*lines[:at], b"\xef\xbb\xbf" + lines[at], *lines[at + 1 :]]


_DAMAGES: dict[str, Callable[[Lines, Random], Lines]] = {
    "cut": _cut,
    "overwritten": _overwritten,
    "NULs behind": _nulls,
    "doubled": _doubled,
    "glued": _glued,
    "half before": _half_before,
    "shuffled": _shuffled,
    "lost": _lost,
    "ids repeated": _ids_repeated,
    "end cut": _end_cut,
    "byte order mark": _marked,
}
