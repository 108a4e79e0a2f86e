"""The possible responses of a call, for the OpenAPI document: its own shape, or a problem."""

from __future__ import annotations

from typing import Any

from ninja import Schema

from .schemas import ProblemOut

PROBLEMS = frozenset({400, 401, 403, 404, 405, 409, 413, 422, 500, 503})


def answers(shape: type[Schema], status: int = 200) -> dict[Any, type[Schema]]:
    """django-ninja's `response=` for a call that answers with `shape` and this status."""
    return {status: shape, PROBLEMS: ProblemOut}
