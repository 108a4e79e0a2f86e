"""A branch made here of a session that the real agent wrote."""

from __future__ import annotations

from pathlib import Path

from tests.interop import ours
from viewer.runs import branching as runs


def branch(database: Path, session_id: str) -> str:
    return runs.branch(ours.store_of(database), session_id, None)
