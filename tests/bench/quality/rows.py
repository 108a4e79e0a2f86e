"""Compactions in a row, with further messages of the same transcript between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tests.bench.quality.engine import Engine
from tests.bench.quality.messages import Message, whole_until

TIMES = 5


def stages(messages: Sequence[Message], first: float, last: float = 0.9, times: int = TIMES) -> list[list[Message]]:
    """The messages up to the first compaction, those from there to the second, and so on, in equal steps."""
    shares = [first + (last - first) * step / (times - 1) for step in range(times)]
    ends = [0, *(whole_until(messages, share) for share in shares)]
    return [list(messages[start:end]) for start, end in zip(ends, ends[1:], strict=False)]


def in_a_row(
    steps: Sequence[list[Message]], compact: Callable[[list[Message]], list[Message]]
) -> Iterator[list[Message]]:
    """What each compaction leaves, of what the one before left and the messages behind it."""
    left: list[Message] = []
    for step in steps:
        left = compact([*left, *step])
        yield left


def after_five(messages: Sequence[Message], engine: Engine, first: float) -> list[Message]:
    """What five compactions by the engine leave of a transcript, the first one at this share of its messages."""
    *_, left = in_a_row(stages(messages, first), lambda context: engine.compact(context).left)
    return left
