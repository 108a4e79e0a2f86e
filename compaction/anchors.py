"""Anchors: the exact things a text names that cannot be guessed again once they are gone.

Theory: paths, URLs, ids and plain numbers stand inside words, so a text is taken apart into words and each distinct
word is looked at once. Numbers with a unit behind a space, error lines, commands and constraints are longer and are
found in the text itself. An anchor survives where it stands as a whole in what is left, not as a part of a longer word.
Survival of text is an upper bound on what a model makes of it.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from . import messages as m
from .categories import Category
from .messages import Message
from .names import MEASURE, Kind, names_of, words_of
from .redaction import redact
from .sentences import error_line, is_binding, pasted_error, sentences
from .statements import Source

LONGEST_LINE = 600  # characters of an anchor that is a line or a sentence
COMMAND_KEYS = ("command", "cmd", "script")  # arguments under which tools take a command line


@dataclass(frozen=True, slots=True)
class Anchor:
    """One exact thing. `message` is the index of the message it stands in, `start` its offset in the text there (0 of
    what tools printed).

    `line` is the line or sentence it stands in, "" if that was not looked for, `source` who said it, `category` what a
    statement is, "" for none of the categories. Texts are without credentials: what is lost is shown and kept.
    """

    kind: Kind
    text: str
    message: int = field(default=0, compare=False)
    start: int = field(default=0, compare=False)
    line: str = field(default="", compare=False)
    source: Source = field(default="agent", compare=False)
    category: Category = field(default="", compare=False)


def commands_of(arguments: str) -> list[str]:
    """The command lines in a call's arguments (JSON text)."""
    if not any(key in arguments for key in COMMAND_KEYS):
        return []
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return []
    found = [value.get(key) for key in COMMAND_KEYS] if isinstance(value, dict) else []
    return [line.strip() for line in found if isinstance(line, str) and line.strip()]


# --- anchors of texts and messages -----------------------------------------------------------------------------------
def anchors_of(text: str, message: int = 0, *, printed: bool = False) -> Iterator[Anchor]:
    """The anchors any text holds, in order within each kind: names in words, measures, an error line.

    In output that a tool `printed` a line need only speak of trouble; elsewhere it must look like a program's message.
    """
    for word in words_of(text):
        for kind, name in names_of(word):
            yield Anchor(kind, name, message, text.find(name))
    for match in MEASURE.finditer(text):
        yield Anchor("number", match[0], message, match.start())
    line = error_line(text) if printed else pasted_error(text)
    if line:
        yield Anchor("error", line[:LONGEST_LINE], message, text.find(line))


def anchors_in(
    messages: Iterable[Message], which: Container[int] | None = None, *, spoken: bool = False
) -> dict[Anchor, None]:
    """The distinct anchors of messages (all, or those at the indices in `which`), each where it stands first.

    Those of their text, the arguments of their calls and the constraints in what people typed; with `spoken` only those
    in the words of people and replies.
    """
    found: dict[Anchor, None] = {}
    for at, message in enumerate(messages):
        if which is None or at in which:
            for anchor in _of_message(message, at, spoken):
                found.setdefault(anchor)
    return found


def _of_message(message: Message, at: int, spoken: bool) -> Iterator[Anchor]:
    content = m.live_content(message)
    if m.is_system(message) or (spoken and m.role(message) in m.RESULT_ROLES):
        return
    typed = spoken or m.TYPED in message
    text = redact(m.words(message) if typed else m.text(content))
    yield from anchors_of(text, at, printed=bool(m.answers(message)))
    if m.is_typed(message):
        for sentence in sentences(text):
            if is_binding(sentence):
                yield Anchor("constraint", sentence[:LONGEST_LINE], at, text.find(sentence))
    if spoken:
        return
    for call in m.calls(message):
        yield from _of_arguments(redact(call.arguments), at)


def _of_arguments(arguments: str, at: int = 0) -> Iterator[Anchor]:
    yield from anchors_of(arguments, at)
    for line in commands_of(arguments):
        yield Anchor("command", redact(line)[:LONGEST_LINE], at)  # again: JSON may have written it with escapes


# --- which survive ---------------------------------------------------------------------------------------------------
Counts = dict[Kind, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Survival:
    """The survival of a set of anchors: by kind (survived, all), and those that are lost.

    `by_kind` and `lost` are of what people and the agent said and calls were made with, `printed` and `lost_printed` of
    what tools merely printed; `statements` counts lines and sentences that say something (survived, all), and
    `lost_statements` are those of them that are lost, by category (instructions first), of each the newest first.
    `lost_printed` names no more than the first two thousand. See `survival.survival_of`.
    """

    by_kind: Counts
    lost: tuple[Anchor, ...]
    printed: Counts = field(default_factory=dict)
    lost_printed: tuple[Anchor, ...] = ()
    statements: tuple[int, int] = (0, 0)
    lost_statements: tuple[Anchor, ...] = ()

    @property
    def total(self) -> int:
        """How many anchors there were."""
        return sum(total for _, total in self.by_kind.values())

    @property
    def share(self) -> float:
        """The share that survived, 0.0 to 1.0; 1.0 where there were none."""
        return 1 - len(self.lost) / self.total if self.total else 1.0


def survival(anchors: Iterable[Anchor], left: str) -> Survival:
    """Which anchors stand in the text that is left."""
    words = {name for word in words_of(left) for _, name in names_of(word)}
    flat = " ".join(left.split())
    by_kind: dict[Kind, tuple[int, int]] = {}
    lost = []
    for anchor in anchors:
        kept, total = by_kind.get(anchor.kind, (0, 0))
        stands = anchor.text in words or _stands(" ".join(anchor.text.split()), flat)
        by_kind[anchor.kind] = (kept + stands, total + 1)
        if not stands:
            lost.append(anchor)
    return Survival(by_kind, tuple(lost))


def _stands(text: str, flat: str) -> bool:
    """Whether the text occurs with no letter or digit directly before or behind it."""
    at = flat.find(text)
    while at >= 0:
        end = at + len(text)
        before = at and text[0].isalnum() and flat[at - 1].isalnum()
        behind = end < len(flat) and text[-1].isalnum() and flat[end].isalnum()
        if not before and not behind:
            return True
        at = flat.find(text, at + 1)
    return False


def hindsight(summarised: Sequence[Message], left: str, later: Sequence[Message]) -> Survival:
    """Of the anchors of summarised messages that later messages use again, which stand in what was left.

    A use is a mention by a person, in a reply or in a call's arguments; output that merely shows it again is none.
    """
    used = dict.fromkeys(anchor for row in later for anchor in _uses(row))
    return survival((anchor for anchor in anchors_in(summarised) if anchor in used), left)


def _uses(message: Message) -> Iterator[Anchor]:
    yield from _of_message(message, 0, spoken=True)
    for call in m.calls(message):
        yield from _of_arguments(redact(call.arguments))
