"""Whether a session needs compaction soon: its tokens in context against the agent's own threshold."""

from __future__ import annotations

from viewer.stores.base import Store
from viewer.stores.registry import agent_of

NEAR = 0.9  # of the threshold
USUAL = 0.75  # of the window, if the agent is configured not to compact by itself


def threshold(store: Store, model: str, window: int) -> int:
    """The tokens in context at which a session of this model should be compacted."""
    tokens = agent_of(store).threshold(model, window)
    return int(window * USUAL) if tokens is None else tokens


def is_near(store: Store, model: str, window: int, tokens: int | None) -> bool:
    """Whether so many tokens are close to the threshold, or beyond it; False while they are not counted."""
    return tokens is not None and window > 0 and tokens >= NEAR * threshold(store, model, window)
