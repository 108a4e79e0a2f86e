"""Recovers runs whose worker died: they are resumed, recognised as written, or ended with a reason.

A run is lost if it is open and its heartbeat is old, or its worker is certainly dead. Its locks in the store are
released first, by the name of their holder, so that a worker that is alive after all cannot commit any more (a kind
checks the lock inside its commit). Only then is the store searched for a commit that was not recorded, and only then
may another worker continue. So nothing is written twice. Undo and redo also record their holder on the run.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, TypedDict

from django.conf import settings
from django.db import Error, connection, transaction
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.db.models.functions import Now

from viewer.history import records
from viewer.history.models import Compaction
from viewer.stores import lock_owners
from viewer.stores.changes import CommitState
from viewer.stores.errors import NotFound, StoreError
from viewer.stores.registry import all_stores, get_store, identity, open_store, writer_of

from . import outcomes, workers
from .models import OPEN_STATUSES, Run
from .queue import stores_here
from .signals import applied

STALE_SECONDS = float(settings.LOST_AFTER)  # without a heartbeat
SWEEP_SECONDS = STALE_SECONDS / 12
MOST_ATTEMPTS = 3  # a run that kills its worker every time must end
AWAY_LIMITS = 10  # heartbeat limits without a sign of any worker that has the store, before its runs are given up
UNKNOWN = "outcome_unknown"  # the error code of a run that may have been written to a store that cannot be read
HEAVY = ("plan", "report", "basis", "edits", "chunks", "summary")

logger = logging.getLogger(__name__)


class Ages(TypedDict):
    """Whether the heartbeat is old, and very old, by the database's clock."""

    silent: bool
    away: bool


if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    Aged = WithAnnotations[Run, Ages]


def watch(worker: str, every: float = SWEEP_SECONDS) -> threading.Event:
    """Sweep now and every `every` seconds in a daemon thread of this worker, and sign for it, until the returned event
    is set.
    """
    ended = threading.Event()
    threading.Thread(target=_watch, args=(worker, every, ended), name="recovery of runs", daemon=True).start()
    return ended


def _watch(worker: str, every: float, ended: threading.Event) -> None:
    tidied = signed = 0.0
    while not ended.is_set():
        try:
            if not signed or time.monotonic() - signed >= workers.SIGN_SECONDS:
                workers.sign(worker)
                signed = time.monotonic()
            sweep()
            if not tidied or time.monotonic() - tidied >= STALE_SECONDS:
                tidy()
                tidied = time.monotonic()
        except Error as problem:
            logger.warning("Looking for lost runs: %s", problem)
        except Exception:
            logger.exception("Looking for lost runs")
        finally:
            connection.close()
        wait_began = time.time()
        ended.wait(every)
        if time.time() - wait_began > every + STALE_SECONDS / 2:  # this machine slept: let its workers beat first
            ended.wait(every)


def sweep(older_than: float = STALE_SECONDS) -> list[Run]:
    """Recover every lost open run, and record interrupted undos and redos. Returns the changed runs."""
    if workers.forget_dead():
        tidy()
    here = stores_here()
    runs = _light(older_than).filter(status__in=OPEN_STATUSES)
    lost = (run for run in runs if (_is_lost(run) if run.store in here else run.away))
    changed: list[Run] = [run for run in lost if _try_step(recover, run)]
    unknown = Run.objects.filter(status="failed", error_code=UNKNOWN, store__in=here)
    changed += [run for run in unknown if _try_step(_look_up, run)]
    undoing = _light(older_than).filter(status="applied", store__in=here).exclude(holder="")
    died = (run for run in undoing if run.silent or lock_owners.is_dead(run.holder))
    changed += [run for run in died if _try_step(_note_undone, run)]
    redoing = _light(older_than).filter(status="undone", store__in=here).exclude(holder="")
    ended = (run for run in redoing if run.silent or lock_owners.is_dead(run.holder))
    changed += [run for run in ended if _try_step(_note_redone, run)]
    return changed


def tidy() -> None:
    """Release the locks in the stores that our dead processes left."""
    here = stores_here()
    for store in all_stores():
        if store.name in here:
            try:
                writer_of(store).release_dead()
            except StoreError as problem:
                logger.debug("No look for locks: %s", problem.message)


def _release(run: Run) -> None:
    """Release the locks of a run's worker in the store. Raises StoreError."""
    writer_of(get_store(run.store)).release(run.session_id, run.holder)


def recover(run: Run) -> bool:
    """Resume, finish or end one run whose worker is gone; returns whether anything was changed."""
    try:
        if run.holder:
            _release(run)
        if run.status == "applying" and outcomes.finish_if_committed(run):
            logger.warning("Run %s was written although its worker died.", run.pk)
            run.refresh_from_db()
            applied.send(Run, run=run)
            return True
        identity(get_store(run.store))
    except StoreError as problem:
        return _end_without_store(run, problem)
    if run.attempts >= MOST_ATTEMPTS:
        message = (
            f"The worker died {run.attempts} times on this run. Nothing was written; the worker's log may say why."
        )
        return _change(run, **outcomes.stopped(run, "worker_lost", message))
    return _take_up(run)


# -- which runs are lost ---------------------------------------------------------------------------------------------


def _light(older_than: float) -> QuerySet[Aged]:
    """Runs without their large columns, with the age of their heartbeat."""

    def older(seconds: float) -> ExpressionWrapper[Q]:
        return ExpressionWrapper(Q(heartbeat_at__lt=Now() - timedelta(seconds=seconds)), BooleanField())

    runs = Run.objects.defer(*HEAVY).order_by("pk")
    return runs.annotate(silent=older(older_than), away=older(AWAY_LIMITS * older_than))


def _is_lost(run: Aged) -> bool:
    """Whether no worker has the run or will get it. One that waits for a free worker of this store is not lost."""
    if run.holder:
        return run.silent or lock_owners.is_dead(run.holder)
    if run.queued_at and run.silent:  # so that machines without its store see that another has it
        _same(run).update(heartbeat_at=Now())
    return run.silent and not run.queued_at


# -- how they end ----------------------------------------------------------------------------------------------------


def _try_step(step: Callable[[Run], bool], run: Run) -> bool:
    """`step`, with errors logged: one broken run must not block the others, or keep its session busy."""
    try:
        return step(run)
    except Error:
        raise
    except Exception as problem:
        logger.exception("Run %s cannot be recovered", run.pk)
        return run.is_open and _end_without_store(run, StoreError(outcomes.refusal_of(problem)[1]))


def _take_up(run: Run) -> bool:
    status = "waiting" if run.status in ("waiting", "applying") else "queued"
    progress = {"sentence": "Resumed: its worker died."}
    if not _change(run, status=status, holder="", queued_at=Now(), heartbeat_at=Now(), progress=progress):
        return False
    logger.warning("Run %s is resumed.", run.pk)
    return True


def _end_without_store(run: Run, problem: StoreError) -> bool:
    """End the run. One that may have been written keeps its holder, and is checked once the store can be read."""
    message = problem.message
    if isinstance(problem, NotFound):
        message += f" No worker that has this store has been seen for {AWAY_LIMITS * STALE_SECONDS / 60:.0f} minutes."
    logger.warning("Run %s: %s", run.pk, message)
    if run.status != "applying":
        return _change(run, **outcomes.stopped(run, problem.code, message))
    message = (
        f"The worker died while it was writing. Whether it wrote the summary is checked as soon as possible: {message}"
    )
    return _change(run, **{**outcomes.stopped(run, UNKNOWN, message), "status": "failed", "holder": run.holder})


def _look_up(run: Run) -> bool:
    """Record whether a run of unknown outcome was written; returns whether anything changed."""
    try:
        _release(run)
        commit = outcomes.find_commit(run)
    except StoreError:
        return False
    message = "The worker died before it wrote the summary. The summary is kept: apply it, or plan again."
    if commit:
        return outcomes.note_written(run, *commit, lambda fields: _change(run, **fields))
    return _change(run, **outcomes.closed("ready", message), error_code="worker_lost", error_message=message)


def _note_undone(run: Run) -> bool:
    """Finish an undo that died between the store and our row: record it if it was done, else release the run."""
    try:
        _release(run)
        written = Compaction.objects.filter(run=run.pk).first()
        with open_store(get_store(run.store)) as reader:
            state = reader.commit_state(run.session_id, written.receipt) if written else CommitState("gone")
    except StoreError:
        return False
    if state.state != "undone":
        return _change(run, holder="")
    with transaction.atomic():
        records.note_undone(run.store, run.session_id, run.handoff_id or 0, state.undo)
        return _change(run, **outcomes.undone())


def _note_redone(run: Run) -> bool:
    """Finish a redo that died between the store and our row: record it if it was done, else release the run."""
    try:
        _release(run)
        written = Compaction.objects.filter(run=run.pk).first()
        with open_store(get_store(run.store)) as reader:
            is_written = bool(written and reader.commit_state(run.session_id, written.receipt).is_written)
    except StoreError:
        return False
    if not is_written:
        return _change(run, holder="")
    with transaction.atomic():
        records.note_redone(run.pk)
        changed = _change(run, **outcomes.redone())
    run.refresh_from_db()
    applied.send(Run, run=run)
    return changed


def _change(run: Run, **fields: object) -> bool:
    """Update the row only if it is unchanged since it was read: its worker or another sweep may be quicker."""
    return bool(_same(run).update(**fields))


def _same(run: Run) -> QuerySet[Run]:
    # SQLite compares times as text: the database wrote "04.000" where Python writes "04", so 1 ms is added.
    not_since = run.heartbeat_at + timedelta(milliseconds=1)
    return Run.objects.filter(pk=run.pk, status=run.status, holder=run.holder, heartbeat_at__lte=not_since)
