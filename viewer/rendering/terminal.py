"""Terminal output as a person saw it: with colours, and with progress bars and redrawn lines in their last state.

A small part of a terminal (ECMA-48): SGR colours and styles, carriage return, cursor up and down, erasing lines and
screens. All other control sequences are left out; none ever reaches a page.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

from django.utils.safestring import SafeString, mark_safe

from .texts import visible

SCANNED = 200_000  # characters of an output that are interpreted; its last state counts
RUNS = 1_500  # changes of style that are shown at once
COLOURS = ("", "r", "g", "y", "u", "m", "c", "")  # classes by SGR number; black and white are the page's own ink
_STEP = re.compile(
    r"\x1b\[(?P<arguments>[0-?]*)[ -/]*(?P<final>[@-~])?"  # a control sequence, or an incomplete one
    r"|\x1b\][^\x07\x1b]{0,8192}(?:\x07|\x1b\\)?"  # a window title, a link
    r"|\x1b[PX^_][^\x1b]{0,8192}(?:\x1b\\)?"  # strings for devices
    r"|\x1b[ -/]*[0-~]?"
    r"|(?P<move>\r\n|\r|\n)"
)
Run = tuple[str, str]  # classes, text


@dataclass(slots=True)
class _Style:
    colour: str = ""
    behind: str = ""
    marks: set[str] = field(default_factory=set)

    @property
    def classes(self) -> str:
        """The CSS classes. Text on a coloured background gets that colour itself, in bold: readable in both themes."""
        if self.behind:
            return f"{self.behind} b"
        return " ".join([self.colour, *sorted(self.marks)] if self.colour else sorted(self.marks))


@dataclass(slots=True)
class _Screen:
    """Lines written so far; `fresh`: the next text replaces the line at `row`."""

    lines: list[list[Run]] = field(default_factory=lambda: [[]])
    row: int = 0
    fresh: bool = False

    def write(self, classes: str, text: str) -> None:
        if self.fresh:
            self.lines[self.row] = []
            self.fresh = False
        line = self.lines[self.row]
        if line and line[-1][0] == classes:
            line[-1] = (classes, line[-1][1] + text)
        else:
            line.append((classes, text))

    def down(self, rows: int) -> None:
        self.row = max(0, min(self.row + rows, len(self.lines) - 1))
        self.fresh = True

    def newline(self) -> None:
        self.row += 1
        self.fresh = self.row < len(self.lines)
        if not self.fresh:
            self.lines.append([])

    def erase(self) -> None:
        self.lines[self.row] = []
        self.fresh = False


def is_terminal(text: str) -> bool:
    """Whether a text has control sequences that only a terminal interprets."""
    return "\x1b" in text or "\r" in text.replace("\r\n", "")


def played(text: str) -> list[list[Run]]:
    """The lines on the screen at the end, each as runs of (classes, text)."""
    screen, style, at = _Screen(), _Style(), 0
    text = text[:SCANNED]
    for step in _STEP.finditer(text):
        if step.start() > at:
            screen.write(style.classes, text[at : step.start()])
        at = step.end()
        _play(step, screen, style)
    if at < len(text):
        screen.write(style.classes, text[at:])
    return screen.lines


def started(lines: list[list[Run]], limit: int) -> tuple[list[list[Run]], bool]:
    """The first lines, about `limit` characters and at most `RUNS` changes of style; and whether
    something was cut off.
    """
    length = runs = 0
    for at, line in enumerate(lines):
        room = limit - length
        length += 1 + sum(len(text) for _, text in line)
        runs += len(line)
        if length > limit * 1.1 or runs > RUNS:
            return [*lines[:at], _cut(line, max(room, 0))], True
    return lines, False


def _cut(line: list[Run], room: int) -> list[Run]:
    kept: list[Run] = []
    for classes, text in line[:RUNS]:
        if room <= 0:
            break
        kept.append((classes, text[:room]))
        room -= len(text)
    return kept


def _play(step: re.Match[str], screen: _Screen, style: _Style) -> None:
    move, final = step["move"], step["final"]
    if move == "\r":
        screen.fresh = True
    elif move:
        screen.newline()
    elif final == "m":
        _restyle(style, step["arguments"])
    elif final in ("A", "F"):
        screen.down(-_number(step["arguments"]))
    elif final in ("B", "E"):
        screen.down(_number(step["arguments"]))
    elif final == "K" and step["arguments"] in ("1", "2"):
        screen.erase()


def _number(arguments: str) -> int:
    return min(int(arguments), 10_000) if arguments.isascii() and arguments.isdigit() and len(arguments) < 6 else 1


# -- colours ---------------------------------------------------------------------------------------------------------

_MARKS = {1: "b", 2: "d", 3: "i", 4: "l"}
_ENDS = {22: ("b", "d"), 23: ("i",), 24: ("l",)}


def _restyle(style: _Style, arguments: str) -> None:
    codes = [
        int(code) if code.isascii() and code.isdigit() and len(code) < 4 else 0 for code in arguments[:80].split(";")
    ]
    at = 0
    while at < len(codes):
        code = codes[at]
        if code in (38, 48):
            colour, used = _wide(codes[at + 1 :])
            style.colour, style.behind = (colour, style.behind) if code == 38 else (style.colour, colour)
            at += used
        else:
            _apply(style, code)
        at += 1


def _apply(style: _Style, code: int) -> None:
    if code == 0:
        style.colour, style.behind = "", ""
        style.marks.clear()
    elif code in _MARKS:
        style.marks.add(_MARKS[code])
    elif code in _ENDS:
        style.marks.difference_update(_ENDS[code])
    elif 30 <= code <= 37 or 90 <= code <= 97:
        style.colour = "d" if code == 90 else COLOURS[code % 10]
    elif 40 <= code <= 47 or 100 <= code <= 107:
        style.behind = COLOURS[code % 10]
    elif code == 39:
        style.colour = ""
    elif code == 49:
        style.behind = ""


def _wide(rest: list[int]) -> tuple[str, int]:
    """The class nearest to a colour of 256 (`5;n`) or of 16 million (`2;r;g;b`), and how many codes it used."""
    if rest[:1] == [5] and len(rest) > 1:
        code = rest[1]
        if code < 16:
            return COLOURS[code % 8], 2
        if code < 232:
            return _nearest((code - 16) // 36 * 51, (code - 16) // 6 % 6 * 51, (code - 16) % 6 * 51), 2
        return "", 2
    if rest[:1] == [2] and len(rest) > 3:
        return _nearest(rest[1], rest[2], rest[3]), 4
    return "", len(rest)


def _nearest(red: int, green: int, blue: int) -> str:
    low, high = min(red, green, blue), max(red, green, blue)
    if high - low < 48:
        return ""
    middle = (low + high) // 2
    return COLOURS[(red > middle) + 2 * (green > middle) + 4 * (blue > middle)]


# -- HTML ------------------------------------------------------------------------------------------------------------


def as_html(lines: list[list[Run]]) -> SafeString:
    """Played lines, escaped, with a span for each run that has a colour or a style."""
    return mark_safe("\n".join("".join(map(_run, line)) for line in lines))  # noqa: S308  every run is escaped


def _run(run: Run) -> str:
    classes, text = run
    shown = html.escape(visible(text), quote=False)
    return f'<span class="{classes}">{shown}</span>' if classes else shown
