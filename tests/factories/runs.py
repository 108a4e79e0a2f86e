"""Runs, waited for or done beside a test."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viewer.runs.models import Run

IMMEDIATE = {"default": {"BACKEND": "django_tasks.backends.immediate.ImmediateBackend", "QUEUES": []}}
QUEUED = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend", "QUEUES": []}}


def in_thread(run: Run) -> threading.Thread:
    """The thread that works on this run, as another process would."""
    from django.db import connection

    from viewer.runs import job  # not before Django is set up

    def work() -> None:
        try:
            job.compact.call(run.pk)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def until(run: Run, *statuses: str) -> Run:
    """Wait for a status."""
    end = time.monotonic() + 60
    while run.status not in statuses:
        assert time.monotonic() < end, f"still {run.status}: {run.progress} {run.error_message}"
        time.sleep(0.02)
        run.refresh_from_db()
    return run
