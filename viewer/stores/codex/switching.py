"""The bytes by which the lines of a compaction of ours count, or do not: the first letters of their types.

A client skips a line whose type it does not know. So the lines are written as such ones and then switched on, that of
the compaction last; an undo switches them off, that line first, and a redo on again. Whoever is killed in between
leaves a session as it was before, or as it is after. The first and the last line of the turn always count, or the
client would not find it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .records import COMPACTED

TYPES = (COMPACTED, "world_state", "turn_context", "event_msg")
KEPT = (b'"payload":{"type":"task_started"', b'"payload":{"type":"task_complete"')
OFF = b"x"
_START = b'"type":"'


@dataclass(frozen=True, slots=True)
class TypeLetter:
    """The first letter of a line's type: where it stands in the file, and what it is where the line counts."""

    offset: int
    letter: bytes
    is_of_compaction: bool


def letters(lines: Iterable[tuple[int, bytes]]) -> tuple[TypeLetter, ...] | None:
    """Of lines by their offsets and beginnings, whether they count or not; the compaction's first. None where a line is
    none of those that a compaction has.
    """
    found = []
    for offset, line in lines:
        if any(kept in line for kept in KEPT):
            continue
        at = line.find(_START) + len(_START)
        kind = next((each for each in TYPES if line[at + 1 :].startswith(f'{each[1:]}"'.encode())), "")
        if not kind or line[at : at + 1] not in (kind[:1].encode(), OFF):
            return None
        found.append(TypeLetter(offset + at, kind[:1].encode(), kind == COMPACTED))
    return tuple(sorted(found, key=lambda each: not each.is_of_compaction))


def counting(line: str) -> str:
    """A line from its type on, as it is where it counts."""
    for kind in TYPES:
        line = line.replace(f'"type":"{OFF.decode()}{kind[1:]}"', f'"type":"{kind}"', 1)
    return line


def off(found: Iterable[TypeLetter]) -> dict[int, bytes]:
    """What to write where so that the lines do not count, in this order."""
    return {each.offset: OFF for each in found}


def on(found: tuple[TypeLetter, ...]) -> dict[int, bytes]:
    """What to write where so that the lines count, in this order."""
    return {each.offset: each.letter for each in reversed(found)}


def switched_off(data: bytes) -> tuple[bytes, tuple[TypeLetter, ...]]:
    """Lines that do not count yet, and the letters of their types by where they stand in there."""
    lines, offset = [], 0
    for line in data.splitlines(keepends=True):
        lines.append((offset, line))
        offset += len(line)
    found, made = letters(lines), bytearray(data)
    assert found is not None
    for at, letter in off(found).items():
        made[at : at + 1] = letter
    return bytes(made), found
