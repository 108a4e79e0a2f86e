"""What a summariser is, who listens while it works, and what a call of a model takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import compaction


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls of a model took: tokens as the provider counted them, `cost` in US dollars (None: not known)."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        known = self.cost is not None and other.cost is not None
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            (self.cost or 0.0) + (other.cost or 0.0) if known else None,
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class ProgressCallback(Protocol):
    """Who waits for a summary. Either method may raise, which ends the call to the model."""

    def heard(self, piece: str) -> None:
        """The next piece of the answer, "" before each attempt and while the wait goes on."""

    def spent(self, usage: Usage) -> None:
        """What a call took; once a call, also of one whose answer is then rejected."""


@dataclass(frozen=True, slots=True)
class Summarizer:
    """One way to make a summary: `label` is what pages call it, `ask` makes the text and may do I/O.

    `window` is what it can read and write at once, in tokens; None: anything. `local` ones send nothing anywhere.
    """

    name: str
    label: str
    ask: Callable[[compaction.SummaryRequest, ProgressCallback], str]
    local: bool = False
    model: str = ""
    window: int | None = None
