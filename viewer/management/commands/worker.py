"""`manage.py worker`: one process that runs queued compactions."""

from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.crypto import get_random_string
from django_tasks_db.management.commands.db_worker import Worker

from viewer.runs import recovery
from viewer.up.leash import hold

POLL_SECONDS = 0.5


class GentleWorker(Worker):
    """Ends between tasks only.

    The worker of django-tasks-db exits at once when it believes that no task runs, which it also does in the moment
    after it claimed one; and a second signal kills its task. Here the loop ends by itself within POLL_SECONDS. On a
    leash the parent ends a task that takes too long; without one, a second signal does.
    """

    leashed = False

    def shutdown(self, signum: int, frame: FrameType | None) -> None:
        if self.running or self.leashed:
            self.running = False
        else:
            super().shutdown(signum, frame)


class Command(BaseCommand):
    """Run queued tasks until stopped."""

    help = "Run queued compactions until stopped. Start as many as you like, on any machine that shares the database."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--batch", action="store_true", help="run what is queued, then end")
        parser.add_argument("--leash", action="store_true", help="end when standard input ends (`manage.py up`)")

    def handle(self, *args: Any, batch: bool, leash: bool, **options: Any) -> None:
        worker = GentleWorker(
            queue_names=["*"],
            interval=POLL_SECONDS,
            batch=batch,
            backend_name="default",
            startup_delay=False,
            max_tasks=None,
            worker_id=get_random_string(32),
            excluded_queue_names=[],
        )
        worker.configure_signals()
        if leash:
            worker.leashed = True
            hold()
        if not batch:
            recovery.watch()
        worker.run()
