"""What a service was found not to take, kept for the life of the process: servers speak one interface in many ways."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from .connections import ModelAccess
from .failures import is_too_long, words_of

T = TypeVar("T")

SMALLEST_LIMIT = 256  # tokens; smaller numbers in a refusal are versions, not limits
MOST_LESSONS = 5  # of one model; a service that goes on asking for another form is not followed
_NUMBER = re.compile(r"(?<![\w.-])\d{3,}(?![\w-])")


@dataclass
class ModelQuirks:
    """How to ask one model: the name of the output limit, the most it may be, whether usage can be asked for."""

    limit_name: str = "max_tokens"
    most: int | None = None
    usage: bool = True
    lessons: int = 0

    def limit(self, wanted: int) -> int:
        return wanted if self.most is None else min(wanted, self.most)

    def learn(self, refusal: str, sent: int) -> bool:
        """Take in why a request was refused; whether another one may do. `sent` is the limit it had."""
        if self.lessons == MOST_LESSONS or not self._take_in(refusal.casefold(), sent):
            return False
        self.lessons += 1
        return True

    def _take_in(self, text: str, sent: int) -> bool:
        if is_too_long(text):
            return False
        if self.usage and ("stream_options" in text or "include_usage" in text):
            self.usage = False
            return True
        if not re.search(r"max_(?:completion_)?tokens", text):
            return False
        smaller = [int(n) for n in _NUMBER.findall(text.replace(",", "")) if SMALLEST_LIMIT <= int(n) < sent]
        if smaller:
            self.most = max(smaller)
            return True
        if self.limit_name == "max_tokens" and "max_completion_tokens" in text:
            self.limit_name = "max_completion_tokens"
            return True
        return False


LEARNED: dict[tuple[str, str, str], ModelQuirks] = {}


def learned(connection: ModelAccess) -> ModelQuirks:
    """What is known about this model at this address."""
    return LEARNED.setdefault((connection.kind, connection.base_url, connection.model), ModelQuirks())


def asked(
    connection: ModelAccess, limit: int, refusals: tuple[type[Exception], ...], ask: Callable[[ModelQuirks], T]
) -> T:
    """What `ask` gives, asked anew in another form while the service says with one of `refusals` what it does not take.

    `limit` is the most tokens of an answer that are wanted. Raises what `ask` raises.
    """
    known = learned(connection)
    while True:
        try:
            return ask(known)
        except refusals as problem:
            if not known.learn(words_of(problem), known.limit(limit)):
                raise
