"""Summarisers by name: each makes the text of a summary from a request of the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import compaction
from compaction import offline

from .errors import UnknownChoice


@dataclass(frozen=True, slots=True)
class Summarizer:
    """One way to make a summary: `label` is what pages call it, `ask` makes the text and may do I/O."""

    name: str
    label: str
    ask: Callable[[compaction.SummaryRequest], str]


SUMMARIZERS = {
    summarizer.name: summarizer
    for summarizer in [Summarizer("offline", "Extract, no model (nothing leaves this machine)", offline.summarize)]
}


def get_summarizer(name: str) -> Summarizer:
    """The summariser of this name. Raises UnknownChoice."""
    try:
        return SUMMARIZERS[name]
    except KeyError:
        raise UnknownChoice(f"There is no summariser {name!r}. There is: {', '.join(SUMMARIZERS)}.") from None
