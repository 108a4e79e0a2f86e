"""Tasks of killed workers in the queue, which itself would show them as running for ever."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import QuerySet
from django.db.models.functions import Now
from django_tasks import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from viewer import holders

from . import job
from .hold import LeaseLost
from .models import OPEN_STATUSES, Run

KEPT = timedelta(days=7)  # tasks that ended, for who looks into the queue


def end_tasks(older_than: float) -> bool:
    """Mark as failed what a dead worker has, and what runs for longer than `older_than` seconds for no run of ours;
    whether a worker was found dead.

    The worker's name tells whether it is dead, as far as that can be told from this machine. How the run ends is
    told by the run alone (`recovery`).
    """
    found = False
    for task in DBTaskResult.objects.running():
        dead = bool(task.worker_ids) and holders.is_dead(task.worker_ids[-1])
        found |= dead
        if dead or _is_of_nobody(task):
            same = DBTaskResult.objects.running().filter(pk=task.pk)
            if not dead:
                same = same.filter(started_at__lt=Now() - timedelta(seconds=older_than))
            _end(same)
    return found


def end_tasks_of(worker: str) -> None:
    """Mark as failed what this worker has, which works on nothing: it could not note how a task of its ended."""
    for task in DBTaskResult.objects.running():
        if task.worker_ids[-1:] == [worker]:
            _end(DBTaskResult.objects.running().filter(pk=task.pk))


def _end(tasks: QuerySet[DBTaskResult[[int], None]]) -> None:
    tasks.update(
        status=TaskResultStatus.FAILED,
        finished_at=Now(),
        exception_class_path=f"{LeaseLost.__module__}.{LeaseLost.__qualname__}",
        traceback="The worker of this task died or lost it.",
    )


def forget_tasks() -> None:
    """Delete the tasks that ended long ago: the run says what came of them."""
    DBTaskResult.objects.finished().filter(finished_at__lt=Now() - KEPT).delete()


def _is_of_nobody(task: DBTaskResult[[int], None]) -> bool:
    """Whether it is for a run that is closed, or that was given to another task since."""
    if task.task_path != job.compact.module_path:
        return False
    run = Run.objects.filter(pk=task.args_kwargs["args"][0], status__in=OPEN_STATUSES)
    return not run.filter(task_id__in=["", str(task.pk)]).exists()
