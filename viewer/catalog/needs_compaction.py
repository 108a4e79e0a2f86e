"""Whether a session needs compaction soon: its tokens in context against the agent's own threshold, and somebody may go
on with it, so it is open and was active lately.
"""

from __future__ import annotations

import time
from typing import Literal

from viewer.stores.base import Store
from viewer.stores.registry import agent_of

NEAR = 0.9  # of the threshold
LATELY = 30 * 86_400  # seconds; a session that rests longer is hardly gone on with
USUAL = 0.75  # of the window, if the agent is configured not to compact by itself


def threshold(store: Store, model: str, window: int) -> int:
    """The tokens in context at which a session of this model should be compacted."""
    tokens = agent_of(store).threshold(model, window)
    return int(window * USUAL) if tokens is None else tokens


def is_near(store: Store, model: str, window: int, tokens: int | None) -> bool:
    """Whether so many tokens are close to the threshold, or beyond it; False while they are not counted."""
    return tokens is not None and window > 0 and tokens >= NEAR * threshold(store, model, window)


def fullness(window: int, tokens: int | None, *, near: bool) -> Literal["over", "near", "full", ""]:
    """What colours the bar of a window: "over" for more tokens than it takes, "near" for so many that the session is
    near its threshold. One that does not need compaction, because it is not `near` or nobody goes on with it, is "full"
    where nothing more fits, else "".
    """
    if near:
        return "over" if tokens is not None and 0 < window < tokens else "near"
    return "full" if tokens is not None and 0 < window <= tokens else ""


def lately() -> float:
    """The time since which a session was active lately, by the hour: lists and counts of one hour agree."""
    return time.time() // 3_600 * 3_600 - LATELY
