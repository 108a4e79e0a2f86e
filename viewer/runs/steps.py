"""The engine's edits as steps of a commit, and snapshot and steps as the JSON a run keeps."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import compaction
from compaction.apply import Edit
from viewer.stores.hermes.writing import Clone, CloneChanged, New, Snapshot, Step
from viewer.stores.message import BOOKKEEPING_ROLES

from .planning import Basis

# The original stays readable under the boundary where the clone lacks some of its text, and is superseded where it
# lacks none.
ORIGINALS: dict[str, Literal["under", "out"]] = {
    "merged": "out",
    "noted": "out",
    "shortened": "under",
    "unwrapped": "under",
}


def steps_of(basis: Basis, result: compaction.Result) -> list[Step]:
    """What a commit writes, in order: the edits by row id, and bookkeeping rows outside the summarised stretch."""
    named = {basis.sent[edit.index].id for edit in result.edits if not isinstance(edit, compaction.Insert)}
    beside = _beside(basis, named)
    first = next((row.id for row in basis.sent if row.id not in named), None)
    steps: list[Step] = []
    for edit in result.edits:
        before = first if isinstance(edit, compaction.Insert) else basis.sent[edit.index].id
        while beside and before is not None and beside[0] < before:
            steps.append(Clone(beside.popleft()))
        steps.append(_step(basis, edit))
    return [*steps, *map(Clone, beside)]


def _beside(basis: Basis, named: set[int]) -> deque[int]:
    """Bookkeeping rows that stay: all but those between two rows that leave the context."""
    kept: deque[int] = deque()
    waiting: list[int] = []
    leaving = False
    for row in basis.rows:
        if row.role in BOOKKEEPING_ROLES:
            waiting.append(row.id)
            continue
        if not leaving or row.id in named:
            kept += waiting
        waiting, leaving = [], row.id not in named
    return kept + deque(waiting)


def _step(basis: Basis, edit: Edit) -> Step:
    if isinstance(edit, compaction.Insert):
        return New(edit.message)
    row_id = basis.sent[edit.index].id
    if isinstance(edit, compaction.Keep):
        return Clone(row_id)
    return CloneChanged(row_id, edit.changes, ORIGINALS[edit.why], is_handoff=edit.why == "merged")


def to_json(steps: Iterable[Step]) -> list[Any]:
    """A clone is its row's id; the others are objects, with what they write as JSON text: JSON columns take neither NUL
    nor half a surrogate pair, and texts of a session may hold both.
    """
    return [_to_json(step) for step in steps]


def _to_json(step: Step) -> Any:
    if isinstance(step, Clone):
        return step.id
    if isinstance(step, New):
        return {"new": json.dumps(step.message)}
    changes = json.dumps(dict(step.changes))
    return {"id": step.id, "changes": changes, "original": step.original, "is_handoff": step.is_handoff}


def from_json(stored: Sequence[Any]) -> list[Step]:
    """The inverse of `to_json`."""
    return [_from_json(value) for value in stored]


def _from_json(value: Any) -> Step:
    if isinstance(value, int):
        return Clone(value)
    if "new" in value:
        return New(_loaded(value["new"]))
    return CloneChanged(**{**value, "changes": _loaded(value["changes"])})


def _loaded(stored: Any) -> Any:
    return json.loads(stored) if isinstance(stored, str) else stored


def snapshot_from_json(session_id: str, stored: dict[str, Any]) -> Snapshot:
    """The snapshot that `planning.recorded` kept."""
    device, inode = stored["file"]
    return Snapshot(session_id, tuple((row[0], row[1], row[2]) for row in stored["rows"]), (device, inode))


def handoff_place(steps: Sequence[Step]) -> tuple[int, Any]:
    """Where among the steps the handoff stands, and its exact content."""
    for place, step in enumerate(steps):
        if isinstance(step, New):
            return place, step.message["content"]
        if isinstance(step, CloneChanged) and step.is_handoff:
            return place, step.changes["content"]
    raise ValueError("These steps hold no handoff.")
