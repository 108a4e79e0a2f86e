"""The lines of a file, by offset: what they say, also where a crash, a full disk or another program damaged them.

A line that is a JSON object and nothing else is read by every agent. Of any other they make different things, so that
each `Line` says how its object stands in there (`Place`), and a kind of store names the places that its agent reads; an
object that the agent does not read is still there to be shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, NoReturn

from .long_lines import DEEPEST, CutLine

LONGEST = 32_000_000  # bytes of a line that are read as they are; of a longer one the long texts are cut
BUFFER = 1 << 20
TRIES = 8  # times the length of a line that may be looked through for the objects in it

BLANKS = " \t\r\n"  # that may stand around a JSON text
MARK = b"\xef\xbb\xbf"  # the byte order mark that programs for Windows write in front of a file

# How an object stands in its line: alone; alone, but for a byte order mark in front of the file; alone in a line that
# is too long or nested too deep, so that parts of it are `CutText`; first, with something else behind it (NUL bytes,
# another object, half a one); or only to be found there: behind something else, or not quite JSON. "" is a line without
# an object.
Place = Literal["", "alone", "marked", "cut", "first", "found"]
ALONE: tuple[Place, ...] = ("alone",)
# A last line without an end, which may yet be written on, is one all the same where its object is in such a place.
FINISHED: tuple[Place, ...] = ("alone", "marked", "cut", "first")


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end, or the part of one that has an object of its own. `data` is None for one that is too
    long; `is_whole` says that a line end follows.
    """

    offset: int
    length: int
    data: bytes | None
    is_whole: bool
    place: Place = ""
    object: dict[str, Any] | None = None

    def value(self, reads: Collection[Place] = ALONE) -> dict[str, Any] | None:
        """The object that an agent reads here who reads objects in these places; None for none."""
        return self.object if self.place in reads else None


def lines_from(file: BinaryIO, offset: int) -> Iterator[Line]:
    """The lines from this offset on, blank ones left out; of one with several objects each is a line of its own."""
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
    """A line that is not blank, or the parts of it."""
    start = len(MARK) if offset == 0 and data.startswith(MARK) else 0
    value, rest, is_cut = _first(data[start:], _STRICT)
    if value is not None and not rest.strip(BLANKS):
        yield Line(offset, len(data), data, is_whole, "cut" if is_cut else "marked" if start else "alone", value)
        return
    found: list[tuple[int, Place, dict[str, Any] | None]] = [*_objects(data, start)]
    if not found or data[start : found[0][0]].strip():
        found.insert(0, (0, "", None))
    begins = [0, *(begin for begin, _, _ in found[1:])]
    for begin, until, (_, place, each) in zip(begins, [*begins[1:], len(data)], found, strict=True):
        yield Line(offset + begin, until - begin, data[begin:until], is_whole, place, each)


def _long_line(file: BinaryIO, offset: int, data: bytes) -> Line:
    """A line that is too long, of which this is the beginning."""
    cut, length, ended = CutLine(LONGEST), len(data), False
    cut.take(data)
    while not ended and (data := file.readline(BUFFER)):
        ended = data.endswith(b"\n")
        length += len(data)
        cut.take(data)
    value = cut.value()
    return Line(offset, length - ended, None, ended, "" if value is None else "cut", value)


def object_at(file: BinaryIO, offset: int, length: int) -> dict[str, Any] | None:
    """The object of a `Line` that was read there before; None where there is none by now."""
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
    """A JSON object, lone surrogates replaced, which no database and no encoder takes; None for what is none, or is
    deeper than anything an agent writes.
    """
    value, rest, is_cut = _first(data, _STRICT)
    return None if is_cut or rest.strip(BLANKS) else value


def is_other_json(data: bytes | None) -> bool:
    """Whether a line is a JSON text that is no object, and counts as something where programs ask for that."""
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
    """A whole number, of which Python reads at most 4,300 digits."""
    return int(digits) if len(digits) <= 4_300 else None


_STRICT = json.JSONDecoder(parse_constant=_no_constant)
_STRICT_ON_DIGITS = json.JSONDecoder(parse_constant=_no_constant, parse_int=_bounded)
_SLOPPY = json.JSONDecoder(strict=False, parse_int=_bounded)  # takes NaN, and control characters in texts


def _first(data: bytes, decoder: json.JSONDecoder) -> tuple[dict[str, Any] | None, str, bool]:
    """The object that a line begins with, None for none; what stands behind it; and whether parts of it were cut."""
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
_END = re.compile(r"[ \t\r\0]*(?:\{|$)")  # behind an object: nothing, or the next one
_TEXT = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def _objects(data: bytes, start: int) -> Iterator[tuple[int, Place, dict[str, Any]]]:
    """The objects in a line that is not one object, with the places where they begin: the first, whatever is behind it,
    and others that look like a record of an agent, which has a `type`, and that the line or another object ends.
    """
    text, at, spent = data.decode("latin-1"), start, 0  # a character for each byte
    first = len(text) - len(text[start:].lstrip(BLANKS))
    while (begins := _OBJECT.search(text, at)) and spent <= TRIES * len(data):
        begin = begins.start()
        try:
            rough, end = _SLOPPY.raw_decode(text, begin)
        except json.JSONDecodeError as problem:
            spent, at = spent + problem.pos - begin + problem.pos // 4, begin + 1  # it counts lines before the place
            if text.startswith('"', problem.pos) and not _TEXT.match(text, problem.pos):
                text = text[: problem.pos]  # all that stands behind is within this text
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
