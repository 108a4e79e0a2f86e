"""What a stretch of transcript says, as plain lines: requests, constraints, actions, errors, decisions, questions.

Theory: nothing is phrased anew, so any language works. Three kinds of text are read, each within limits of its own, so
that the cost does not grow with what tools print: what people typed, what the agent said and called, what tools gave
back. The limits are beyond what context windows hold; beyond them the newest is read first. All that is read is
redacted first. Lines are made only when somebody asks for them, newest first: of 20,000 messages a summary shows the
last hundred actions.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from . import messages as m
from .lines import arguments_of, clip, legible_name, line_count, outcome, unwrapped
from .messages import Call, Message
from .names import WORD_BREAKS, Kind, measures, names_of
from .secrets import redact_all
from .sentences import BINDING_SIGNS, DECIDING_SIGNS, error_line, holding, is_binding, is_decision, is_wish, sentences

SCANNED = 8_000  # characters of one message that are read: its start and its end
TURNS = 3_000  # messages that are read, the newest; of older ones only what people typed
READ = 300_000  # characters read of what the agent said or called and of what tools gave back, most of it the newest
TYPED = 250_000  # characters read of what people typed: a constraint in the middle of a long message counts too
LEAST = 400  # characters of a message that are worth reading; where there is room for less, old ones are not read
QUOTE, LINE, DETAIL = 1_500, 300, 160  # characters of the active task, of a line, of an argument or outcome
LABELLED = 100_000  # characters of the newest results in which names are looked for under which values stand
_PAIR = re.compile(r"\"(\w{1,40})\": ?\"?([\w$€£¥@./:,+-]{2,120})")
_SEPARATOR = "\0"


class Turn(NamedTuple):
    """One message as read: its own words, its calls, and the results it holds with the ids they name."""

    message: Message
    typed: bool
    words: str
    calls: tuple[Call, ...]
    results: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Action:
    """One tool call, and what came of it the last time."""

    call: Call
    outcome: str | None = None
    times: int = 0
    failed: str = ""

    def line(self, detail: int) -> str:
        """`tool(name=value, …) -> outcome`, each of the two at most `detail` characters long."""
        times = f" ({self.times} times)" if self.times > 1 else ""
        shown = None if self.outcome is None else unwrapped(self.outcome)
        came = "(no result yet)" if shown is None else outcome(shown, detail) + line_count(shown)
        return f"{legible_name(self.call.name)}({clip(arguments_of(self.call.arguments), detail)}){times} -> {came}"

    def trouble(self) -> str:
        """The error its last result reports, or ""."""
        return error_line(unwrapped(self.outcome)) if self.outcome else ""


@dataclass(slots=True)
class Name:
    """One exact thing: in how many messages it was said, in how many calls used, in how many results printed."""

    kind: Kind
    said: int = 0
    called: int = 0
    printed: int = 0
    tool: str = ""  # the one last called with it

    @property
    def weight(self) -> int:
        """What people say and calls are made with is needed more than output, and so is what is repeated."""
        return 6 * min(self.said, 4) + 4 * min(self.called, 4) + min(self.printed, 6)


@dataclass(slots=True)
class Facts:
    """What was read. Lists are oldest first; `names` by text, the most recent first; `unread` counts messages."""

    turns: list[Turn]
    unread: int = 0
    actions: dict[str, Action] = field(default_factory=dict)
    names: dict[str, Name] = field(default_factory=dict)
    roles: Tally[str] = field(default_factory=Tally)
    tools: Tally[str] = field(default_factory=Tally)

    def requests(self) -> list[str]:
        """What people typed."""
        return [turn.words for turn in self.turns if turn.typed and turn.words.strip()]

    def replies(self) -> Iterator[str]:
        """What the agent said, newest first."""
        return (turn.words for turn in reversed(self.turns) if _is_reply(turn))

    def constraints(self) -> tuple[list[str], list[str]]:
        """Sentences people typed that bind, and milder wishes, word for word."""
        binding: list[str] = []
        wishes: list[str] = []
        requests = self.requests()
        for words, worth_it in zip(requests, holding(requests, BINDING_SIGNS), strict=True):
            for sentence in sentences(words) if worth_it else ():
                if is_binding(sentence):
                    binding.append(sentence)
                elif is_wish(sentence):
                    wishes.append(sentence)
        return binding, wishes

    def decisions(self) -> Iterator[str]:
        """Sentences that decide something, newest first."""
        words = [turn.words for turn in reversed(self.turns) if turn.words and not turn.results]
        for said, worth_it in zip(words, holding(words, DECIDING_SIGNS), strict=True):
            if worth_it:
                found = [s for s in sentences(said) if is_decision(s)]
                yield from (clip(s, LINE) for s in reversed(found))

    def questions(self, after: Sequence[Turn] = ()) -> Iterator[tuple[str, str]]:
        """Questions and the start of the answer the other side gave, "" if none came; newest first.

        Answers may stand in the turns that come `after`.
        """
        answer = {True: "", False: ""}  # the nearest later words of people, and of the agent
        for turn, asks in chain(((t, False) for t in reversed(after)), ((t, True) for t in reversed(self.turns))):
            if turn.words.strip() and (turn.typed or _is_reply(turn)):
                for question in _asked(turn.words)[-1:] if asks else ():
                    yield clip(question, LINE), clip(next(sentences(answer[not turn.typed]), ""), DETAIL)
                answer[turn.typed] = turn.words

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


def _asked(words: str) -> list[str]:
    if "?" not in words and "？" not in words:
        return []
    return [s for s in sentences(words) if s.endswith(("?", "？"))]


def _is_reply(turn: Turn) -> bool:
    return m.role(turn.message) == "assistant" and bool(turn.words.strip())


def gather(messages: Sequence[Message]) -> Facts:
    """Read the messages once."""
    rows = [row for row in messages if not m.is_system(row)]
    first = max(len(rows) - TURNS, 0)
    older = [row for row in rows[:first] if m.is_typed(row)]
    facts = Facts(_read([*older, *rows[first:]]), first - len(older))
    facts.roles.update(legible_name(m.role(row)) for row in rows)
    open_actions: dict[str, Action] = {}
    for turn in facts.turns:
        for id_, text in turn.results:
            if (action := open_actions.pop(id_, None)) is not None:
                action.outcome = text
        for call in turn.calls:
            facts.tools[legible_name(call.name)] += 1
            key = f"{call.name} {call.arguments}"
            action = facts.actions.pop(key, None) or Action(call)  # taken up again at the end
            action.failed = action.failed or action.trouble()
            action.times += 1
            facts.actions[key] = action
            open_actions.update(dict.fromkeys(call.ids, action))
    facts.names = _names(facts.turns)
    return facts


# --- reading ---------------------------------------------------------------------------------------------------------
def _read(rows: Sequence[Message]) -> list[Turn]:
    """The messages as turns, every text cut to what is read of it and redacted."""
    words = ["" if m.role(row) in m.RESULT_ROLES else m.said(row.get("content")) for row in rows]
    typed = [m.is_typed(row) for row in rows]
    calls = [m.calls(row) for row in rows]
    results = [m.results(row) for row in rows]
    said = iter(_within(words, typed))
    arguments = iter(_legible([call.arguments for row in calls for call in row]))
    outputs = iter(_legible([text for row in results for _, text in row]))
    return [
        Turn(
            row,
            by_person,
            next(said),
            tuple(call._replace(arguments=next(arguments)) for call in called),
            tuple((id_, next(outputs)) for id_, _ in given),
        )
        for row, by_person, called, given in zip(rows, typed, calls, results, strict=True)
    ]


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


# --- names -----------------------------------------------------------------------------------------------------------
def _names(turns: list[Turn]) -> dict[str, Name]:
    """The names in all that was read, each with how often it was met, the most recent first among those said."""
    newest = turns[::-1]
    spoken = [turn.words for turn in newest]
    calls: dict[str, list[str]] = {}
    for turn in newest:
        for call in turn.calls:
            calls.setdefault(call.name, []).append(call.arguments)
    found: dict[str, Name] = {}
    for said in spoken:
        for measure in dict.fromkeys(measures(said)) if said else ():
            found.setdefault(measure, Name("number")).said += 1
    _meet(found, spoken, "said")
    for tool, arguments in calls.items():
        for name in _meet(found, arguments, "called"):
            found[name].tool = found[name].tool or tool
    _meet(found, [text for turn in newest for _, text in turn.results], "printed")
    return found


def _meet(found: dict[str, Name], texts: list[str], how: str) -> dict[str, None]:
    """Count the names in the texts under `how`; the names met."""
    met: dict[str, None] = {}
    for word, times in _words(texts).items():
        for kind, name in names_of(word):
            known = found.setdefault(name, Name(kind))
            setattr(known, how, getattr(known, how) + times)
            met[name] = None
    return met


def _words(texts: list[str]) -> Tally[str]:
    """In how many of the texts each word stands, in the order of the texts. One long text is taken apart far faster."""
    everything = _SEPARATOR.join(text.replace(_SEPARATOR, " ") for text in texts if text)
    for mark in WORD_BREAKS:
        everything = everything.replace(mark, " ")
    words: Tally[str] = Tally()
    for text in everything.split(_SEPARATOR):
        words.update(dict.fromkeys(text.split()).keys())  # a set's order would differ from run to run
    return words
