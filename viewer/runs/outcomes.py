"""The ways a run ends: the fields of its row for each. Also finds a commit that a killed worker did not record."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

import compaction
from viewer.history import records
from viewer.stores.changes import Commit, edits_from_json
from viewer.stores.errors import CompactionConflict, StoreError
from viewer.stores.registry import get_store, open_store

from .errors import BadSummary
from .models import OPEN_STATUSES, Run

# What to do about a rejected summary, by the engine's code; for other codes, MODEL_ADVICE.
ADVICE = {
    "cut_off": "Set the model's context window to what its server really has, or choose another model.",
    "window_too_small": "Choose a model with a larger context window, or set the one it has.",
    "not_smaller": "Choose another summariser, or let more messages be summarised.",
}
MODEL_ADVICE = "Start again, or choose another model."


def closed(status: str, sentence: str) -> dict[str, Any]:
    """Fields of a status in which no worker has the run."""
    ended = {"status": status, "holder": "", "queued_at": None, "finished_at": timezone.now()}
    return {**ended, "progress": {"sentence": sentence}}


def applied(commit: Commit, at: datetime) -> dict[str, Any]:
    """Fields of a run that was written: the plan's data is deleted, an undo needs only the receipt."""
    part = commit.session_id
    return {
        **closed("applied", f"Written into session {part}, which goes on from here." if part else "Written."),
        "applied_at": at,
        "new_session_id": part,
        "handoff_id": commit.handoff_id,
        "basis": {},
        "edits": [],
        "error_code": "",
        "error_message": "",
    }


def undone() -> dict[str, Any]:
    """Fields of a run that was undone."""
    return {"status": "undone", "holder": "", "progress": {"sentence": f"Undone {timezone.localtime():%d %b %H:%M}."}}


def redone() -> dict[str, Any]:
    """Fields of a run that was undone and applied again."""
    return {**closed("applied", "Applied again."), "applied_at": timezone.now()}


def stopped(run: Run, code: str, message: str) -> dict[str, Any]:
    """Fields of a run that was refused. It is `ready` again if only the writing failed, so that the summary is not
    lost.
    """
    status = "failed"
    if run.status in ("waiting", "applying"):
        status = "conflict" if code == CompactionConflict.code else "ready"
    fields = {**closed(status, message), "error_code": code, "error_message": message}
    if run.chunks and "chunks" in run.progress:  # the number of all parts, for those that are kept
        fields["progress"]["chunks"] = run.progress["chunks"]
    return fields


def refusal_of(problem: Exception) -> tuple[str, str]:
    """Stable code and sentence of what stopped a run; the code of a summary names its fault (`summary_cut_off`)."""
    if isinstance(problem, BadSummary) and isinstance(problem.__cause__, compaction.SummaryRejected):
        problem = problem.__cause__
    if isinstance(problem, StoreError):
        return problem.code, problem.message
    if isinstance(problem, compaction.NothingToCompact):
        return "nothing_to_compact", problem.reason
    if isinstance(problem, compaction.SummaryRejected):
        return f"summary_{problem.code}", f"{problem.reason} {ADVICE.get(problem.code, MODEL_ADVICE)}"
    if isinstance(problem, compaction.CompactionError):
        return problem.code, problem.reason
    return (
        "unexpected",
        f"Something unexpected went wrong ({type(problem).__name__}); the worker's log has the details.",
    )


def finish_if_committed(run: Run) -> bool:
    """Record a commit that was made but not recorded; returns whether there is one.

    Raises StoreError if the store cannot be read.
    """
    commit = find_commit(run)
    if commit is not None:
        ours = Run.objects.filter(pk=run.pk, holder=run.holder, status__in=OPEN_STATUSES)
        note_written(run, *commit, lambda fields: bool(ours.update(**fields)))
    return commit is not None


def note_written(run: Run, commit: Commit, at: datetime, change: Callable[[dict[str, Any]], bool]) -> bool:
    """Record a commit on the run and for History, both or neither. `change` writes fields of the run and returns
    whether it could.
    """
    with transaction.atomic():
        changed = change(applied(commit, at))
        if changed:
            records.note_written(run.pk, run.store, run.session_id, commit)
    return changed


def find_commit(run: Run) -> tuple[Commit, datetime] | None:
    """This run's commit and its time as the store has them; None if nothing was written."""
    edits = edits_from_json(run.edits)
    with open_store(get_store(run.store)) as reader:
        part = reader.newest_part(run.session_id) if run.mode == "split" else run.session_id
        commit = reader.find_commit(run.session_id, run.basis, edits, records.recorded(reader, part), run.mode)
    if commit is None:
        return None
    return commit, datetime.fromtimestamp(commit.at, UTC) if commit.at else timezone.now()
