"""The operations on a run that pages and programs call: start, apply, discard, cancel, undo, redo. `job` does the work.

Every refusal is a StoreError (or one of `errors`) with `code` and `message`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from django.db import IntegrityError, models, transaction
from django.db.models.functions import Now
from django.utils import timezone

import compaction
from viewer.stores.base import Store
from viewer.stores.errors import CompactionConflict, NotFound, SessionBusy, StoreError
from viewer.stores.registry import get_store, open_store, writer_of

from . import candidate, outcomes, planning
from .errors import AlreadyOpen, NothingToDo, WrongStatus
from .models import OPEN_STATUSES, Run
from .pickup import PickUp, pick_up
from .plain import plain
from .planning import Options
from .providers.summarizers import get_summarizer
from .redoing import is_redoable, redo_run
from .undoing import UndoOutlook, is_undoable, outlook, undo, undo_run

__all__ = [
    "PickUp",
    "UndoOutlook",
    "apply",
    "cancel",
    "count_again",
    "discard",
    "get_run",
    "get_summary_row",
    "is_newest",
    "is_redoable",
    "is_undoable",
    "last_summarizer",
    "latest",
    "listed",
    "outlook",
    "pick_up",
    "plan_of",
    "prepare",
    "redo_run",
    "rules_of",
    "run_before",
    "runs_of",
    "start",
    "undo",
    "undo_run",
]

CANCELLABLE = ("queued", "planning", "summarizing", "waiting")
LARGE = ("plan", "report", "basis", "edits", "chunks", "summary", "draft")  # columns
JUST_ENDED = "Another run of this session started first and has just ended. Look at the session, then try again."


def start(store: Store, session_id: str, options: Options, apply: bool) -> Run:
    """Create a run for a worker; `apply=False` stops it at `ready`. An older `ready` run is discarded.

    Raises NotFound, StoreUnavailable, StoreReadOnly, SessionEnded, SessionBusy, NothingToDo, UnknownChoice or
    ModelNotSetUp; then no run is created.
    """
    return prepare(store, session_id, options, apply, queued_at=Now())


def prepare(store: Store, session_id: str, options: Options, apply: bool, queued_at: Now | None = None) -> Run:
    """`start` without the queue, unless `queued_at` is given: the caller does the run. Raises what `start` raises."""
    _require_none_open(store, session_id)
    try:
        drafted = planning.draft(store, session_id, options)
    except compaction.CompactionError as problem:
        raise NothingToDo(problem.reason) from problem
    if drafted.lock is not None:
        raise SessionBusy(planning.busy_sentence(drafted.lock))
    chosen = replace(options, strategy=drafted.strategy, mode=drafted.mode)
    run = _create(store, session_id, chosen, apply, queued_at, fallback=drafted.fallback)
    run.refresh_from_db()
    return run


def _create(
    store: Store, session_id: str, options: Options, apply: bool, queued_at: Now | None, *, fallback: str
) -> Run:
    try:
        with transaction.atomic():
            for older in _of(store, session_id).filter(status="ready").defer(*LARGE):
                Run.objects.filter(pk=older.pk, status="ready").update(
                    **_left_alone(older, "discarded", "Replaced by a newer run.")
                )
            return Run.objects.create(
                store=store.name,
                session_id=session_id,
                strategy=options.strategy,
                summarizer=options.summarizer,
                focus=plain(options.focus),
                keep_last=options.keep_last,
                mode=options.mode,
                fallback=fallback,
                carry=options.carry,
                apply=apply,
                chunks=_finished_parts(store, session_id, options),
                progress={"sentence": "Waiting for a worker."},
                queued_at=queued_at,
                heartbeat_at=Now(),
            )
    except IntegrityError as problem:
        _require_none_open(store, session_id)
        raise SessionBusy(JUST_ENDED) from problem


def _finished_parts(store: Store, session_id: str, options: Options) -> list[dict[str, str]]:
    """The parts of a long summary that the previous run finished with this model, if it failed or was cancelled."""
    last = latest(store, session_id)
    if last is None or last.status not in ("failed", "cancelled") or last.summarizer != options.summarizer:
        return []
    return last.chunks if last.model == get_summarizer(options.summarizer).model else []


def _require_none_open(store: Store, session_id: str) -> None:
    run = _of(store, session_id).filter(status__in=OPEN_STATUSES).first()
    if run is not None:
        since = timezone.localtime(run.created_at).strftime("%H:%M:%S")
        raise AlreadyOpen(
            f"Palimpsest is already compacting this session: run {run.pk}, {run.status}, since {since}.", run.pk
        )


def apply(run: Run, summary: str | None = None) -> Run:
    """Have a worker write a `ready` candidate, with exactly `summary` if it is given.

    Raises WrongStatus, SessionBusy (another run), NothingToEdit, BadSummary, or CompactionConflict: the run is
    `conflict` then and keeps its summary.
    """
    if run.status != "ready":
        raise WrongStatus(f"Run {run.pk} is {run.status}; only a run that is ready can be applied.")
    try:
        with open_store(get_store(run.store)) as reader:
            if summary is None or summary.strip() == run.summary:
                reader.basis(run.session_id, run.basis)
                changed = {}
            else:
                changed = candidate.edited(reader, run, summary)
    except CompactionConflict as problem:
        error = {"error_code": problem.code, "error_message": problem.message}
        _change(run, ("ready",), **_left_alone(run, "conflict", problem.message), **error)
        raise
    _to_waiting(run, changed)
    return run


def count_again(run: Run, summary: str) -> Run:
    """Make `summary` that of a `ready` candidate, with its own report; nothing is written to the store.

    Raises WrongStatus, NothingToEdit, BadSummary or CompactionConflict.
    """
    with open_store(get_store(run.store)) as reader:
        changed = candidate.edited(reader, run, summary)
    return _change(run, ("ready",), draft="", **changed)


def _to_waiting(run: Run, changed: dict[str, object]) -> None:
    changed |= {"queued_at": Now(), "heartbeat_at": Now(), "finished_at": None, "attempts": 0, "draft": ""}
    changed |= {"looked_at_seconds": _looked_at(run)}
    changed |= {"error_code": "", "error_message": "", "progress": {"sentence": "Waiting for a worker."}}
    try:
        with transaction.atomic():
            _change(run, ("ready",), status="waiting", **changed)
    except IntegrityError as problem:
        _require_none_open(get_store(run.store), run.session_id)
        raise SessionBusy(JUST_ENDED) from problem


def discard(run: Run) -> Run:
    """Give up a candidate. Raises WrongStatus."""
    return _change(run, ("ready", "conflict"), **_left_alone(run, "discarded", "Discarded."))


def _left_alone(run: Run, status: str, sentence: str) -> dict[str, Any]:
    """The end of a run that somebody may have looked at."""
    return {**outcomes.closed(status, sentence), "looked_at_seconds": _looked_at(run)}


def _looked_at(run: Run) -> float:
    """How long the run's candidates have waited for a person so far, in seconds."""
    waited = (timezone.now() - run.finished_at).total_seconds() if run.finished_at else 0.0
    return run.looked_at_seconds + max(waited, 0.0)


def cancel(run: Run) -> Run:
    """Stop an open run before anything is written. Raises WrongStatus if it is being written or is done."""
    holder = run.holder
    cancelled = _change(run, CANCELLABLE, **outcomes.closed("cancelled", "Cancelled; nothing was written."))
    if holder:  # its worker would also release the lock, but only after the summariser has answered
        with suppress(StoreError):  # such as a store that is no longer configured; what is not released expires
            writer_of(get_store(run.store)).release(run.session_id, holder)
    return cancelled


def get_run(run_id: int) -> Run:
    """The run of this id. Raises NotFound."""
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        raise NotFound(f"There is no run {run_id}.")
    return run


def get_summary_row(run_id: int) -> Run | None:
    """The run of this id without its large columns, to show its progress."""
    return Run.objects.defer(*LARGE).filter(pk=run_id).first()


def plan_of(run_id: int) -> dict[str, Any]:
    """The recorded plan of a run, {} before there is one. For a long session it is large."""
    return Run.objects.filter(pk=run_id).values_list("plan", flat=True).first() or {}


def rules_of(run_id: int) -> dict[str, Any]:
    """The rules of the workspace that a run read (`workspaces.Rules` as an object), {} if it has none."""
    return Run.objects.filter(pk=run_id).values_list("rules", flat=True).first() or {}


def listed(limit: int, *, before: int | None = None, large: str, **filters: str) -> list[Run]:
    """At most `limit` runs, newest first, with an id below `before`. `filters` are values of `store`, `session_id` and
    `status`; empty ones do not filter. Of the large columns, only `large` is read.
    """
    runs = Run.objects.filter(**{name: plain(value) for name, value in filters.items() if value}).order_by("-pk")
    left_out = [column for column in LARGE if column != large]
    return list((runs if before is None else runs.filter(pk__lt=before)).defer(*left_out)[:limit])


def is_newest(run: Run) -> bool:
    """Whether its session has no later run."""
    return not Run.objects.filter(store=run.store, session_id=run.session_id, pk__gt=run.pk).exists()


def run_before(run: Run) -> Run | None:
    """The run of its session before this one, without its large columns."""
    earlier = Run.objects.filter(store=run.store, session_id=run.session_id, pk__lt=run.pk)
    return earlier.defer(*LARGE).order_by("-pk").first()


def last_summarizer(store: Store) -> str:
    """The summariser of the store's last summary; "" before the first one."""
    runs = Run.objects.filter(store=store.name, strategy="summary").order_by("-pk")
    return runs.values_list("summarizer", flat=True).first() or ""


def runs_of(store: Store, session_id: str) -> list[Run]:
    """The runs of a session, newest first."""
    return list(_of(store, session_id))


def latest(store: Store, session_id: str) -> Run | None:
    """The newest run of a session; its large columns are read on first access."""
    return _of(store, session_id).defer(*LARGE).first()


def _of(store: Store, session_id: str) -> models.QuerySet[Run]:
    return Run.objects.filter(store=store.name, session_id=plain(session_id)).order_by("-pk")


def _change(run: Run, allowed: tuple[str, ...], **fields: object) -> Run:
    """Change the row only while its status is one of `allowed`: a worker may be quicker."""
    changed = Run.objects.filter(pk=run.pk, status__in=allowed).update(**fields)
    run.refresh_from_db()
    if not changed:
        raise WrongStatus(
            f"Run {run.pk} is {run.status}, and this is possible only while it is {' or '.join(allowed)}."
        )
    return run
