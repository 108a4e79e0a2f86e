"""The sessions that came from a session: branches, sub-agents' sessions, those that followed it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from viewer.stores.base import ChildSession

from .columns import marks, selection
from .opening import OpenStore
from .sessions import BRANCHED, DELEGATED, read_config

CHILDREN = 1_000  # read at most; no known session has so many


def children(reader: OpenStore, parts: Sequence[str]) -> list[ChildSession]:
    """The children of a conversation's parts, oldest first. Read with the agent's index over parents."""
    if "parent_session_id" not in reader.columns.sessions:
        return []
    selected = {"id": "NULL", "title": "NULL", "model_config": "NULL", "parent_session_id": "NULL"}
    rows = reader.con.execute(
        f"SELECT {selection(reader.columns.sessions, selected)} FROM sessions "
        f"WHERE parent_session_id IN ({marks(parts)}) ORDER BY started_at, id LIMIT ?",
        [*parts, CHILDREN],
    ).fetchall()
    return [ChildSession(str(row[0]), str(row[1] or ""), _kind(row[2], row[3])) for row in rows]


def _kind(model_config: object, parent: object) -> Literal["branch", "delegate", ""]:
    """A continuation inherits the whole configuration: only a mark that names the parent itself counts."""
    config = read_config(model_config)
    if config.get(BRANCHED) == parent:
        return "branch"
    return "delegate" if config.get(DELEGATED) == parent else ""
