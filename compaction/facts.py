"""What a stretch of transcript says: requests, constraints, work, errors, decisions, questions, names.

Theory: words are quoted, so any language works. Three kinds of text are read, each within limits of its own, so that
the cost does not grow with what tools print: what people typed, what the agent said and called, what tools gave back.
The limits are beyond what context windows hold; beyond them the newest is read first. All that is read is redacted
first. Rows of the user role that a program wrote are read as results: those of SWE-agent answer the command that stands
in a code fence of the reply before them.
"""

from __future__ import annotations

import json
import re
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from typing import Any, NamedTuple

from . import messages as m
from . import wording
from .actions import Work, gathered, written_in
from .code import DatedText, code_names
from .deeds import ESCAPES, Deed, kind_of, settle
from .lines import legible_name
from .listed import names_in
from .made import note_named
from .messages import Call, Message
from .names import NameUse
from .people import Heard, day_of, people_of, spoken
from .redaction import redact, redact_all
from .requests import Request, TurnMessage, is_output, plain, requests_in
from .sentences import DECIDING_SIGNS, holding, is_binding, is_decision, sentences
from .text.clip import clip
from .todo import Step, newest_plan
from .tool_results import is_failure, is_flagged, without_heading

SCANNED = 8_000  # characters of one message that are read: its start and its end
ARGUMENTS = 32_000  # characters of a call's arguments that are read: a file that is written whole is what was done
TURNS = 3_000  # messages that are read, the newest; of older ones only what people typed
READ = 300_000  # characters read of what the agent said or called and of what tools gave back, most of it the newest
TYPED = 250_000  # characters read of what people typed: a constraint in the middle of a long message counts too
LEAST = 400  # characters of a message that are worth reading; where there is room for less, old ones are not read
QUOTE, LINE, DETAIL = 1_500, 300, 160  # characters of the latest request, of a line, of an argument or outcome
LABELLED = 300_000  # characters of the newest results in which names are looked for under which values stand
_PAIR = re.compile(r"\"(\w{1,40})\": ?\"?([\w$€£¥@./:,+-]{2,120})")
_FENCE = re.compile(r"^```[ \t]*(?:bash|sh|shell|console|zsh|powershell)?[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


FENCED = "command"  # the name of a call that stands in a code fence


class ReadMessage(NamedTuple):
    """One message as read: its own words, its calls, and the results it holds with the ids they name.

    `typed`: a person wrote the words. `flagged`: the results that the message
    itself calls failed. `place` is its place in the transcript.
    """

    message: Message
    typed: bool
    words: str
    calls: tuple[Call, ...]
    results: tuple[tuple[str, str], ...]
    place: int = 0
    flagged: tuple[bool, ...] = ()
    person: str = ""
    day: date | None = None


@dataclass(slots=True)
class TranscriptFacts:
    """What was read. Lists are oldest first; `names` by text, the most recent first; `unread` counts messages."""

    turns: list[ReadMessage]
    unread: int = 0
    work: list[Work] = field(default_factory=list)
    plan: list[Step] = field(default_factory=list)
    names: dict[str, NameUse] = field(default_factory=dict)
    roles: Tally[str] = field(default_factory=Tally)
    tools: Tally[str] = field(default_factory=Tally)

    @property
    def dated(self) -> bool:
        """Whether what was read is of more than one day, so that each line needs its own."""
        return len({turn.day for turn in self.turns if turn.day}) > 1

    @property
    def people(self) -> set[str]:
        """Those that messages are about."""
        return {turn.person for turn in self.turns if turn.person}

    def replies(self) -> Iterator[str]:
        """What the agent said, newest first."""
        return (turn.words for turn in reversed(self.turns) if _is_reply(turn))

    def constraints(self) -> Iterator[str]:
        """Sentences people typed that bind, word for word, newest first; of several people with whose and when."""
        several, dated = len(self.people) > 1, self.dated
        found = (
            (_whose(turn, several, dated), sentence)
            for turn in reversed(self.turns)
            if turn.typed and turn.words
            for sentence in reversed([s for s in sentences(plain(turn.words)) if is_binding(s)])
        )
        for whose, group in groupby(distinct_pairs(found), key=lambda pair: pair[0]):
            together = [sentence for _, sentence in group]
            yield from [whose + " ".join(reversed(together))] if whose else together

    def decisions(self) -> Iterator[str]:
        """Sentences that decide something, newest first, with whose and when."""
        turns = [turn for turn in reversed(self.turns) if turn.words and not turn.results]
        several, dated = len(self.people) > 1, self.dated
        for turn, worth_it in zip(turns, holding([turn.words for turn in turns], DECIDING_SIGNS), strict=True):
            if worth_it:
                decided = [s for s in sentences(turn.words) if is_decision(s) and not (turn.typed and is_binding(s))]
                yield from (_whose(turn, several, dated) + clip(s, LINE) for s in reversed(decided))

    def labels(self) -> dict[str, str]:
        """The names under which values stand in arguments and JSON results, the newest for each value."""
        found: dict[str, str] = {}
        left = LABELLED
        for turn in reversed(self.turns):
            for text in (*(call.arguments for call in turn.calls), *(text for _, text in turn.results)):
                left -= len(text)
                for label, value in _PAIR.findall(text) if left > 0 else ():
                    found.setdefault(value.rstrip(".,:"), label)
        return found


def distinct_pairs(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The pairs without repetitions, compared regardless of case."""
    seen: set[str] = set()
    for whose, sentence in pairs:
        key = f"{whose}{sentence}".casefold()
        if key not in seen:
            seen.add(key)
            yield whose, sentence


def _whose(turn: ReadMessage, several: bool, dated: bool) -> str:
    """ "mia_li_3668, 15 July 2026: ", as far as it is known."""
    known = [turn.person if several else "", spoken(turn.day) if dated and turn.day else ""]
    return f"{', '.join(filter(None, known))}: " if any(known) else ""


def _is_reply(turn: ReadMessage) -> bool:
    return m.role(turn.message) == "assistant" and bool(turn.words.strip())


def requests_of(turns: Sequence[ReadMessage], before: Sequence[str] = ()) -> list[Request]:
    """What people asked for in these turns and, before them, in an earlier summary."""
    fenced = any(call.name == FENCED for turn in turns for call in turn.calls)
    said = [
        TurnMessage(turn.place, turn.typed, turn.words, _ends_turn(turn, turns[at + 1 : at + 2], fenced))
        for at, turn in enumerate(turns)
        if turn.words.strip() and (turn.typed or _is_reply(turn))
    ]
    return requests_in(said, before)


def _ends_turn(turn: ReadMessage, following: Sequence[ReadMessage], fenced: bool) -> bool:
    """Whether the agent's turn ends with this message: it calls nothing, and nothing but a person comes next.

    Where commands stand in code fences, a message that ends with one calls something.
    """
    calls = turn.calls or (fenced and turn.words.rstrip().endswith("```"))
    return not calls and all(next_.typed for next_ in following)


def gather(messages: Sequence[Message], places: Sequence[int] = ()) -> TranscriptFacts:
    """Read the messages once; `places` are theirs in the transcript, by default one after the other."""
    numbered = zip(places or range(len(messages)), messages, strict=True)
    rows = [(place, row) for place, row in numbered if not m.is_system(row)]
    first = max(len(rows) - TURNS, 0)
    older = [(place, row) for place, row in rows[:first] if m.is_typed(row)]
    typed = [True] * len(older) + [m.is_typed(row) for _, row in rows[first:]]
    facts = TranscriptFacts(_attributed(_read([*older, *rows[first:]], typed)), first - len(older))
    facts.roles.update(legible_name(m.role(row)) for _, row in rows)
    deeds = list(_deeds(facts.turns))
    for deed in deeds:
        settle(deed)
    asked = [turn.place for turn in facts.turns if turn.typed]
    note_named(deeds, ((turn.place, turn.words) for turn in facts.turns if _is_reply(turn)), asked)
    facts.tools.update(legible_name(deed.call.name) for deed in deeds)
    facts.plan = newest_plan((d.call.name, d.call.arguments, d.outcome or "") for d in deeds if d.kind == "plan")
    facts.work = gathered(deed for deed in deeds if deed.kind not in ("plan", "thought"))
    facts.names = names_in(
        [(turn.words, turn.calls, turn.results, turn.typed) for turn in reversed(facts.turns)],
        {deed.call.name for deed in deeds if deed.kind in ("edit", "write")},
    )
    return facts


def _deeds(turns: Sequence[ReadMessage]) -> Iterator[Deed]:
    """The calls, each with its result."""
    deeds: list[Deed] = []
    waiting: dict[str, Deed] = {}
    for turn in turns:
        for at, (id_, text) in enumerate(turn.results):
            if (deed := waiting.pop(id_, None)) is not None:
                deed.outcome, deed.flagged = text, at < len(turn.flagged) and turn.flagged[at]
        for call in turn.calls:
            arguments = wording.arguments_in(call.arguments)
            deed = Deed(call, kind_of(call, arguments), turn.place, arguments, person=turn.person, day=turn.day)
            deeds.append(deed)
            waiting.update(dict.fromkeys(call.ids, deed))
    return iter(deeds)


def code_of(facts: TranscriptFacts) -> dict[str, NameUse]:
    """The names of code in what was said, called, written and printed."""
    return code_names(_pieces(facts.turns, [deed for work in facts.work for deed in work.deeds]))


def _pieces(turns: Sequence[ReadMessage], deeds: Sequence[Deed]) -> Iterator[DatedText]:
    """The texts in which names of code stand, the newest first."""
    done: dict[int, list[Deed]] = {}
    for deed in deeds:
        done.setdefault(deed.at, []).append(deed)
    for age, turn in enumerate(reversed(turns)):
        yield DatedText("said", age, turn.words)
        for deed in done.get(turn.place, ()):
            if written := written_in(deed):
                yield from (DatedText("written", age, redact(text)) for text in written)
                continue
            yield DatedText("called", age, redact("\n".join(str(value) for value in deed.arguments.values())))
            if deed.kind in ("read", "run", "look"):
                yield DatedText("printed", age, deed.outcome or "")


def _attributed(turns: list[ReadMessage]) -> list[ReadMessage]:
    heard = [Heard(t.typed, t.words, [c.arguments for c in t.calls], [text for _, text in t.results]) for t in turns]
    return [turn._replace(person=person) for turn, person in zip(turns, people_of(heard), strict=True)]


# --- reading ---------------------------------------------------------------------------------------------------------
def _read(rows: Sequence[tuple[int, Message]], by_people: Sequence[bool]) -> list[ReadMessage]:
    """The messages as turns, every text cut to what is read of it and redacted."""
    messages = [row for _, row in rows]
    words = ["" if m.role(row) in m.RESULT_ROLES else m.words(row) for row in messages]
    outputs = _are_outputs(rows, words, by_people)
    typed = [by_person and not output for by_person, output in zip(by_people, outputs, strict=True)]
    results = [m.results(row) for row in messages]
    for at, output in enumerate(outputs):
        if output:
            results[at], words[at] = (*results[at], (_fence_id(at - 1), words[at])), ""
    calls = [
        [*m.calls(row), *(_fenced(words[at], at) if outputs[at + 1 : at + 2] == [True] else ())]
        for at, row in enumerate(messages)
    ]
    said = iter(_within(words, typed))
    arguments = iter(_legible([call.arguments for row in calls for call in row], ARGUMENTS))
    printed = (_output(text) for row in results for _, text in row)
    texts = iter(_legible([ESCAPES.sub("", text) if "\x1b[" in text else text for text in printed]))
    return [
        ReadMessage(
            row,
            typed[at],
            next(said),
            tuple(call._replace(arguments=next(arguments)) for call in calls[at]),
            tuple((id_, next(texts)) for id_, _ in results[at]),
            place,
            _flags(row),
            day=day_of(row),
        )
        for at, (place, row) in enumerate(rows)
    ]


def _output(text: str) -> str:
    """What a call printed, behind a line with its exit code if that is not 0."""
    code, output = without_heading(text)
    return f"exit code {code}\n{output}" if is_failure(code) else output


def _are_outputs(rows: Sequence[tuple[int, Message]], words: Sequence[str], by_people: Sequence[bool]) -> list[bool]:
    """Which rows of the user role a program wrote; the first one of a session is the task, whatever it looks like."""
    typed = zip((place for place, _ in rows), words, by_people, strict=True)
    first = next((place for (place, _), by_person in zip(rows, by_people, strict=True) if by_person), None)
    return [
        by_person and bool(text) and is_output(text, first=place == first and place <= 1)
        for place, text, by_person in typed
    ]


def _fenced(words: str, at: int) -> list[Call]:
    """The command that the last code fence of a reply holds, as a call."""
    found = _FENCE.findall(words[-SCANNED:])
    return [Call((_fence_id(at),), FENCED, json.dumps({"command": found[-1].strip()}))] if found else []


def _fence_id(at: int) -> str:
    return f"\0fence {at}"


def _flags(row: Message) -> tuple[bool, ...]:
    """Which of the results in a row say that their call failed."""
    if m.role(row) in m.RESULT_ROLES:
        return (is_flagged(row),)
    blocks: list[Any] = row["content"] if isinstance(row.get("content"), list) else []
    return tuple(is_flagged(b) for b in blocks if isinstance(b, dict) and b.get("type") == "tool_result")


def _within(words: list[str], typed: list[bool]) -> Iterator[str]:
    """Words of people and of the agent, each cut within their own limit, in their places."""
    people = iter(_legible([text for text, by_person in zip(words, typed, strict=True) if by_person], TYPED, TYPED))
    agent = iter(_legible([text for text, by_person in zip(words, typed, strict=True) if not by_person]))
    return (next(people if by_person else agent) for by_person in typed)


def _legible(texts: list[str], longest: int = SCANNED, most: int = READ) -> list[str]:
    """The texts, oldest first, without secrets, and of long ones the two ends alone, so that all fit `most`."""
    return redact_all(texts, _limits([len(text) for text in texts], longest, most))


def _limits(lengths: list[int], longest: int, most: int) -> list[int]:
    """Characters read of each text: `longest` of the newest while half of `most` lasts, of all others the same.

    Where that would be too little to say anything, `LEAST` of the newer ones and nothing of the rest.
    """
    left, older = most, len(lengths)
    while older and left > most // 2:
        older -= 1
        left -= min(lengths[older], longest)
    left = max(left, 0)
    same = _limit(lengths[:older], longest, left)
    unread = 0 if same >= LEAST else max(older - left // LEAST, 0)
    return [0] * unread + [max(same, LEAST)] * (older - unread) + [longest] * (len(lengths) - older)


def _limit(lengths: list[int], longest: int, left: int) -> int:
    """The largest limit, up to `longest`, for which the lengths cut to it come to at most `left`."""
    remaining = len(lengths)
    for length in sorted(lengths):
        if min(length, longest) * remaining > left:
            return left // remaining
        left -= min(length, longest)
        remaining -= 1
    return longest
