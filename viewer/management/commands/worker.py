"""`manage.py worker`: one process that runs queued compactions and keeps the catalog of sessions."""

from __future__ import annotations

import logging
import signal
import time
from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.db import Error, connection

from viewer.catalog import sync_worker
from viewer.management.quick import QuickCommand
from viewer.runs import job, queue, recovery, workers
from viewer.serve import parent
from viewer.stores import lock_owners

POLL_SECONDS = 0.5
AWAY_SECONDS = 2.0  # between two tries to reach the site's own database

logger = logging.getLogger(__name__)


class Loop:
    """Executes one queued run after the other until a signal or, in a batch, until there is none.

    The first signal ends it after the current run. A second one ends the run as well, which another worker then
    continues; a supervised process is killed by its supervisor instead.
    """

    def __init__(self, *, batch: bool = False, supervised: bool = False) -> None:
        self.batch, self.supervised, self.running = batch, supervised, True

    def run(self) -> None:
        while self.running:
            try:
                run_id = queue.next_run()
                if run_id is not None:
                    job.compact(run_id)
            except Error as problem:
                if self.batch:
                    raise
                logger.warning("The site's own database is away: %s", problem)
                connection.close()  # a broken connection stays broken
                time.sleep(AWAY_SECONDS)
                continue
            if run_id is None:
                if self.batch:
                    return
                time.sleep(POLL_SECONDS)

    def stop(self, number: int, frame: FrameType | None) -> None:
        """The signal handler."""
        if not self.running and not self.supervised:
            signal.signal(number, signal.SIG_DFL)
            raise SystemExit(1)
        self.running = False


class Command(QuickCommand):
    """Run queued compactions until stopped."""

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
        parser.add_argument("--supervised", action="store_true", help="end when standard input ends (`manage.py up`)")

    def handle(self, *args: Any, batch: bool, supervised: bool, **options: Any) -> None:
        loop = Loop(batch=batch, supervised=supervised)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
            signal.signal(number, loop.stop)
        if supervised:
            parent.end_with_it()
        if batch:
            recovery.sweep()
            loop.run()
            sync_worker.sync_all()
            return
        name = lock_owners.new_holder()
        recovery.watch(name)
        sync_worker.watch()
        loop.run()
        workers.leave(name)
