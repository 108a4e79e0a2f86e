"""Statements: the lines and sentences that are informative, their exact details, and what each belongs to.

Theory: an exact detail has a meaning only in its context. A bin number belongs to the warehouse in the heading above
it, a price to the flight on its line. So a text is cut into *lines* (a line, a table row, a list item, an object of
JSON), and text of people and the agent further into sentences. Every piece knows its *heading*: the last Markdown
heading or line that ends with a colon, the start of its JSON, and the arguments of the call that printed it. The values
of a piece are those in it and in its heading.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .. import messages as m
from ..details.names import Kind, is_of_program
from ..details.recognise import details_of
from ..details.values import UNIT, value_of
from ..folders import spelled_out
from ..handoff import flag_of, is_handoff, split
from ..messages import Message
from ..polite import is_notice, plain
from ..redaction import redact_all
from ..sections import MARKS
from ..stems import stems_of
from ..text.fences import open_behind
from .categories import Category

Source = Literal["person", "agent", "summary", "call", "tool"]
SOURCES: tuple[Source, ...] = ("person", "agent", "summary", "call", "tool")  # the most telling first

LONG_LINE = 1_000  # characters of a line that is still one piece; a longer one is cut into sentences
HEADING = 160  # characters of a line that may be a heading
_PARTS = re.compile(
    r"(?<=[.!?])(?<!\.\.\.)\s+(?=[^\W\d_]|[*`\"(])|(?<=[。！？])"  # noqa: RUF001  (what ends a sentence in Chinese)
)
_OBJECTS = re.compile(r"(?<=[}\]])\s*,\s*(?=[{\[])")
_INNER = re.compile(r"\[\s*\{")
HEADING_LINE = re.compile(r"(?:> ?)*#{1,6} |\*\*[^*]+\*\*:?$")
_NUMBERED = re.compile(r"#{1,6} \d{1,3}[.)]\s")  # "#### 1. The second part" is one piece
_MARKED = re.compile(rf"(?m)^([ \t]*[-*] )(?:{'|'.join(map(re.escape, MARKS))})+")  # "- [open] "
_LETTER = re.compile(r"\w")
_TIMES = ("ns", "us", "ms", "s", "min", "h")  # units of durations
SHORT_ID = 5  # characters: shorter ids are numbered separately in each context, such as seats, bins and list numbers


class Detail(NamedTuple):
    """One exact detail; `start` is its offset in the text."""

    kind: Kind
    text: str
    start: int
    value: str  # what makes it the same elsewhere: see `values`

    @property
    def is_local(self) -> bool:
        """Whether it has a meaning only next to what it belongs to: numbers, dates, versions and short ids."""
        return self.kind in ("number", "date", "version") or (self.kind == "id" and len(self.text) <= SHORT_ID)


@dataclass(slots=True)
class Statement:
    """A line or sentence of a message with its details. `heading` are the values of its headings, `above` is the text
    of the nearest one, "" if there is none; `is_code`: it is in a block of code.
    """

    text: str
    start: int
    details: tuple[Detail, ...]
    heading: frozenset[str]
    is_code: bool = False
    above: str = ""
    message: int = 0
    source: Source = "agent"
    category: Category = ""

    def values(self) -> frozenset[str]:
        """The values of its own details."""
        return frozenset(detail.value for detail in self.details)

    def rest(self) -> str:
        """Its text without its details."""
        ends = [0, *(detail.start - self.start + len(detail.text) for detail in self.details)]
        starts = [*(detail.start - self.start for detail in self.details), len(self.text)]
        return " ".join(self.text[end:start] for end, start in zip(ends, starts, strict=True))

    def stems(self) -> set[str]:
        """The beginnings of its words that are not details."""
        return stems_of(self.rest() if self.details else self.text)


def statements(
    text: str,
    origin: str,
    around: frozenset[str] = frozenset(),
    *,
    sentences: bool,
    every: bool = False,
    detailed: bool = True,
) -> Iterator[Statement]:
    """The pieces of a text that have a detail (with `every`, all pieces), in order. `around` are values that belong to
    all of them.

    Details are looked for only if `detailed`.
    """
    if origin in ("args", "tool") and "\n" in text and text[:1] in "{[":
        text = text.replace("\n", " ")  # an object on many lines is one piece
    recognised = details_of(text, origin) if detailed else ()
    details = [Detail(*each, value_of(each[0], each[1])) for each in recognised]
    starts = [detail.start for detail in details]
    for start, end, head, is_code in _pieces(text, sentences=sentences):
        own = details[bisect_left(starts, start) : bisect_left(starts, end)]
        if own or every:
            under = details[bisect_left(starts, head[0]) : bisect_left(starts, head[1])]
            piece = text[start:end]
            indent = len(piece) - len(piece.lstrip())
            heading = around | {detail.value for detail in under} if under else around
            above = " ".join(text[slice(*head)].strip(" #*:>").split())[:HEADING]
            yield Statement(piece.strip(), start + indent, tuple(own), heading, is_code, above)


_Piece = tuple[int, int, tuple[int, int], bool]  # start, end, those of its heading, whether it is code


def _pieces(text: str, *, sentences: bool) -> Iterator[_Piece]:
    at, head, fence = 0, (0, 0), ""
    for line in text.split("\n"):
        start, end = at, at + len(line)
        at = end + 1
        stripped = line.strip()
        if fence or (sentences and stripped.startswith(("```", "~~~"))):
            yield start, end, head, True
            fence = open_behind((stripped,), fence)
            continue
        if not stripped:
            head = head if text.startswith(("#", "*"), head[0]) else (0, 0)  # a label ends with its block
        elif stripped[0] in "{[" and len(line) > HEADING:
            yield from _objects(text, start, end, head)
        elif (sentences and not _NUMBERED.match(stripped)) or len(line) > LONG_LINE:
            yield from ((a, b, head, False) for a, b in _cut(text, start, end, _PARTS))
        else:
            yield start, end, head, False
        if len(stripped) <= HEADING and (HEADING_LINE.match(stripped) or stripped.endswith((":", "："))):  # noqa: RUF001
            head = (start, end)


def _objects(text: str, start: int, end: int, head: tuple[int, int]) -> Iterator[_Piece]:
    """The objects of a line of JSON; the text before the first list of objects is their heading."""
    inner = _INNER.search(text, start, end)
    if inner is None:
        yield start, end, head, False
        return
    if inner.start() > start:
        yield start, inner.start(), head, False
        head = (start, inner.start())
    yield from ((a, b, head, False) for a, b in _cut(text, inner.start(), end, _OBJECTS))


def _cut(text: str, start: int, end: int, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    for match in pattern.finditer(text, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


def is_worth_naming(kind: Kind, text: str) -> bool:
    """Whether somebody may ask for a detail on its own: a number with a unit that is not a duration, not a program's
    id.
    """
    if kind == "number":
        _, _, unit = value_of(kind, text).partition(UNIT)
        return bool(unit) and unit not in _TIMES
    return not (kind in ("id", "name") and is_of_program(text))


def is_capital(detail: Detail, line: Statement) -> bool:
    """Whether a name is recognised only by a capital that means nothing here: the first word of a sentence or label, or
    words of a heading. Scripts without capitals have no such names.
    """
    if detail.kind != "name" or not detail.text[0].isupper():
        return False
    if HEADING_LINE.match(line.text):
        return detail.text.istitle()
    before = line.text[: max(detail.start - line.start, 0)]
    return detail.text.isalpha() and not _LETTER.search(before)


# --- the texts of messages ---
LONGEST_CALL = 2_000  # characters of a call's arguments whose details are headings of its output
_ORIGINS = {"person": "user", "agent": "assistant", "summary": "assistant", "call": "args", "tool": "tool"}


@dataclass(slots=True)
class Passage:
    """One text of a message: its words, one call or one result. `around` are the values of its call."""

    text: str
    source: Source
    message: int
    around: frozenset[str] = frozenset()

    @property
    def origin(self) -> str:
        """The recogniser's name for the source."""
        return _ORIGINS[self.source]


def of_summary(text: str, message: int) -> Passage:
    """An earlier summary, without the marks before its lines."""
    return Passage(_MARKED.sub(r"\1", text), "summary", message)


def passages(messages: Sequence[Message], which: Container[int] | None = None, *, live: bool) -> list[Passage]:
    """The texts of messages (all, or those at the indices in `which`), without system prompts.

    With `live`, text written by a compaction is left out. All are without credentials, except tools' output with
    `live`: that is long, and `_shown` redacts the few lines that are shown.
    """
    result: list[Passage] = []
    called: dict[str, str] = {}
    for at, message in enumerate(messages):
        for call in m.calls(message):
            called.update(dict.fromkeys(call.ids, call.arguments[:LONGEST_CALL]))
        if (which is None or at in which) and not m.is_system(message):
            result += _of_message(message, at, called, live)
    shown = [each for each in result if each.source != "tool" or not live]
    for each, text in zip(shown, redact_all([each.text for each in shown]), strict=True):
        each.text = text
    return result


def _of_message(message: Message, at: int, called: dict[str, str], live: bool) -> Iterator[Passage]:
    for id_, text in m.results(message):
        yield Passage(text, "tool", at, around=_values(called.get(id_, "")) if text and not live else frozenset())
    if m.role(message) not in m.RESULT_ROLES:
        typed = m.is_typed(message)
        words = m.words(message)
        if m.role(message) == "user" and (not typed or is_notice(words)):
            yield Passage(words, "tool", at)
        elif words:
            yield Passage(plain(words) if typed else words, "person" if typed else "agent", at)
        if not live and is_handoff(message):
            parts = split(m.body(message), flag_of(message))
            yield from (of_summary(spelled_out(part.text), at) for part in parts if part.kind == "summary")
    yield from (Passage(call.arguments, "call", at) for call in m.calls(message))


def _values(arguments: str) -> frozenset[str]:
    pieces = statements(arguments, "args", sentences=False) if arguments else ()
    return frozenset(value for piece in pieces for value in piece.values())
