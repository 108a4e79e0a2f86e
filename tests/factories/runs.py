"""Runs, waited for or done beside a test."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_django import Settings

    from viewer.runs.models import Run


def do_at_once(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have whoever puts a run into the queue find it done, while `settings.AT_ONCE`: as if a worker was that quick.

    Only for those who call `service.start`, not for a `start` that they imported before.
    """
    from viewer.runs import job, recovery, service  # not before Django is set up
    from viewer.runs.models import Run

    def then_done(queued: Callable[..., Any]) -> Callable[..., Any]:
        def done(*given: Any, **named: Any) -> Any:
            result = queued(*given, **named)
            if settings.AT_ONCE and result:
                run = result if isinstance(result, Run) else given[0]
                job.compact(run.pk)
                run.refresh_from_db()
            return result

        return done

    settings.AT_ONCE = True
    for module, name in ((service, "start"), (service, "apply"), (recovery, "_take_up")):
        monkeypatch.setattr(module, name, then_done(getattr(module, name)))


def in_thread(run: Run) -> threading.Thread:
    """The thread that works on this run, as another process would."""
    from django.db import connection

    from viewer.runs import job  # not before Django is set up

    def work() -> None:
        try:
            job.compact(run.pk)
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
