"""Whether a session needs compaction soon: its tokens in context against the agent's own threshold."""

from __future__ import annotations

from viewer.catalog.models import SessionIndex
from viewer.stores.base import Store
from viewer.stores.registry import agent_of

NEAR = 0.9  # of the threshold
USUAL = 0.75  # of the window, if the agent is configured not to compact by itself


def threshold(store: Store, line: SessionIndex) -> int:
    """The tokens in context at which this session should be compacted."""
    tokens = agent_of(store).threshold(line.model, line.window)
    return int(line.window * USUAL) if tokens is None else tokens


def is_near(store: Store, line: SessionIndex) -> bool:
    """Whether its tokens are close to the threshold, or beyond it; False while they are not counted."""
    return line.tokens is not None and line.window > 0 and line.tokens >= NEAR * threshold(store, line)
