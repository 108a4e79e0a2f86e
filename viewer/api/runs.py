"""Runs: ask for a compaction, follow it, apply, discard, cancel, undo, redo."""

from __future__ import annotations

from django.http import HttpRequest
from ninja import Router
from ninja.responses import Status

from viewer.runs import service
from viewer.runs.errors import WrongStatus
from viewer.stores.registry import get_store
from viewer.web import cursors

from . import shapes
from .answers import answers
from .run_schemas import ApplyIn, ReportOut, RunOut, RunsOut
from .schemas import Limit, RunIn
from .scopes import COMPACT, READ

router = Router(tags=["runs"])


@router.post(
    "/stores/{name:store}/sessions/{name:session_id}/runs",
    auth=COMPACT,
    response=answers(RunOut, 202),
    summary="Compact a session",
)
def start(request: HttpRequest, store: str, session_id: str, body: RunIn) -> Status[RunOut]:
    """Hand a compaction to a worker: with `apply` it is written, without it stops as a preview to look at."""
    started = service.start(get_store(store), session_id, shapes.options(body), apply=body.apply)
    return Status(202, shapes.run(started))


@router.get("/runs", auth=READ, response=answers(RunsOut), summary="Runs")
def runs(
    request: HttpRequest, store: str = "", session_id: str = "", status: str = "", limit: Limit = 50, cursor: str = ""
) -> RunsOut:
    """Newest first."""
    before = cursors.read(cursor, "runs", int)[0] if cursor else None
    listed = service.listed(
        limit + 1, before=before, large="summary", store=store, session_id=session_id, status=status
    )
    more = cursors.written("runs", listed[limit - 1].pk) if len(listed) > limit else None
    items, broken = shapes.runs(listed[:limit])
    return RunsOut(items=list(items), next=more, broken=shapes.broken(broken))


@router.get("/runs/{int:run_id}", auth=READ, response=answers(RunOut), summary="One run")
def run(request: HttpRequest, run_id: int) -> RunOut:
    """The run as it is now."""
    return shapes.run(service.get_run(run_id))


@router.get("/runs/{int:run_id}/report", auth=READ, response=answers(ReportOut), summary="What a run keeps and loses")
def report(request: HttpRequest, run_id: int) -> ReportOut:
    """Available as soon as there is a summary."""
    stored = service.get_run(run_id)
    if not stored.report:
        raise WrongStatus(f"Run {run_id} is {stored.status} and has no summary to report on.")
    reasons, recompaction = stored.plan["reasons"], stored.plan["recompaction"]
    return ReportOut(run=run_id, reasons=reasons, recompaction=recompaction, **stored.report)


@router.post("/runs/{int:run_id}/apply", auth=COMPACT, response=answers(RunOut, 202), summary="Write a preview")
def apply(request: HttpRequest, run_id: int, body: ApplyIn | None = None) -> Status[RunOut]:
    """Hand a ready preview to a worker, with the given text or unchanged."""
    return Status(202, shapes.run(service.apply(service.get_run(run_id), body.summary if body else None)))


@router.post("/runs/{int:run_id}/discard", auth=COMPACT, response=answers(RunOut), summary="Give up a preview")
def discard(request: HttpRequest, run_id: int) -> RunOut:
    """Only a preview that was not written."""
    return shapes.run(service.discard(service.get_run(run_id)))


@router.post("/runs/{int:run_id}/cancel", auth=COMPACT, response=answers(RunOut), summary="Stop a run")
def cancel(request: HttpRequest, run_id: int) -> RunOut:
    """Before it is being written."""
    return shapes.run(service.cancel(service.get_run(run_id)))


@router.post("/runs/{int:run_id}/undo", auth=COMPACT, response=answers(RunOut), summary="Take a compaction back")
def undo(request: HttpRequest, run_id: int) -> RunOut:
    """The messages from before return to the context; those written since stay."""
    stored = service.get_run(run_id)
    service.undo_run(stored)
    return shapes.run(stored)


@router.post("/runs/{int:run_id}/redo", auth=COMPACT, response=answers(RunOut), summary="Apply an undone one again")
def redo(request: HttpRequest, run_id: int) -> RunOut:
    """If the store can do it (Codex) and no later compaction was made: the same summary, followed by what was written
    since.
    """
    stored = service.get_run(run_id)
    service.redo_run(stored)
    return shapes.run(stored)
