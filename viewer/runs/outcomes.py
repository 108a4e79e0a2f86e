"""How a run ends: the row's fields for each outcome, and recognising a commit whose worker did not live to note it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

import compaction
from viewer.errors import CompactionConflict, StoreError
from viewer.stores.hermes.writing import Commit
from viewer.stores.history_types import Boundary
from viewer.stores.registry import get_store, open_store

from . import candidate
from .errors import BadSummary
from .models import OPEN_STATUSES, Run
from .ours import history_of
from .steps import handoff_place

# What to do about a summary that was rejected, by the engine's code; else it is the model's doing.
ADVICE = {
    "cut_off": "Set the model's context window to what its server really gives, or choose another model.",
    "window_too_small": "Choose a model with a larger context window, or set the one it has.",
    "not_smaller": "Choose another summariser, or let more messages be summarised.",
}
MODEL_ADVICE = "Start again, or choose another model."


def closed(status: str, sentence: str) -> dict[str, Any]:
    """A status in which no worker has the run."""
    return {"status": status, "holder": "", "progress": {"sentence": sentence}, "finished_at": timezone.now()}


def applied(commit: Commit, at: datetime) -> dict[str, Any]:
    """Written: where the block stands, and which clone each kept row has."""
    part = commit.new_session_id
    return {
        **closed("applied", f"Written into session {part}, which goes on from here." if part else "Written."),
        "applied_at": at,
        "new_session_id": part,
        "handoff_id": commit.handoff_id,
        "block_ids": list(commit.block_ids),
        "copies": {str(original): copy for original, copy in commit.copies.items()},
        "error_code": "",
        "error_message": "",
    }


def undone() -> dict[str, Any]:
    """Taken back."""
    return {"status": "undone", "holder": "", "progress": {"sentence": f"Undone {timezone.localtime():%d %b %H:%M}."}}


def is_undone(run: Run) -> bool:
    """Whether the store has this applied run's block out of the context, and what was before it in there again.

    Raises StoreError when the store cannot be read.
    """
    with open_store(get_store(run.store)) as reader:
        rows = reader.messages(run.session_id, [row[0] for row in candidate.snapshot(run).rows] + [run.handoff_id or 0])
    handoff = rows.pop(run.handoff_id or 0, None)
    return handoff is not None and handoff.state == "out" and any(row.state == "live" for row in rows.values())


def stopped(run: Run, code: str, message: str) -> dict[str, Any]:
    """Stopped by a refusal: back to `ready` where only the writing failed, so that the summary is not lost."""
    status = "failed"
    if run.status in ("waiting", "applying"):
        status = "conflict" if code == CompactionConflict.code else "ready"
    fields = {**closed(status, message), "error_code": code, "error_message": message}
    if run.chunks and "chunks" in run.progress:  # of how many parts those are that are kept
        fields["progress"]["chunks"] = run.progress["chunks"]
    return fields


def refusal_of(problem: Exception) -> tuple[str, str]:
    """Stable code and sentence of what stopped a run; a summary's says what was wrong with it (`summary_cut_off`)."""
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
    return "unexpected", f"Something unexpected went wrong ({type(problem).__name__}); the log of the worker says what."


def finish_if_committed(run: Run) -> bool:
    """Note a commit that was made but not noted; whether there is one.

    Raises StoreError when the store cannot be read.
    """
    found = find_commit(run)
    if found is not None:
        ours = Run.objects.filter(pk=run.pk, holder=run.holder, status__in=OPEN_STATUSES)
        ours.update(**applied(*found))
    return found is not None


def find_commit(run: Run) -> tuple[Commit, datetime] | None:
    """This run's commit and its time as the store has them, found by the handoff's text above the planned rows."""
    planned, steps = candidate.snapshot(run), candidate.planned_steps(run)
    place, content = handoff_place(steps)
    with open_store(get_store(run.store)) as reader:
        newest = reader.newest_part(run.session_id) if run.mode == "split" else run.session_id
        newer = [
            boundary for boundary in history_of(reader, newest).boundaries if boundary.handoff_id > planned.watermark
        ]
        rows = reader.messages(newest, [boundary.handoff_id for boundary in newer])
    for boundary in newer:
        row = rows.get(boundary.handoff_id)
        if row is not None and row.content == content:
            at = datetime.fromtimestamp(boundary.time, UTC) if boundary.time else timezone.now()
            part = row.session_id if row.session_id != run.session_id else ""
            return _commit_at(boundary, boundary.handoff_id - place, steps, part), at
    return None


def _commit_at(boundary: Boundary, start: int, steps: list[Any], part: str) -> Commit:
    """A block is one id range in the order of its steps; clones of late rows follow it (`writing.commit`)."""
    end = start + len(steps)
    late = {source: copy for copy, source in boundary.copies if copy >= end}
    copies = {step.id: start + number for number, step in enumerate(steps) if hasattr(step, "id")}
    block = (*range(start, end), *sorted(late.values()))
    return Commit(boundary.handoff_id, block, copies | late, live=len(block), seconds=0.0, new_session_id=part)
