"""A stretch of transcript as the summariser without a model reads it: turns, calls with their outcomes, people, days.

Theory: words are quoted, so any language works. Three kinds of text are read, each within its own limits, so that the
cost does not grow with tool output: what people typed, what the agent said and called, what tools returned. The limits
exceed the size of context windows; if a transcript is larger, the newest text is read first. All text is redacted
before it is read.
"""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from .. import messages as m
from ..lines import legible_name
from ..messages import Call, Message
from ..polite import is_notice
from ..redaction import redact_all
from ..tool_results import is_failure, is_flagged, without_heading
from . import failures, wording
from .people import Heard, day_of, people_of
from .todo import Step, newest_plan
from .tool_calls import ESCAPES, ToolCall, kind_of
from .work import Work, gathered

SCANNED = 8_000  # characters of one message that are read: its start and its end
ARGUMENTS = 32_000  # characters of a call's arguments that are read: a file that is written whole is what was done
TURNS = 3_000  # messages that are read, the newest; of older ones only what people typed
READ = 300_000  # characters read of what the agent said or called and of what tools gave back, most of it the newest
TYPED = 250_000  # characters read of what people typed: a constraint in the middle of a long message counts too
FENCE = "```"
FEWEST_OUTPUTS, MOST_PROMPT = 3, 3  # outputs that end alike, and lines of a prompt
_SIGNS = ("$", "#", ">", "%", "]", "❯", "»")  # with which a prompt ends, and hardly what a person says
LEAST = 400  # characters of a message that are worth reading; where there is room for less, old ones are not read


Prompt = tuple[str, ...]


class Blocks(NamedTuple):
    """The commands that an agent runs from code blocks: the beginnings of the lines that end each output, the words and
    command of each reply by its place, and for the place of each output the place of its reply, None if that is not
    included.
    """

    prompt: Prompt = ()
    commands: Mapping[int, tuple[str, str]] = MappingProxyType({})
    outputs: Mapping[int, int | None] = MappingProxyType({})


NO_BLOCKS = Blocks()


class Turn(NamedTuple):
    """One message as read: its own words, its calls, and its results with the ids they name.

    `typed`: a person wrote the words. `flagged`: which results the message itself marks as failed. `place` is its place
    in the transcript; `person` is whom it is about, if the transcript serves several.
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

    @property
    def is_reply(self) -> bool:
        """Whether the agent says something here."""
        return m.role(self.message) == "assistant" and bool(self.words.strip())


@dataclass(slots=True)
class Transcript:
    """What was read. Lists are oldest first; `unread` counts messages."""

    turns: list[Turn]
    unread: int = 0
    calls: list[ToolCall] = field(default_factory=list)
    plan: list[Step] = field(default_factory=list)
    tools: Tally[str] = field(default_factory=Tally)

    @property
    def days(self) -> list[date]:
        """The days on which the messages were written, in order."""
        return sorted({turn.day for turn in self.turns if turn.day})

    @property
    def people(self) -> set[str]:
        """The persons that messages are about."""
        return {turn.person for turn in self.turns if turn.person}

    def work(self) -> list[Work]:
        """The calls grouped by the thing they were done to, oldest first."""
        return gathered(call for call in self.calls if call.kind not in ("plan", "thought"))


def read(rows: Iterable[tuple[int, Message]], blocks: Blocks = NO_BLOCKS) -> Transcript:
    """Read the messages once, each with its place in the transcript; `blocks` belong to the whole transcript."""
    rows = [(place, row) for place, row in rows if not m.is_system(row)]
    first = max(len(rows) - TURNS, 0)
    older = [(place, row) for place, row in rows[:first] if m.is_typed(row)]
    transcript = Transcript(_attributed(_turns([*older, *rows[first:]], blocks)), first - len(older))
    transcript.calls = list(_calls(transcript.turns))
    failures.judge(transcript.calls)
    transcript.tools.update(legible_name(each.call.name) for each in transcript.calls)
    plans = (each for each in transcript.calls if each.kind == "plan")
    transcript.plan = newest_plan((each.call.name, each.call.arguments, each.outcome or "") for each in plans)
    return transcript


def ends_of(turns: Sequence[Turn]) -> set[int]:
    """The places of the replies that ended the agent's turn: a person speaks next, or nothing follows."""
    nonempty = [turn for turn in turns if turn.words.strip() or turn.calls or turn.results]
    following = [*nonempty[1:], None] if nonempty else []
    return {
        turn.place
        for turn, after in zip(nonempty, following, strict=True)
        if turn.is_reply and not turn.calls and (after is None or after.typed)
    }


def _calls(turns: Sequence[Turn]) -> Iterator[ToolCall]:
    """The calls, each with its result."""
    result: list[ToolCall] = []
    waiting: dict[str, ToolCall] = {}
    for turn in turns:
        for at, (id_, text) in enumerate(turn.results):
            if (each := waiting.pop(id_, None)) is not None:
                each.outcome, each.flagged = text, at < len(turn.flagged) and turn.flagged[at]
        for call in turn.calls:
            arguments = wording.arguments_in(call.arguments)
            each = ToolCall(call, kind_of(call, arguments), turn.place, arguments, person=turn.person, day=turn.day)
            result.append(each)
            waiting.update(dict.fromkeys(call.ids, each))
    return iter(result)


def _attributed(turns: list[Turn]) -> list[Turn]:
    heard = [Heard(t.typed, t.words, [c.arguments for c in t.calls], [text for _, text in t.results]) for t in turns]
    return [turn._replace(person=person) for turn, person in zip(turns, people_of(heard), strict=True)]


def blocks_in(rows: Sequence[tuple[int, Message]], *, goes_on: bool = False) -> Blocks:
    """Commands and outputs of an agent that writes each command into a code block at the end of its reply and gets the
    output as a user message; empty for other agents. The messages are in order, each with its place. With `goes_on`
    they follow an earlier summary, so the first may be the output of a command before it.
    """
    answers: list[tuple[int, str, int, tuple[str, str]]] = []  # place and text, place and (words, command) of the reply
    for (before, reply), (place, row) in pairwise(rows):
        if m.is_typed(row) and (command := _command_of(reply))[1]:
            answers.append((place, m.words(row).rstrip(), before, command))
    if not (prompt := _prompt_of([text for _, text, _, _ in answers])):
        return NO_BLOCKS
    ended = [each for each in answers if _ends_with(each[1], prompt)]
    outputs: dict[int, int | None] = {place: before for place, _, before, _ in ended}
    first = next(((place, row) for place, row in rows if place >= 0), None) if goes_on else None
    if first and m.is_typed(first[1]) and _ends_with(m.words(first[1]).rstrip(), prompt):
        outputs.setdefault(first[0], None)
    return Blocks(prompt, {before: command for _, _, before, command in ended}, outputs)


def _prompt_of(outputs: Sequence[str]) -> Prompt:
    """The beginnings of the last lines, up to three, that most outputs share; empty if they do not end with a prompt.
    No person ends message after message in the same way and with such a sign.
    """
    prompt: Prompt = ()
    most = FEWEST_OUTPUTS
    for lines in range(1, MOST_PROMPT + 1):
        ends = Tally(_end_of(text, lines) for text in outputs if text.endswith(_SIGNS))
        end, times = next(iter(ends.most_common(1)), (prompt, 0))
        if times < most or times * 3 < 2 * len(outputs):
            break
        prompt, most = end, times
    return prompt


def _ends_with(text: str, prompt: Prompt) -> bool:
    return text.endswith(_SIGNS) and _end_of(text, len(prompt)) == prompt


def _end_of(text: str, lines: int) -> Prompt:
    """The beginnings of the last lines, up to a colon, after which a directory or file may change."""
    return tuple(line.partition(":")[0] for line in text.split("\n")[-lines:])


def _command_of(message: Message) -> tuple[str, str]:
    """The words of a reply before the code block at its end, and the code; the code is "" if there is no such block."""
    words = m.words(message).rstrip()
    if m.role(message) != "assistant" or m.calls(message) or not words.endswith(FENCE):
        return words, ""
    before, _, block = words.removesuffix(FENCE).rpartition(FENCE)
    language, _, code = block.partition("\n")
    return (before, code.strip()) if not language or language.isalnum() else (words, "")


def _turns(rows: Sequence[tuple[int, Message]], blocks: Blocks) -> list[Turn]:
    """The messages as turns, every text cut to the part that is read, and redacted."""
    messages = [row for _, row in rows]
    words = ["" if m.role(row) in m.RESULT_ROLES else m.words(row) for row in messages]
    by_people = [m.is_typed(row) for row in messages]
    typed = [by_person and not is_notice(text) for by_person, text in zip(by_people, words, strict=True)]
    words = ["" if by_person and not person else text
             for by_person, person, text in zip(by_people, typed, words, strict=True)]  # fmt: skip
    results: list[Sequence[tuple[str, str]]] = [m.results(row) for row in messages]
    calls = [m.calls(row) for row in messages]
    for at, (place, _) in enumerate(rows) if blocks.prompt else ():
        if place in blocks.outputs:
            output = "\n".join(words[at].rstrip().split("\n")[: -len(blocks.prompt)])
            typed[at], words[at] = False, ""
            if (reply_place := blocks.outputs[place]) is not None:
                results[at] = ((f"block {reply_place}", output),)
        elif place in blocks.commands:
            words[at], command = blocks.commands[place]
            calls[at] = [Call((f"block {place}",), "shell", json.dumps({"command": command}))]
    legible_words = iter(_within(words, typed))
    arguments = iter(_legible([call.arguments for row in calls for call in row], ARGUMENTS))
    printed = (_output(text) for row in results for _, text in row)
    texts = iter(_legible([ESCAPES.sub("", text) if "\x1b[" in text else text for text in printed]))
    return [
        Turn(
            row,
            typed[at],
            next(legible_words),
            tuple(call._replace(arguments=next(arguments)) for call in calls[at]),
            tuple((id_, next(texts)) for id_, _ in results[at]),
            place,
            _flags(row),
            day=day_of(row),
        )
        for at, (place, row) in enumerate(rows)
    ]


def _output(text: str) -> str:
    """A call's output, after a line with its exit code if that is not 0."""
    code, output = without_heading(text)
    return f"exit code {code}\n{output}" if is_failure(code) else output


def _flags(row: Message) -> tuple[bool, ...]:
    """Which of the results in a row say that their call failed."""
    if m.role(row) in m.RESULT_ROLES:
        return (is_flagged(row),)
    blocks: list[Any] = row["content"] if isinstance(row.get("content"), list) else []
    return tuple(is_flagged(b) for b in blocks if isinstance(b, dict) and b.get("type") == "tool_result")


def _within(words: list[str], typed: list[bool]) -> Iterator[str]:
    """Words of people and of the agent, each cut within their own limit, in the original order."""
    people = iter(_legible([text for text, by_person in zip(words, typed, strict=True) if by_person], TYPED, TYPED))
    agent = iter(_legible([text for text, by_person in zip(words, typed, strict=True) if not by_person]))
    return (next(people if by_person else agent) for by_person in typed)


def _legible(texts: list[str], longest: int = SCANNED, most: int = READ) -> list[str]:
    """The texts, oldest first, without secrets; of long ones only the two ends, so that all fit into `most`."""
    return redact_all(texts, _limits([len(text) for text in texts], longest, most))


def _limits(lengths: list[int], longest: int, most: int) -> list[int]:
    """Characters to read of each text: `longest` for the newest texts while half of `most` lasts, then the same number
    for all others.

    If that number would be too small, `LEAST` for the newer of them and 0 for the rest.
    """
    room, older = most, len(lengths)
    while older and room > most // 2:
        older -= 1
        room -= min(lengths[older], longest)
    room = max(room, 0)
    same = _limit(lengths[:older], longest, room)
    unread = 0 if same >= LEAST else max(older - room // LEAST, 0)
    return [0] * unread + [max(same, LEAST)] * (older - unread) + [longest] * (len(lengths) - older)


def _limit(lengths: list[int], longest: int, room: int) -> int:
    """The largest limit, up to `longest`, at which the cut lengths add up to at most `room`."""
    remaining = len(lengths)
    for length in sorted(lengths):
        if min(length, longest) * remaining > room:
            return room // remaining
        room -= min(length, longest)
        remaining -= 1
    return longest
