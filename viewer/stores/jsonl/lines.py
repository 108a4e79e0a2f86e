"""The lines of a file, by offset, with their JSON objects, including lines that a crash, a full disk or another program
damaged.

Every agent reads a line that is one JSON object and nothing else. They differ on all other lines; so each `Line` says
how its object is placed in it (`Place`), and a kind of store names the places that its agent reads. An object that the
agent does not read can still be shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, NoReturn

from .long_lines import DEEPEST, CutLine

LONGEST = 32_000_000  # bytes; of a longer line, the long texts are cut
BUFFER = 1 << 20
TRIES = 8  # how often the length of a line may be read in the search for objects in it

BLANKS = " \t\r\n"  # white space that JSON allows around a text
MARK = b"\xef\xbb\xbf"  # the byte order mark that programs for Windows write in front of a file

# How an object is placed in its line: alone; alone, but for a byte order mark at the start of the file; alone in a line
# that is too long or nested too deep, so that parts of it are `CutText`; first, with something else after it (NUL
# bytes, another object, half an object); or only found by searching: after something else, or not quite JSON. "" is a
# line without an object.
Place = Literal["", "alone", "marked", "cut", "first", "found"]
ALONE: tuple[Place, ...] = ("alone",)
# A last line without a line end, which may still grow, counts as complete where its object is in such a place.
FINISHED: tuple[Place, ...] = ("alone", "marked", "cut", "first")


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end, or the part of a line that has one object. `data` is None for a line that is too long;
    `is_whole` says that a line end follows.
    """

    offset: int
    length: int
    data: bytes | None
    is_whole: bool
    place: Place = ""
    object: dict[str, Any] | None = None

    def value(self, reads: Collection[Place] = ALONE) -> dict[str, Any] | None:
        """The object as read by an agent that accepts these places; None where there is none."""
        return self.object if self.place in reads else None


def lines_from(file: BinaryIO, offset: int) -> Iterator[Line]:
    """The lines from this offset on, without blank ones; a line with several objects gives a line for each."""
    file.seek(offset)
    while data := file.readline(LONGEST + 1):
        ended = data.endswith(b"\n")
        if len(data) > LONGEST and not ended:
            line = _long_line(file, offset, data)
            yield line
            offset += line.length + line.is_whole
            continue
        if data.strip():
            yield from parts_of(data.rstrip(b"\r\n"), offset, is_whole=ended)
        offset += len(data)


def parts_of(data: bytes, offset: int = 0, *, is_whole: bool = True) -> Iterator[Line]:
    """A line that is not blank, or its parts."""
    start = len(MARK) if offset == 0 and data.startswith(MARK) else 0
    value, rest, is_cut = _first(data[start:], _STRICT)
    if value is not None and not rest.strip(BLANKS):
        yield Line(offset, len(data), data, is_whole, "cut" if is_cut else "marked" if start else "alone", value)
        return
    objects: list[tuple[int, Place, dict[str, Any] | None]] = [*_objects(data, start)]
    if not objects or data[start : objects[0][0]].strip():
        objects.insert(0, (0, "", None))
    begins = [0, *(begin for begin, _, _ in objects[1:])]
    for begin, until, (_, kind, object_) in zip(begins, [*begins[1:], len(data)], objects, strict=True):
        yield Line(offset + begin, until - begin, data[begin:until], is_whole, kind, object_)


def _long_line(file: BinaryIO, offset: int, data: bytes) -> Line:
    """A line that is too long, given its beginning."""
    cut, length, ended = CutLine(LONGEST), len(data), False
    cut.take(data)
    while not ended and (data := file.readline(BUFFER)):
        ended = data.endswith(b"\n")
        length += len(data)
        cut.take(data)
    value = cut.value()
    return Line(offset, length - ended, None, ended, "" if value is None else "cut", value)


def object_at(file: BinaryIO, offset: int, length: int) -> dict[str, Any] | None:
    """The object of a `Line` that was read there earlier; None where there is none now."""
    file.seek(offset)
    if length <= LONGEST:
        data = file.read(length)
        return _first(data.removeprefix(MARK) if offset == 0 else data, _SLOPPY)[0]
    cut = CutLine(LONGEST)
    while length > 0 and (data := file.read(min(length, BUFFER))):
        length -= len(data)
        cut.take(data)
    return cut.value()


# -- JSON --------------------------------------------------------------------------------------------------------------


def decoded(data: bytes) -> dict[str, Any] | None:
    """A JSON object with lone surrogates replaced, which no database and no encoder accepts; None for text that is no
    object, or is nested deeper than anything an agent writes.
    """
    value, rest, is_cut = _first(data, _STRICT)
    return None if is_cut or rest.strip(BLANKS) else value


def is_other_json(data: bytes | None) -> bool:
    """Whether a line is a JSON text that is not an object, and is true in JavaScript's sense."""
    if data is None or data.lstrip()[:1] in (b"{", b""):
        return False
    try:
        value = json.loads(data.decode("utf-8", "replace"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, (dict, list)) or bool(value)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _bounded(digits: str) -> int | None:
    """An integer; None where it has more digits than the 4,300 that Python reads."""
    return int(digits) if len(digits) <= 4_300 else None


_STRICT = json.JSONDecoder(parse_constant=_no_constant)
_STRICT_ON_DIGITS = json.JSONDecoder(parse_constant=_no_constant, parse_int=_bounded)
_SLOPPY = json.JSONDecoder(strict=False, parse_int=_bounded)  # accepts NaN, and control characters in texts


def _first(data: bytes, decoder: json.JSONDecoder) -> tuple[dict[str, Any] | None, str, bool]:
    """The object that a line begins with, None for none; the text after it; and whether parts of the
    object were cut.
    """
    text = data.decode("utf-8", "replace")
    start = len(text) - len(text.lstrip(BLANKS))
    try:
        value, end = decoder.raw_decode(text, start)
    except RecursionError:
        return _cut(data), "", True
    except json.JSONDecodeError:
        return None, "", False
    except ValueError:
        return _first(data, _STRICT_ON_DIGITS) if decoder is _STRICT else (None, "", False)
    if not isinstance(value, dict):
        return None, text[end:], False
    if text.count("[") + text.count("{") > DEEPEST and _is_deeper(value):
        return _cut(data), text[end:], True
    if "\\ud" in text or "\\uD" in text:
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value, text[end:], False


def _is_deeper(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        inside = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list)))
        level = [each for values in inside for each in values]
    return bool(level)


def _cut(data: bytes) -> dict[str, Any] | None:
    cut = CutLine(LONGEST)
    cut.take(data)
    return cut.value()


_OBJECT = re.compile(r'\{[ \t\r]*"[^"\\]{1,200}"[ \t\r]*:')
_END = re.compile(r"[ \t\r\0]*(?:\{|$)")  # after an object: nothing, or the next one
_TEXT = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def _objects(data: bytes, start: int) -> Iterator[tuple[int, Place, dict[str, Any]]]:
    """The objects in a line that is not one object, with the positions where they begin: the first, whatever follows
    it, and others that look like a record of an agent, which has a `type`, and are followed by the end of the line or
    another object.
    """
    text, at, spent = data.decode("latin-1"), start, 0  # latin-1: one character for each byte
    first = len(text) - len(text[start:].lstrip(BLANKS))
    while (begins := _OBJECT.search(text, at)) and spent <= TRIES * len(data):
        begin = begins.start()
        try:
            rough, end = _SLOPPY.raw_decode(text, begin)
        except json.JSONDecodeError as problem:
            spent, at = (
                spent + problem.pos - begin + problem.pos // 4,
                begin + 1,
            )  # the decoder counts lines before the position
            if text.startswith('"', problem.pos) and not _TEXT.match(text, problem.pos):
                text = text[: problem.pos]  # everything after the error lies inside this text
            continue
        except RecursionError:
            return
        at = end
        if begin == first and (value := _first(data[begin:end], _STRICT)[0]) is not None:
            yield begin, "first", value
        elif isinstance(rough.get("type"), str) and _END.match(text, end):
            value = _first(data[begin:end], _SLOPPY)[0]
            if value is not None:
                yield begin, "found", value
