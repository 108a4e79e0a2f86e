"""Which required files the turns after a compaction read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compaction import messages as m
from compaction.messages import Message
from viewer.workspaces import paths

from .reads import Read, in_chat_shape


class Requirement(NamedTuple):
    """A file to read: its name in the rules, and the normal absolute paths under which it may be read."""

    named: str
    paths: tuple[str, ...]


class Finding(NamedTuple):
    """The result for a required file: its path, and the first call that read it, None if none did."""

    named: str
    path: str
    read: Read | None


class TurnSpan(NamedTuple):
    """Indices of messages: the person's message that begins the turn, and the index after its last message."""

    start: int
    end: int


def audit(
    reads: Sequence[Read], required: Sequence[Requirement], workspace: str, home: str = ""
) -> tuple[Finding, ...]:
    """For each requirement, in order, whether and where it was read; `home` is the directory for "~"."""
    done = [(paths.normal(read.path, workspace, home), read) for read in reads]
    return tuple(_finding(requirement, done) for requirement in required)


def _finding(requirement: Requirement, done: Sequence[tuple[str, Read]]) -> Finding:
    for path, read in done:
        for required_path in requirement.paths:
            if paths.same(path, required_path):
                return Finding(requirement.named, required_path, read)
    return Finding(requirement.named, requirement.paths[0] if requirement.paths else "", None)


def turns(messages: Sequence[Message]) -> list[TurnSpan]:
    """The complete turns, in order.

    A turn begins with what a person typed; more typed messages before the agent says or does anything belong to the
    same turn. It is complete when the agent's last message is a reply without tool calls, or when the next turn begins.
    """
    spans: list[TurnSpan] = []
    start, last, replied = -1, -1, False  # `last`: the last message of the agent or its tools in this turn
    for at, message in enumerate(map(in_chat_shape, messages)):
        if m.role(message) == "assistant" and not m.is_standalone_handoff(message):
            last, replied = at, m.is_readable_reply(message) and not m.calls(message)
        elif m.answers(message) and not m.is_typed(message):
            last = at
        elif m.is_typed(message):
            if 0 <= start <= last:
                spans.append(TurnSpan(start, last + 1))
            start, replied = (at, False) if start < 0 or start < last else (start, replied)
    return [*spans, TurnSpan(start, last + 1)] if 0 <= start < last and replied else spans
