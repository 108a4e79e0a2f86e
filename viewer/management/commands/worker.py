"""`manage.py worker`: one process that runs queued compactions and keeps the catalog of sessions."""

from __future__ import annotations

import logging
import time
from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.db import Error, connection
from django_tasks_db.management.commands.db_worker import Worker
from django_tasks_db.models import DBTaskResult
from django_tasks_db.utils import exclusive_transaction

from viewer import holders
from viewer.catalog import sync_worker
from viewer.management.quick import QuickCommand
from viewer.runs import orphaned_tasks, recovery, workers
from viewer.runs.queues import queues_here
from viewer.up.leash import hold

POLL_SECONDS = 0.5
AWAY_SECONDS = 2.0  # between two tries to reach the site's own database

logger = logging.getLogger(__name__)


class SteadyWorker(Worker):
    """Takes tasks for the stores that are here, ends between tasks only, and outlives its database's restarts.

    The worker of django-tasks-db exits at once when it believes that no task runs, which it also does in the moment
    after it claimed one; a second signal kills its task; a lost connection or a locked database ends it; and it opens
    a connection for each look into the queue. Here the loop ends by itself within POLL_SECONDS. On a leash the parent
    ends a task that takes too long; without one, a second signal does.
    """

    leashed = False

    def run(self) -> None:
        """Until a signal or, in a batch, until nothing is queued."""
        was_away = False
        while self.running:
            try:
                if was_away:
                    orphaned_tasks.end_tasks_of(self.worker_id)
                    was_away = False
                task = self._next()
                if task is not None:
                    self.run_task(task)
            except Error as problem:
                if self.batch:
                    raise
                logger.warning("The site's own database is away: %s", problem)
                connection.close()  # a broken connection stays broken
                was_away = True
                time.sleep(AWAY_SECONDS)
                continue
            if task is None:
                if self.batch:
                    return
                time.sleep(POLL_SECONDS)

    def _next(self) -> DBTaskResult[[int], None] | None:
        """Claim the task that is next, for one worker alone."""
        waiting = DBTaskResult.objects.ready().filter(backend_name=self.backend_name, queue_name__in=queues_here())
        if not waiting.exists():  # looking takes no lock
            return None
        with exclusive_transaction(waiting.db):
            task: DBTaskResult[[int], None] | None = waiting.get_locked()
            if task is not None:
                task.claim(self.worker_id)
        return task

    def shutdown(self, signum: int, frame: FrameType | None) -> None:
        if self.running or self.leashed:
            self.running = False
        else:
            super().shutdown(signum, frame)


class Command(QuickCommand):
    """Run queued tasks until stopped."""

    help = (
        "Run queued compactions, and keep the lists of sessions up to date, until stopped. Start as many as you like, "
        "on each machine that has a store."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--batch",
            action="store_true",
            help="run what is queued or was left by a killed process, bring the lists up to date, then end",
        )
        parser.add_argument("--leash", action="store_true", help="end when standard input ends (`manage.py up`)")

    def handle(self, *args: Any, batch: bool, leash: bool, **options: Any) -> None:
        worker = SteadyWorker(
            queue_names=[],
            interval=POLL_SECONDS,
            batch=batch,
            backend_name="default",
            startup_delay=False,
            max_tasks=None,
            worker_id=holders.new_holder(),
            excluded_queue_names=[],
        )
        worker.configure_signals()
        if leash:
            worker.leashed = True
            hold()
        if batch:
            recovery.sweep()
        else:
            recovery.watch(worker.worker_id)
            sync_worker.watch()
        worker.run()
        if batch:
            sync_worker.sync_all()
        else:
            workers.leave(worker.worker_id)
