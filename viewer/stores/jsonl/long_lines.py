"""Lines that are too long to be held in memory: their content, with long texts cut."""

from __future__ import annotations

import json
import re
from typing import Any

START = 1_000  # bytes that are kept of a text that is cut
DEEPEST = 100  # depth of nested lists and objects that is kept, because the code that reads a value is recursive
_CUT = "\0cut"  # the key of the size of a cut text, in the object that replaces it until decoding

_OUTSIDE = re.compile(rb'["\[\]{}]')
_INSIDE = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_WHOLE = re.compile(rb"(?:[^\\]|\\u[0-9a-fA-F]{4}|\\[^u])*")  # ends between characters, not within an escape


class CutText(str):
    """The part of a too long text that is shown, its start, or the replacement of a value that is nested too deep; it
    says so. `size` is the length of the text in bytes.
    """

    size: int


def is_cut(value: Any) -> bool:
    """Whether something in a value was too long to be read."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, CutText) or any(map(is_cut, inside))


class CutLine:
    """One JSON text that is taken piece by piece: of its long texts the start is kept, and nothing of values that are
    nested too deep. The kept part has at most about `most` bytes.
    """

    def __init__(self, most: int) -> None:
        self._most, self._kept, self._depth = most, bytearray(), 0
        self._text: bytearray | None = None  # the start of the text that the next piece continues
        self._size = self._longest = 0  # bytes of that text, and how many may be kept
        self._carried = b""  # a backslash whose character is in the next piece

    def take(self, piece: bytes) -> None:
        """Takes the next piece."""
        piece = self._carried + piece
        odd = (len(piece) - len(piece.rstrip(b"\\"))) % 2
        at, end = 0, len(piece) - odd
        self._carried = piece[end:]
        while at < end:
            at = self._outside(piece, at, end) if self._text is None else self._inside(self._text, piece, at, end)

    def value(self) -> dict[str, Any] | None:
        """The object of everything taken, None where there is none, or the kept part of it is still too long."""
        if len(self._kept) > self._most:
            return None
        text = self._kept.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
        try:
            if "\\ud" in text or "\\uD" in text:  # lone surrogates, which no encoding accepts
                value, _ = json.JSONDecoder().raw_decode(text)
                text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
            value, _ = json.JSONDecoder(object_hook=_with_cut_text).raw_decode(text)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def _outside(self, piece: bytes, at: int, end: int) -> int:
        """The position after the next sign that is not in a text."""
        match = _OUTSIDE.search(piece, at, end)
        self._keep(piece[at : match.start() if match else end])
        if match is None:
            return end
        sign = match[0]
        if sign == b'"':
            self._text, self._size = bytearray(), 0
            self._longest = self._most // 32 if len(self._kept) < self._most // 2 else START
        elif sign in b"[{":
            self._depth += 1
            if self._depth == DEEPEST + 1:
                self._kept += _cut(b"", 0)
            self._keep(sign)
        else:
            self._keep(sign)
            self._depth -= 1
        return match.end()

    def _inside(self, text: bytearray, piece: bytes, at: int, end: int) -> int:
        """The position after the text, or after the piece."""
        inside = _INSIDE.match(piece, at, end)
        until = inside.end() if inside else at
        self._size += until - at
        text += piece[at : min(until, at + self._longest - len(text))]
        if until < end:
            self._keep(b'"' + text + b'"' if self._size <= self._longest else _cut(text, self._size))
            self._text = None
        return until + 1

    def _keep(self, data: bytes | bytearray) -> None:
        if self._depth <= DEEPEST and len(self._kept) <= self._most:
            self._kept += data


def _cut(text: bytes | bytearray, size: int) -> bytes:
    """What replaces a text that is cut."""
    start = _WHOLE.match(bytes(text[:START]))
    return b'{%b:%d,"start":"%b"}' % (json.dumps(_CUT).encode(), size, start[0] if start else b"")


def _with_cut_text(value: dict[str, Any]) -> Any:
    if _CUT not in value:
        return value
    size = value[_CUT]
    text = CutText(f"{value['start']}\n[Too long to show: {size:,} bytes]" if size else "[Nested too deep to be shown]")
    text.size = size
    return text
