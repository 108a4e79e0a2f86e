"""The texts of messages, one a piece: what is said in each, what it calls, what a tool gave back."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from . import messages as m
from .folders import spelled_out
from .handoff import flag_of, is_handoff, split
from .messages import Message
from .polite import is_notice, plain
from .redaction import redact_all
from .statements import Source, statements

LONGEST_CALL = 2_000  # characters of a call's arguments whose details its output stands under
_ORIGINS = {"person": "user", "agent": "assistant", "summary": "assistant", "call": "args", "tool": "tool"}


@dataclass(slots=True)
class Passage:
    """One text of a message: what its words, one call or one result say. `around` are the values of its call."""

    text: str
    source: Source
    message: int
    around: frozenset[str] = frozenset()

    @property
    def origin(self) -> str:
        """What the recogniser calls the source."""
        return _ORIGINS[self.source]


def passages(
    messages: Sequence[Message], which: Container[int] | None = None, *, live: bool, printed: bool = True
) -> list[Passage]:
    """The texts of messages (all, or those at the indices in `which`), without system prompts.

    With `live` what a compaction wrote into them is left out, without `printed` the results of tools are. All are
    without credentials, but what tools printed with `live`: that is long, and `_shown` redacts the little of it to be
    shown.
    """
    found: list[Passage] = []
    called: dict[str, str] = {}
    for at, message in enumerate(messages):
        for call in m.calls(message):
            called.update(dict.fromkeys(call.ids, call.arguments[:LONGEST_CALL]))
        if (which is None or at in which) and not m.is_system(message):
            found += (each for each in _of_message(message, at, called, live) if printed or each.source != "tool")
    shown = [each for each in found if each.source != "tool" or not live]
    for each, text in zip(shown, redact_all([each.text for each in shown]), strict=True):
        each.text = text
    return found


def _of_message(message: Message, at: int, called: dict[str, str], live: bool) -> Iterator[Passage]:
    for id_, text in m.results(message):
        yield Passage(text, "tool", at, around=_values(called.get(id_, "")) if text and not live else frozenset())
    if m.role(message) not in m.RESULT_ROLES:
        typed = m.is_typed(message)
        words = m.words(message)
        if typed and is_notice(words):
            yield Passage(words, "tool", at)
        elif words:
            yield Passage(plain(words) if typed else words, "person" if typed else "agent", at)
        if not live and is_handoff(message):
            parts = split(m.body(message), flag_of(message))
            yield from (Passage(spelled_out(part.text), "summary", at) for part in parts if part.kind == "summary")
    yield from (Passage(call.arguments, "call", at) for call in m.calls(message))


def _values(arguments: str) -> frozenset[str]:
    pieces = statements(arguments, "args", sentences=False) if arguments else ()
    return frozenset(value for piece in pieces for value in piece.values())
