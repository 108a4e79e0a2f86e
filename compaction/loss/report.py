"""Survival: what of messages that leave the context is still in it, and where.

Theory: three things are distinguished.
- *Statements*: the lines and sentences of people and the agent that a reader would miss, each with its category
  (`categories`): an instruction, a decision, a cause. A statement survives if a single remaining line has all its
  details, has its heading or is under it, and has most of its other words.
- *Details* that were said or were arguments of calls: strings that cannot be guessed. A detail survives if it is
  anywhere in what remains, an amount or a date in any spelling. What it belonged to is shown by its statement. Bare
  numbers, durations and the ids of programs do not count.
- Details that *tools only printed* are counted separately: they are many, and a tool can print them again.
Survival of text is an upper bound on what a model can use, and text that was rephrased counts as lost.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest

from ..applying import Result
from ..details.names import Kind, names_of, words_of
from ..details.values import value_of
from ..messages import Message
from ..offline.asks import alike
from ..polite import is_closing
from ..redaction import redact, redact_all
from ..sections import is_stale
from ..sentences import TROUBLE_WORDS, error_line, holding, pasted_error, signs_in
from .categories import CATEGORIES, category_of
from .needs import Needs
from .pleasantries import is_courtesy
from .records import (
    COMMAND_KEYS,
    LONGEST_LINE,
    MATTERS,
    SERIOUS,
    Anchor,
    Counts,
    LastRequest,
    Matters,
    Survival,
    commands_of,
)
from .remaining import THOROUGH, RemainingLines, thorough
from .statements import (
    HEADING_LINE,
    SOURCES,
    Detail,
    Passage,
    Statement,
    is_capital,
    is_worth_naming,
    of_summary,
    passages,
    statements,
)

PRINTED_SHOWN = 2_000  # lost details that tools printed which are named; the others are counted
_LONG = 200  # characters of an argument of a call that is what a tool is to write, not what it is called with
_RANK = {"error": 0, "date": 2, "version": 2, "number": 3, "command": 4}  # of others 1
_FEW = 4  # words without which a sentence of an agent says little, if it has neither a category nor a detail
_ROW = re.compile(r"[|]|(?:[-*+]|\d+[.)])\s+(?:\*\*|`)?[^:.!?]{1,40}:")  # of a table, or a list of labels
_TITLE = re.compile(
    HEADING_LINE.pattern + r"|<[^>]*>$|[\[(][^\])]*[\])]$|[-=*_ ]+$|\d+[:|→]"
)  # a heading, a tag, an aside, a rule
_SIGNS, _PROSE = (
    re.compile(r"[^\w\s,.?!'’`*\u3000-\u303f\uff00-\uff20-]"),
    8,
)  # one in so many characters of language is a sign
_WORD = re.compile(r"(?<!\d)[^\W\d_]")  # and not the unit of a number


# --- what was there --------------------------------------------------------------------------------------------------
class Leaving:
    """The details and statements of what leaves the context."""

    def __init__(self) -> None:
        self.details: dict[tuple[Kind, str], Anchor] = {}  # by kind and value
        self.lines: dict[tuple[Kind, str], Anchor] = {}  # commands of calls, errors that somebody pasted
        self.printed: dict[tuple[Kind, str], int] = {}  # what tools printed, and the first message with it
        self.statements: dict[tuple[str, frozenset[str]], Statement] = {}
        self.heard: set[tuple[str, frozenset[str]]] = set()  # lines looked at, and their headings
        self.words: set[str] = set()  # those that were looked at
        self.signs: dict[str, tuple[str, ...]] = {}  # of trouble, by those of the words that hold one

    def read(self, texts: Sequence[Passage]) -> None:
        spoken = [each for each in texts if each.source != "tool"]
        newest = thorough(spoken, THOROUGH)
        self._commands([each for each in spoken if each.source == "call"])
        for n, passage in enumerate(spoken):
            if passage.source == "call":
                self._called(passage, n in newest)
            else:
                self._spoken(passage, n in newest)
        self.words = set()  # what is beyond the thorough part of the talk may be printed as well
        for passage in texts:
            if passage.source == "tool":
                self._printed(passage)

    def _spoken(self, passage: Passage, detailed: bool) -> None:
        """What people and the agent said; of talk that is too old to be read thoroughly, names inside words alone."""
        if error := pasted_error(passage.text):
            self._line("error", error, passage)
        for line in statements(passage.text, passage.origin, sentences=True, every=True, detailed=detailed):
            line.message, line.source = passage.message, passage.source
            if passage.source == "summary" and is_stale(line.text.lstrip("-*> ")):
                continue
            for detail in line.details:
                self._detail(detail, line)
            key = (line.text, line.heading)
            if not line.is_code and key not in self.heard:
                self.heard.add(key)
                if _says_something(line, passage):
                    self.statements.setdefault((" ".join(line.text.split()), line.heading), line)
        if not detailed:
            self._named(passage)

    def _commands(self, calls: Sequence[Passage]) -> None:
        ran = [(command, passage) for passage in calls for command in commands_of(passage.text)]
        shown = redact_all([command for command, _ in ran])  # again: JSON may have written them with escapes
        for command, (_, passage) in zip(shown, ran, strict=True):
            self._line("command", command, passage)

    def _called(self, passage: Passage, detailed: bool) -> None:
        """The arguments of a call, without the text that it writes."""
        passage = replace(passage, text=_called_with(passage.text))
        if detailed:
            for line in statements(passage.text, passage.origin, sentences=False):
                line.message, line.source = passage.message, passage.source
                for detail in line.details:
                    self._detail(detail, line)
        else:
            self._named(passage)

    def _detail(self, detail: Detail, line: Statement) -> None:
        key = (detail.kind, detail.value)
        if key not in self.details and is_worth_naming(detail.kind, detail.text) and not is_capital(detail, line):
            text = line.text[:LONGEST_LINE]
            matters: Matters = "person" if line.source == "person" else ""
            self.details[key] = Anchor(
                detail.kind, detail.text, line.message, text, line.source, matters=matters, above=line.above
            )

    def _line(self, kind: Kind, text: str, passage: Passage) -> None:
        text = text[:LONGEST_LINE]
        anchor = Anchor(kind, text, passage.message, text, passage.source)
        self.lines.setdefault((kind, text), anchor)

    def _named(self, passage: Passage) -> None:
        for word in self._new_words(words_of(passage.text)):
            for kind, name in names_of(word):
                if is_worth_naming(kind, name):
                    anchor = Anchor(kind, name, passage.message, "", passage.source)
                    self.details.setdefault((kind, value_of(kind, name)), anchor)

    def _printed(self, passage: Passage) -> None:
        """Names inside words of a tool's output, and a line that reports trouble."""
        words = words_of(passage.text)
        new = self._new_words(words)
        self.signs |= {w: signs_in(w) for w, holds in zip(new, holding(new, TROUBLE_WORDS), strict=True) if holds}
        signs = {sign for word in self.signs.keys() & words.keys() for sign in self.signs[word]}
        if signs and (line := error_line(passage.text, signs)[:LONGEST_LINE]):
            self.printed.setdefault(("error", line), passage.message)
        for word in new:
            for kind, name in names_of(word):
                if is_worth_naming(kind, name):
                    self.printed.setdefault((kind, name), passage.message)

    def _new_words(self, words: Iterable[str]) -> list[str]:
        """The words that were not looked at before."""
        new = [word for word in words if word not in self.words]
        self.words.update(new)
        return new


def _says_something(line: Statement, passage: Passage) -> bool:
    """Whether a reader would miss the line; sets its category."""
    typed = passage.source == "person"
    text = line.text
    if is_courtesy(line) or _TITLE.match(text) or not (line.details or _is_prose(text)):
        return False
    category = category_of(text, typed=typed)
    if category is None:
        return False
    line.category = category = "" if text.startswith("|") else category
    if line.details:  # "3ms 18ms" alone says nothing
        return any(is_worth_naming(each.kind, each.text) for each in line.details) or bool(_WORD.search(line.rest()))
    if _ROW.match(line.text):
        return False
    words = len(line.stems())
    return words >= (1 if category else 2) if typed else words >= (2 if category else _FEW)


def _is_prose(text: str) -> bool:
    """Whether a text is language, not code or output of a program: few of its characters are signs."""
    return len(_SIGNS.findall(text)) * _PROSE <= len(text)


def _called_with(arguments: str) -> str:
    """A call's arguments without the long texts that the tool is to write."""
    if len(arguments) <= _LONG:
        return arguments
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments[: 10 * _LONG]
    if not isinstance(value, dict):
        return arguments[: 10 * _LONG]
    kept = {key: each for key, each in value.items() if key in COMMAND_KEYS or len(str(each)) <= _LONG}
    return json.dumps(kept, ensure_ascii=False)


# --- both together ---------------------------------------------------------------------------------------------------
def survival_of(
    messages: Sequence[Message],
    which: Container[int] | None,
    remaining: Sequence[Message],
    earlier: Iterable[tuple[int, str]] = (),
) -> Survival:
    """Which details of messages (all, or those at the indices in `which`) are still in the `remaining` messages.

    `earlier` are the texts of summaries that leave with them, each with the index of its message.
    """
    leaving = Leaving()
    before = [of_summary(text, at) for at, text in earlier if text]
    texts = before + passages(messages, which, live=True)
    leaving.read(texts)
    needs = Needs(messages, which, "\n\n".join(each.text for each in before))
    stay = RemainingLines(passages(remaining, live=False))
    spoken = [*_spoken_details(leaving, stay)]
    lost = [anchor for anchor, kept in spoken if not kept]
    printed_counts, printed_lost = _printed_details(leaving, stay)
    gone = [line for line in leaving.statements.values() if not stay.says(line)]
    broken = _unsaid(needs.standing, gone, stay)
    matters = {id(line): _matters(line, needs, broken) for line in gone}
    return Survival(
        by_kind=_counts((anchor.kind, kept) for anchor, kept in spoken),
        lost=tuple(sorted(lost, key=_weight)),
        printed=printed_counts,
        lost_printed=tuple(_shown(printed_lost, texts)),
        statements=(len(leaving.statements) - len(gone), len(leaving.statements)),
        lost_statements=tuple(_stated(line, matters[id(line)]) for line in _ranked(gone, matters)),
        request=_last_request(needs, leaving, gone, stay),
        instructions=_instructions(needs, broken),
    )


def _unsaid(standing: Mapping[str, str], gone: Sequence[Statement], stay: RemainingLines) -> set[str]:
    """The keys of the standing instructions that nothing says any more."""
    lost = {alike(line.text) for line in gone if line.source in ("person", "summary")}
    return {key for key, text in standing.items() if key in lost and not stay.has_text(redact(text), printed=False)}


def _instructions(needs: Needs, broken: set[str]) -> tuple[int, int]:
    """The number of standing instructions that survive, and of all."""
    every = needs.standing.keys() | needs.standing_kept
    return len(every - (broken - needs.standing_kept)), len(every)


def _matters(line: Statement, needs: Needs, broken: Container[str]) -> Matters:
    """Why somebody would miss a line."""
    if line.source in ("person", "summary") and alike(line.text) in broken:
        return "instruction"
    request = needs.request if needs.request is not None and needs.request.open else None  # else the next turn is done
    is_request = request is not None and not needs.is_request_kept and line.message == request.place
    if request is not None and (needs.asks_for(line) or (is_request and line.source == "person")):
        return "request"
    return "person" if line.source == "person" and not is_closing(line.text) else ""


def _last_request(
    needs: Needs, leaving: Leaving, gone: Sequence[Statement], stay: RemainingLines
) -> LastRequest | None:
    if needs.request is None:
        return None
    words = needs.request_words
    kept = needs.is_request_kept or stay.has_text(words, printed=False)
    asked, lost = (sum(map(needs.asks_for, lines)) for lines in (leaving.statements.values(), gone))
    is_open = needs.request.open and not needs.request.answer
    return LastRequest(words, max(needs.request.place, -1), is_open, kept, (asked - lost, asked))


def _spoken_details(leaving: Leaving, stay: RemainingLines) -> Iterator[tuple[Anchor, bool]]:
    """The details that were said or called with, and whether each is kept."""
    for (_, value), anchor in leaving.details.items():
        yield anchor, stay.holds(anchor.kind, anchor.text, value)
    for anchor in leaving.lines.values():
        yield anchor, stay.has_text(anchor.text, printed=anchor.kind == "error")


def _printed_details(leaving: Leaving, stay: RemainingLines) -> tuple[Counts, list[Anchor]]:
    """The details that tools only printed: counts by kind, and the first of the lost ones."""
    other_keys = {(kind, text.lower()) for kind, text in (*leaving.lines, *leaving.details)}
    kept: list[tuple[Kind, bool]] = []
    lost: list[tuple[int, int, int, Kind, str]] = []  # in the order in which they are named
    for at, ((kind, text), message) in enumerate(leaving.printed.items()):
        value = value_of(kind, text) if kind in ("number", "date") else text.lower()
        if (kind, value) not in other_keys:
            survives = stay.has_text(text, printed=True) if kind == "error" else text.lower() in stay.names
            survives = survives or (kind == "date" and bool(stay.saying(value)))
            kept.append((kind, survives))
            if not survives:
                lost.append((_RANK.get(kind, 1), -message, at, kind, text))
    first = nsmallest(PRINTED_SHOWN, reversed(lost))  # from the newest on few have to be put in between
    return _counts(kept), [Anchor(kind, text, -newest, source="tool") for _, newest, _, kind, text in first]


def _counts(kinds: Iterable[tuple[Kind, bool]]) -> Counts:
    """(Survived, all) by kind."""
    counted = Counter(kinds)
    return {kind: (counted[kind, True], counted[kind, True] + counted[kind, False]) for kind, _ in counted}


def _shown(lost: Sequence[Anchor], texts: Sequence[Passage]) -> Iterator[Anchor]:
    """Lost details that tools printed, each with its line; parts of credentials are left out."""
    messages = {anchor.message for anchor in lost}
    by_message: dict[int, list[str]] = {}
    for each in texts:
        if each.source == "tool" and each.message in messages:
            by_message.setdefault(each.message, []).append(each.text)
    joined = ["\n".join(pieces) for pieces in by_message.values()]
    clean = dict(zip(by_message, redact_all(joined), strict=True))
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
    """Which details of the summarised and shortened messages and of earlier summaries the result still has.

    The cost grows with the text of the input.
    """
    plan, report = result.plan, result.report
    at = next(iter(plan.lifted), -1)  # -1: it was merged with live text
    gone = {*report.summarised, *report.shortened}
    return survival_of(plan.messages, gone, result.messages, [(at, plan.previous_summary)])


def _stated(line: Statement, matters: Matters) -> Anchor:
    text = line.text[:LONGEST_LINE]
    # Above a line of a summary is the title of a section, which belongs to the line only if it names something.
    above = line.above if line.source != "summary" or line.heading else ""
    return Anchor("statement", text, line.message, text, line.source, line.category, matters, above)


def _ranked(lines: Iterable[Statement], matters: Mapping[int, Matters]) -> list[Statement]:
    """The statements by category, after instructions those that the last request asks for. In each category:
    repetitions of an earlier one last, sentences before rows of lists, people's words first, then the newest.
    `matters` is by the statement's `id`.
    """
    ordered = sorted(lines, key=lambda each: (bool(_ROW.match(each.text)), SOURCES.index(each.source), -each.message))
    times: Counter[str] = Counter()
    again = {}
    for each in ordered:
        again[id(each)] = times[each.text]
        times[each.text] += 1

    def key(each: Statement) -> tuple[int, int, int]:
        why = matters[id(each)]
        serious = MATTERS.index(why if why in SERIOUS else "")
        return serious, CATEGORIES.index(each.category), again[id(each)]

    return sorted(ordered, key=key)


def _weight(anchor: Anchor) -> tuple[int, int, int]:
    """Sort key: people's words first, then the agent's, earlier summaries, calls, tools; within each, numbers and
    commands last.
    """
    return SOURCES.index(anchor.source), _RANK.get(anchor.kind, 1), -anchor.message
