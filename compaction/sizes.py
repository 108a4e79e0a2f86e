"""Tokens of the messages of one transcript, counted once and only as far as somebody asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from . import limits
from . import messages as m
from .messages import Message
from .tokens import Counter, message_tokens

SLACK = 8  # tokens by which a text may differ from the sum of its parts


@dataclass(slots=True)
class Sizes:
    """Tokens of each message, counted once and only when asked for."""

    messages: Sequence[Message]
    count: Counter
    known: dict[int, int] = field(default_factory=dict)

    def __getitem__(self, index: int) -> int:
        size = self.known.get(index)
        if size is None:
            size = self.known[index] = message_tokens(self.messages[index], self.count)
        return size

    def total(self, indices: Iterable[int]) -> int:
        """Tokens of these messages together."""
        return sum(self[i] for i in indices)

    def up_to(self, indices: Iterable[int], limit: int) -> int:
        """Tokens of these messages together if fewer than `limit`, else some number from `limit` on.

        Counts no more messages than that needs, and of a long one no more than its start.
        """
        total = 0
        for i in indices:
            if total >= limit:
                break
            total += self._least(i, limit - total)
        return total

    def reach(self, indices: Iterable[int], limit: int) -> bool:
        """Whether these messages have at least `limit` tokens; counts no more of them than that needs."""
        return self.up_to(indices, limit) >= limit

    def _least(self, index: int, limit: int) -> int:
        if index not in self.known:
            words = m.countable(self.messages[index])
            if shows_tokens(words, limit, self.count):
                return limit
        return self[index]


def shows_tokens(text: str, tokens: int, count: Counter) -> bool:
    """Whether the start of a long text shows already that it has this many tokens."""
    start = text[: tokens * limits.CHARACTERS_A_TOKEN]
    return len(start) < len(text) and count(start) >= tokens + SLACK
