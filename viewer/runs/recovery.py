"""Runs whose worker died: taken up again, recognised as written, or ended with a reason; never stuck.

A run is lost when it is open and its heartbeat is old. First its locks in the store are released by their holder's
name, so that a worker that is not dead after all cannot commit any more (`writing.commit` checks the lock inside its
transaction); only then is the store searched for a commit that was made and not noted, and only then may another worker
go on. So nothing is written twice.
"""

from __future__ import annotations

import logging
import threading
from datetime import timedelta

from django.db import DatabaseError, connection
from django.utils import timezone
from django_tasks import TaskResultStatus, default_task_backend
from django_tasks.exceptions import TaskResultDoesNotExist

from viewer.store import guards
from viewer.store.errors import StoreError
from viewer.store.stores import get_store

from . import job, outcomes
from .models import OPEN_STATUSES, Run

STALE_SECONDS = 120.0  # without a heartbeat (hold.BEAT_SECONDS)
SWEEP_SECONDS = 30.0
MOST_ATTEMPTS = 3  # a run that kills its worker each time must end

logger = logging.getLogger(__name__)


def watch(every: float = SWEEP_SECONDS) -> threading.Event:
    """Sweep now and every `every` seconds in a daemon thread of a worker, until the returned event is set."""
    ended = threading.Event()
    threading.Thread(target=_watch, args=(every, ended), name="recovery of runs", daemon=True).start()
    return ended


def _watch(every: float, ended: threading.Event) -> None:
    while not ended.is_set():
        try:
            sweep()
        except DatabaseError as problem:
            logger.warning("Looking for lost runs: %s", problem)
        finally:
            connection.close()
        ended.wait(every)


def sweep(older_than: float = STALE_SECONDS) -> list[Run]:
    """Recover every open run without a heartbeat for `older_than` seconds; the runs that were changed."""
    before = timezone.now() - timedelta(seconds=older_than)
    lost = Run.objects.filter(status__in=OPEN_STATUSES, heartbeat_at__lt=before).order_by("pk")
    return [run for run in lost if not _still_queued(run) and recover(run)]


def recover(run: Run) -> bool:
    """Take up, finish or end one run whose worker is gone; whether anything was changed."""
    try:
        if run.holder:
            store = get_store(run.store)
            guards.release_lock(store, run.session_id, run.holder)
            guards.release_lease(store, run.session_id, run.holder)
        if run.status == "applying" and outcomes.finish_if_committed(run):
            logger.warning("Run %s was written although its worker died.", run.pk)
            return True
    except StoreError as problem:
        logger.warning("Run %s waits for its store: %s", run.pk, problem.message)
        if run.status == "applying":  # it may have been written: only the store can tell
            return False
        return _change(run, **outcomes.stopped(run, problem.code, problem.message))
    if run.attempts >= MOST_ATTEMPTS:
        message = (
            f"The worker died {run.attempts} times on this run. Nothing was written; the log of the worker may say why."
        )
        return _change(run, **outcomes.stopped(run, "worker_lost", message))
    return _take_up(run)


def _take_up(run: Run) -> bool:
    status = "waiting" if run.status in ("waiting", "applying") else "queued"
    progress = {"sentence": "Taken up again: the worker that had it died."}
    if not _change(run, status=status, holder="", heartbeat_at=timezone.now(), progress=progress):
        return False
    logger.warning("Run %s is taken up again.", run.pk)
    job.enqueue(run)
    return True


def _change(run: Run, **fields: object) -> bool:
    """Only while the row is as it was read: a worker that lives after all, or a second sweep, may be quicker."""
    same = Run.objects.filter(pk=run.pk, status=run.status, holder=run.holder, heartbeat_at=run.heartbeat_at)
    return bool(same.update(**fields))


def _still_queued(run: Run) -> bool:
    """Whether the run only waits for a free worker."""
    if run.holder or not run.task_id or not default_task_backend.supports_get_result:
        return False
    try:
        return default_task_backend.get_result(run.task_id).status == TaskResultStatus.READY
    except TaskResultDoesNotExist:
        return False
