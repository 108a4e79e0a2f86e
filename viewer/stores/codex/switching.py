"""The bytes that decide whether the lines of a compaction of ours count: the first letters of their types.

A client skips a line whose type it does not know. So the lines are first written with such types and then switched on,
the compaction's line last; an undo switches them off, that line first, and a redo on again. A process that is killed in
between leaves a session as it was before, or as it is after. The first and the last line of the turn always count, or
the client would not find it.
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
    """The first letter of a line's type: its offset in the file, and its value where the line counts."""

    offset: int
    letter: bytes
    is_of_compaction: bool


def letters(lines: Iterable[tuple[int, bytes]]) -> tuple[TypeLetter, ...] | None:
    """The letters of lines, given by their offsets and beginnings, whether they count or not; the compaction's first.
    None where a line is not one of a compaction's lines.
    """
    result = []
    for offset, line in lines:
        if any(beginning in line for beginning in KEPT):
            continue
        at = line.find(_START) + len(_START)
        kind = next((each for each in TYPES if line[at + 1 :].startswith(f'{each[1:]}"'.encode())), "")
        if not kind or line[at : at + 1] not in (kind[:1].encode(), OFF):
            return None
        result.append(TypeLetter(offset + at, kind[:1].encode(), kind == COMPACTED))
    return tuple(sorted(result, key=lambda each: not each.is_of_compaction))


def counting(line: str) -> str:
    """A line from its type on, in the form in which it counts."""
    for kind in TYPES:
        line = line.replace(f'"type":"{OFF.decode()}{kind[1:]}"', f'"type":"{kind}"', 1)
    return line


def off(type_letters: Iterable[TypeLetter]) -> dict[int, bytes]:
    """The bytes to write, by offset, so that the lines do not count, in this order."""
    return {each.offset: OFF for each in type_letters}


def on(type_letters: tuple[TypeLetter, ...]) -> dict[int, bytes]:
    """The bytes to write, by offset, so that the lines count, in this order."""
    return {each.offset: each.letter for each in reversed(type_letters)}


def switched_off(data: bytes) -> tuple[bytes, tuple[TypeLetter, ...]]:
    """Lines that do not count yet, and the letters of their types by offset in these lines."""
    lines, offset = [], 0
    for line in data.splitlines(keepends=True):
        lines.append((offset, line))
        offset += len(line)
    type_letters, off_data = letters(lines), bytearray(data)
    assert type_letters is not None
    for at, letter in off(type_letters).items():
        off_data[at : at + 1] = letter
    return bytes(off_data), type_letters
