"""Boundaries of a History, by their handoffs."""

from __future__ import annotations

from viewer.stores.history_types import Boundary, History


def boundary_of(history: History, handoff_id: int) -> Boundary:
    return next(each for each in history.boundaries if each.handoff_id == handoff_id)
