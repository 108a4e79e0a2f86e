"""The jobs of runs beside a test."""

from __future__ import annotations

import threading

from django.db import connection

from viewer.runs import job
from viewer.runs.models import Run


def in_thread(run: Run) -> threading.Thread:
    """The thread that works on this run, as another process would."""

    def work() -> None:
        try:
            job.compact.call(run.pk)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    return thread
