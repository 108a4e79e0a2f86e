"""The lines that remain in the context after a compaction, and which of them hold a value."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain, islice

from ..details.names import Kind, names_of, words_of
from ..details.values import day_of, is_spelled, without_unit
from ..sentences import sentences
from ..stems import stems_of
from .statements import Detail, Passage, Statement, statements

THOROUGH = 300_000  # characters, the newest, of what was said and called, and again of what is left, that are read
# for details of every kind; what is beyond, and all that tools printed, is looked through for names inside words
TOKEN = re.compile(r"[^\W_\u3040-\U0010ffff]+")  # of scripts that set spaces
_SPACE = re.compile(r"\s{2,}|[^\S ]")  # what " ".join(text.split()) changes
_SPACED = re.compile(r"[\s()/-]+")  # what people put into phone and account numbers


def thorough(passages: Sequence[Passage], most: int) -> set[int]:
    """Which of the passages are read for every kind of detail: the newest that fit."""
    chosen: set[int] = set()
    for n in range(len(passages) - 1, -1, -1):
        most -= len(passages[n].text)
        if most < 0:
            break
        chosen.add(n)
    return chosen


_NONE: set[int] = set()
_LOOKED_AT = 500  # sentences with a word of a statement: where more have its rarest words, the words are no sign of it


class RemainingLines:
    """The lines that remain in the context, and which of them hold a value."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.lines: list[Statement] = []
        self.own: dict[str, set[int]] = {}
        self.under: dict[str, set[int]] = {}
        self.measured: dict[str, set[int]] = {}  # of numbers with a unit and dates with a year, without it
        self.names = {name.lower() for each in passages for word in words_of(each.text) for _, name in names_of(word)}
        for n in sorted(thorough(passages, THOROUGH)):
            self._read(passages[n])
        texts = [line.text.lower() for line in self.lines]
        self.starts = [0, *accumulate(len(text) + 1 for text in texts)]
        self.text = "\n".join(texts)
        # Without a list of all words: of a text of ten megabytes it takes ten times as much memory.
        spoken, printed = (
            " ".join(
                _SPACE.sub(" ", each.text.lower()).strip() for each in passages if (each.source == "tool") is by_tools
            )
            for by_tools in (False, True)
        )
        self.spoken, self.flat = spoken, f"{spoken}\n{printed}"
        self.tokens = {token[0] for token in TOKEN.finditer(self.flat)}
        self._lines_with: dict[str, set[int]] = {}
        self._stems: list[set[str]] = []  # the beginnings of the words of every sentence
        self._of_line: list[int] = []  # the line it is from
        self._by_stem: dict[str, set[int]] = {}
        for n, line in enumerate(self.lines):
            for sentence in sentences(line.text):
                for stem in (stems := stems_of(sentence)):
                    self._by_stem.setdefault(stem, set()).add(len(self._stems))
                self._stems.append(stems)
                self._of_line.append(n)

    def _read(self, passage: Passage) -> None:
        for line in statements(passage.text, passage.origin, passage.around, sentences=False, every=True):
            values = line.values()
            for value in values | {day for each in values if (day := day_of(each))}:
                self.own.setdefault(value, set()).add(len(self.lines))
                if (bare := without_unit(value)) != value:
                    self.measured.setdefault(bare, set()).add(len(self.lines))
            for value in line.heading:
                self.under.setdefault(value, set()).add(len(self.lines))
            self.lines.append(line)

    def holds(self, kind: Kind, text: str, value: str) -> bool:
        """Whether the text occurs anywhere as a whole: numbers and dates in any spelling, phone and account numbers
        with any spacing.
        """
        if kind in ("number", "date", "version"):
            return bool(self.saying(value)) or bool(self.places(text))
        if kind in ("phone", "account") and _SPACED.sub("", text.lower()) in self.unspaced:
            return True
        return text.lower() in self.names or bool(self.places(text))

    def says(self, line: Statement) -> bool:
        """Whether one line has all details of a statement, has its heading or is under it, and has half of its other
        words. For a statement without details: whether one sentence has more than half of its words.
        """
        lines: set[int] | None = None
        for detail in sorted(line.details, key=lambda each: not each.is_local):
            lines = self.with_detail(detail) if lines is None else lines & self.with_detail(detail)
            if not lines:
                return False
        stems = line.stems()
        if lines is not None:
            most = (len(stems) + 1) // 2
            return any(len(stems & stems_of(self.lines[n].text)) >= most for n in self.below(lines, line.heading))
        most = len(stems) // 2 + 1 if stems else 0
        # Of any words that are more than half of all, one is among as many as the others and one more.
        rarest = sorted((self._by_stem.get(stem, _NONE) for stem in stems), key=len)[: len(stems) - most + 1]
        return any(
            len(stems & self._stems[n]) >= most and self.below({self._of_line[n]}, line.heading)
            for n in islice(chain.from_iterable(rarest), _LOOKED_AT)
        )

    @cached_property
    def unspaced(self) -> str:
        """All remaining text without the characters that people put into phone and account numbers."""
        return _SPACED.sub("", self.flat)

    def has_text(self, text: str, *, printed: bool) -> bool:
        """Whether a line occurs in what was said and called, or anywhere (`printed`), whatever its line breaks."""
        text = " ".join(text.lower().split())
        if not self.tokens.issuperset(TOKEN.findall(text)):
            return False
        return next(occurrences(text, self.flat if printed else self.spoken), -1) >= 0

    def places(self, text: str) -> set[int]:
        """The lines in which a text occurs as a whole."""
        text = " ".join(text.lower().split())
        if text not in self._lines_with:
            self._lines_with[text] = set(self._places(text)) if self.tokens.issuperset(TOKEN.findall(text)) else set()
        return self._lines_with[text]

    def _places(self, text: str) -> Iterator[int]:
        at = next(occurrences(text, self.text), -1)
        while at >= 0:
            line = bisect_right(self.starts, at) - 1
            yield line
            at = next(occurrences(text, self.text, self.starts[line + 1]), -1)

    def saying(self, value: str) -> set[int]:
        """The lines that have a value. A number with a unit, or a date with a year, is also found in lines without unit
        or year.
        """
        bare = without_unit(value)
        others = self.own if bare != value else self.measured
        return self.own.get(value, set()) | others.get(bare, set())

    def with_detail(self, detail: Detail) -> set[int]:
        """The lines that have a detail."""
        return self.saying(detail.value) if detail.is_local else self.places(detail.text)

    def with_value(self, value: str) -> set[int]:
        """The lines that have a value or are under it."""
        return self.saying(value) | self.under.get(value, set()) | self.places_of_name(value)

    def places_of_name(self, value: str) -> set[int]:
        """The lines with a value that is neither number nor date."""
        return self.places(value) if is_spelled(value) else set()

    def below(self, lines: set[int], heading: Iterable[str]) -> set[int]:
        """Those of the lines that have all values of a heading, or are under it."""
        for value in heading:
            lines = lines & self.with_value(value) if lines else lines
        return lines


def occurrences(text: str, within: str, start: int = 0) -> Iterator[int]:
    """Positions from `start` on where a text occurs as a whole: not inside a longer word and, if it is a dotted or
    snake_case name, not inside a longer name ("main.py" in "main.py.bak").
    """
    dots, snake = "." in text or "/" in text, "_" in text
    at = within.find(text, start)
    while at >= 0:
        end = at + len(text)
        before, behind = within[at - 1 : at], within[end : end + 1]
        in_word = _joins(before) and _joins(text[0]) or _joins(behind) and _joins(text[-1])
        in_name = snake and "_" in (before, behind) or dots and behind == "." and within[end + 1 : end + 2].isalnum()
        if not in_word and not in_name:
            yield at
        at = within.find(text, at + 1)


def _joins(letter: str) -> bool:
    """Whether a letter next to a text makes the text part of a longer word; letters of scripts
    without spaces do not.
    """
    return letter.isalnum() and letter < "\u3040"
