"""Survival of exact details: which of those in messages that leave the context are still in it, and where.

Theory: three things are distinguished.
- *Details* that people and the agent said, and that calls were made with. One is a string and what it belongs to. A
  path, a name, a long id mean the same wherever they stand: one that stands anywhere is kept. Numbers, dates, versions
  and short ids (`SHORT_ID`) belong to the heading they stand under and to the names on their line: where the transcript
  has the string in several such places, a line that is left keeps it only for the place it speaks of (all of the
  heading, and one of the names); where it has it in one, any mention keeps it, of a bare number under 100 one beside a
  word of its line.
- *Statements*: the lines and sentences those details stand in, but greetings and thanks. One is kept if a single line
  that is left has all its details and all of its heading, and some of its other words.
- Details that *tools merely printed* are strings, counted apart: they are many, and a tool can print them again.
Survival of text is an upper bound on what a model makes of it, and what is phrased anew counts as lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest

from . import messages as m
from .anchors import LONGEST_LINE, Anchor, Counts, Survival, commands_of
from .applying import Result
from .courtesy import is_courtesy, rank
from .left import THOROUGH, RemainingLines, thorough
from .messages import Message, patched
from .names import Kind, names_of, words_of
from .passages import Passage, passages
from .planning import Plan
from .redaction import redact
from .sentences import TROUBLE_WORDS, error_line, holding, is_binding, pasted_error, sentences
from .statements import SOURCES, Detail, Statement, statements, stems_of
from .tool_groups import repairs
from .values import value_of, without_unit

NAMES_OF_A_LINE = 8  # names on a line that a number may belong to: the first
SHARED_WORDS = 3  # words that a line shares with the statement it keeps: half of them, at most so many
PRINTED_SHOWN = 2_000  # lost details that tools printed which are named; the others are counted
Key = tuple[frozenset[str], frozenset[str]]  # the heading a value stands under, the names on its line
_NOWHERE: Key = (frozenset(), frozenset())
_RANK = {"constraint": 0, "error": 0, "command": 0, "date": 2, "version": 2, "number": 3}  # of others 1
_SMALL = re.compile(r"-?\d{1,2}")  # a number that many lines have by chance: one must speak of the same to keep it


# --- what was there --------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class _DetailPlace:
    """One detail of one place, as it stood first."""

    detail: Detail
    line: Statement
    key: Key


class Leaving:
    """The details and statements of what leaves the context."""

    def __init__(self) -> None:
        self.anchors: dict[tuple[Kind, str], Anchor] = {}  # lines that are details themselves, names in older talk
        self.printed: dict[tuple[Kind, str], int] = {}  # what tools printed, and the message where it stands first
        self.details: dict[tuple[Kind, str], _DetailPlace] = {}
        self.local: dict[tuple[Kind, str], dict[Key, _DetailPlace]] = {}
        self.statements: dict[tuple[str, frozenset[str]], Statement] = {}
        self.words: set[str] = set()  # those that were looked at
        self.troubled: set[str] = set()  # of them those that a line that reports trouble may have

    def read(self, found: Sequence[Passage]) -> None:
        spoken = [each for each in found if each.source != "tool"]
        newest = thorough(spoken, THOROUGH)
        for n, passage in enumerate(spoken):
            self._sentences(passage)
            if n in newest:
                self._spoken(passage)
            else:
                self._named(passage)
        self._join_numbers()
        self.words = set()  # what is beyond the thorough part of the talk may be printed as well
        for passage in found:
            if passage.source == "tool":
                self._printed(passage)

    def _spoken(self, passage: Passage) -> None:
        said = passage.source != "call"
        for line in statements(passage.text, passage.origin, passage.around, sentences=said):
            line.message, line.source = passage.message, passage.source
            names = [each.value for each in line.details if not each.is_local][:NAMES_OF_A_LINE]
            for detail in line.details:
                if detail.is_local:
                    value = frozenset({detail.value})
                    key = (line.heading - value, frozenset(names) - value)
                    places = self.local.setdefault((detail.kind, detail.value), {})
                    places.setdefault(key, _DetailPlace(detail, line, key))
                else:
                    self.details.setdefault((detail.kind, detail.value), _DetailPlace(detail, line, _NOWHERE))
            if said and not is_courtesy(line):
                self.statements.setdefault((" ".join(line.text.split()), line.heading), line)

    def _join_numbers(self) -> None:
        """A number without a unit is the one that has one elsewhere, where there is one such: "amount": 39 and $39. So
        is a day without a year.
        """
        units: dict[tuple[Kind, str], list[str]] = {}
        for kind, value in self.local:
            if (bare := without_unit(value)) != value:
                units.setdefault((kind, bare), []).append(value)
        for (kind, bare), values in units.items():
            if len(values) == 1:
                for key, place in self.local.pop((kind, bare), {}).items():
                    self.local[kind, values[0]].setdefault(key, place)

    def _sentences(self, passage: Passage) -> None:
        """Lines that are details themselves: constraints people typed, errors somebody pasted, commands of calls."""
        if passage.source == "call":
            for command in commands_of(passage.text):
                self._line("command", redact(command), passage)
            return
        if line := pasted_error(passage.text):
            self._line("error", line, passage)
        if passage.typed:
            for sentence in sentences(passage.text):
                if is_binding(sentence):
                    self._line("constraint", sentence, passage)

    def _line(self, kind: Kind, text: str, passage: Passage) -> None:
        text = text[:LONGEST_LINE]
        anchor = Anchor(kind, text, passage.message, max(passage.text.find(text), 0), text, passage.source)
        self.anchors.setdefault((kind, text), anchor)

    def _named(self, passage: Passage) -> None:
        """Names inside words alone, of talk that is too old to be read thoroughly."""
        for word in self._new_words(words_of(passage.text)):
            for kind, name in names_of(word):
                anchor = Anchor(kind, name, passage.message, passage.text.find(name), "", passage.source)
                self.anchors.setdefault((kind, name), anchor)

    def _printed(self, passage: Passage) -> None:
        """Names inside words of what a tool printed, and a line that reports trouble."""
        words = words_of(passage.text)
        new = self._new_words(words)
        self.troubled.update(word for word, holds in zip(new, holding(new, TROUBLE_WORDS), strict=True) if holds)
        if not self.troubled.isdisjoint(words) and (line := error_line(passage.text)[:LONGEST_LINE]):
            self.printed.setdefault(("error", line), passage.message)
        for word in new:
            for name in names_of(word):
                self.printed.setdefault(name, passage.message)

    def _new_words(self, words: Iterable[str]) -> list[str]:
        """Those of the words that were not looked at before."""
        new = [word for word in words if word not in self.words]
        self.words.update(new)
        return new


# --- both together ---------------------------------------------------------------------------------------------------
def survival_of(
    messages: Sequence[Message],
    which: Container[int] | None,
    left: Sequence[Message],
    earlier: Iterable[tuple[int, str]] = (),
    *,
    printed: bool = True,
) -> Survival:
    """Which details of messages (all, or those at the indices in `which`) are in those that are `left`.

    `earlier` are the texts of summaries that go with them, each with the index of the message it is from. Without
    `printed` what tools merely printed is not counted, which costs less.
    """
    leaving = Leaving()
    before = [Passage(text, "summary", at) for at, text in earlier if text]
    texts = before + passages(messages, which, live=True, printed=printed)
    leaving.read(texts)
    stay = RemainingLines(passages(left, live=False))
    said = [*_said(leaving, stay)]
    lost = [anchor for anchor, kept in said if not kept]
    printed_counts, printed_lost = _printed(leaving, stay)
    gone = [line for line in leaving.statements.values() if not _is_kept(line, stay)]
    return Survival(
        by_kind=_counts((anchor.kind, kept) for anchor, kept in said),
        lost=tuple(sorted(lost, key=_weight)),
        printed=printed_counts,
        lost_printed=tuple(_shown(printed_lost, texts)),
        statements=(len(leaving.statements) - len(gone), len(leaving.statements)),
        lost_statements=tuple(map(_stated, sorted(gone, key=lambda each: (rank(each), -each.message)))),
    )


def _said(found: Leaving, stay: RemainingLines) -> Iterator[tuple[Anchor, bool]]:
    """The details that were said and called, and whether each is kept."""
    for anchor in found.anchors.values():
        yield anchor, stay.stands(anchor.text) if anchor.line else stay.holds(anchor.kind, anchor.text)
    for place in found.details.values():
        yield _anchor(place), stay.holds(place.detail.kind, place.detail.text)
    for (_, value), places in found.local.items():
        yield from ((_anchor(place), kept) for place, kept in _local(value, places, stay))


def _printed(found: Leaving, stay: RemainingLines) -> tuple[Counts, list[Anchor]]:
    """What tools merely printed: the counts, and the first of those that are lost."""
    known = {(kind, text.lower()) for kind, text in (*found.anchors, *found.details, *found.local)}
    kept: list[tuple[Kind, bool]] = []
    lost: list[tuple[int, int, int, Kind, str]] = []  # in the order in which they are named
    for at, ((kind, text), message) in enumerate(found.printed.items()):
        value = value_of(kind, text) if kind in ("number", "date") else text.lower()
        if (kind, value) not in known:
            stands = stay.stands(text) if kind == "error" else text.lower() in stay.names
            stands = stands or (kind == "date" and bool(stay.saying(value)))
            kept.append((kind, stands))
            if not stands:
                lost.append((_RANK.get(kind, 1), -message, at, kind, text))
    first = nsmallest(PRINTED_SHOWN, reversed(lost))  # from the newest on few have to be put in between
    return _counts(kept), [Anchor(kind, text, -newest, source="tool") for _, newest, _, kind, text in first]


def _counts(kinds: Iterable[tuple[Kind, bool]]) -> Counts:
    """(Survived, all) by kind."""
    counted = Counter(kinds)
    return {kind: (counted[kind, True], counted[kind, True] + counted[kind, False]) for kind, _ in counted}


def _shown(lost: Sequence[Anchor], texts: Sequence[Passage]) -> Iterator[Anchor]:
    """Lost details that tools printed, each with its line; what belongs to a credential is left out."""
    wanted = {anchor.message for anchor in lost}
    by_message: dict[int, list[str]] = {}
    for each in texts:
        if each.source == "tool" and each.message in wanted:
            by_message.setdefault(each.message, []).append(each.text)
    clean = {at: redact("\n".join(pieces)) for at, pieces in by_message.items()}
    for anchor in lost:
        text = clean[anchor.message]
        at = text.find(anchor.text)
        if anchor.kind == "error":
            line = redact(anchor.text)
            yield replace(anchor, text=line, line=line)
        elif at >= 0:
            start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            start = max(start, at - LONGEST_LINE // 2)
            yield replace(anchor, line=text[start : end if end >= 0 else len(text)][:LONGEST_LINE].strip())


def loss_report(result: Result) -> Survival:
    """Which details of what was summarised and shortened, and of earlier summaries, the result still has.

    The cost grows with the text of the input.
    """
    plan, report = result.plan, result.report
    at = next(iter(plan.lifted), -1)  # -1: it was merged with live text
    gone = {*report.summarised, *report.shortened}
    return survival_of(plan.messages, gone, result.messages, [(at, plan.previous_summary)])


def at_stake(plan: Plan) -> Survival:
    """What would become of what is said and called if the summary kept nothing: the lost ones are at stake."""
    repaired = _repaired(plan)
    stay = (repaired.get(i, plan.messages[i]) for i in (*plan.head, *plan.tail))
    left = [{**row, m.body_key(row): m.live_content(row)} for row in stay if row is not None]
    earlier = [(next(iter(plan.lifted), -1), plan.previous_summary)]
    return survival_of(plan.messages, {*plan.middle, *repaired}, left, earlier, printed=False)


def _repaired(plan: Plan) -> dict[int, Message | None]:
    """Messages that stay, by index, without calls or results that lack the other; None for one that is left out."""
    if plan.policy.tail_only:
        return {}
    kept = (*plan.before, *plan.tail)
    rows = [plan.messages[i] for i in kept]
    found = repairs(rows[: len(plan.before)], rows[len(plan.before) :])
    return {kept[at]: None if changes is None else patched(rows[at], changes) for at, changes in found.items()}


def _local(value: str, places: dict[Key, _DetailPlace], left: RemainingLines) -> Iterator[tuple[_DetailPlace, bool]]:
    """The places of one value, and whether it is kept for each; a mere mention counts where it has no place at all."""
    real = {key: place for key, place in places.items() if key != _NOWHERE} or places
    first = next(iter(real.values()))
    lines = left.saying(value)
    alone = len(real) == 1 and not _stands_elsewhere(first, lines, left)
    for (heading, names), place in real.items():
        kept = bool(lines)
        if lines and not alone:
            below = left.below(lines, heading)
            kept = bool(below) and (not names or any(below & left.with_value(name) for name in names))
        elif lines and _SMALL.fullmatch(value):
            kept = left.shares_word(place.line, lines)
        yield place, kept


def _stands_elsewhere(place: _DetailPlace, lines: set[int], left: RemainingLines) -> bool:
    """Whether a kept message has the same value under another heading or beside other names."""
    for n in lines - left.written:
        line = left.lines[n]
        beside = {detail.value for detail in line.details if not detail.is_local}
        if line.heading - {place.detail.value} != place.key[0] or (beside and beside.isdisjoint(place.key[1])):
            return True
    return False


def _is_kept(line: Statement, left: RemainingLines) -> bool:
    """Whether one line has all details of the statement, says its heading or stands under it, and shares its words."""
    lines: set[int] | None = None
    for detail in sorted(line.details, key=lambda each: not each.is_local):
        lines = left.with_detail(detail) if lines is None else lines & left.with_detail(detail)
        if not lines:
            return False
    lines = left.below(lines or set(), line.heading)
    stems = line.stems() if lines else set()
    wanted = min(SHARED_WORDS, (len(stems) + 1) // 2)
    return any(len(stems & stems_of(left.lines[n].text)) >= wanted for n in lines)


def _anchor(place: _DetailPlace) -> Anchor:
    detail, line = place.detail, place.line
    return Anchor(detail.kind, detail.text, line.message, detail.start, line.text[:LONGEST_LINE], line.source)


def _stated(line: Statement) -> Anchor:
    return Anchor(
        "statement", line.text[:LONGEST_LINE], line.message, line.start, line.text[:LONGEST_LINE], line.source
    )


def _weight(anchor: Anchor) -> tuple[int, int, int]:
    """What people said first, then the agent, an earlier summary, calls, tools; of each lines, names, numbers last."""
    return SOURCES.index(anchor.source), _RANK.get(anchor.kind, 1), -anchor.message
