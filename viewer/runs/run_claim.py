"""One worker's claim on a run: it claims the row, sends heartbeats while it works, and loses the run if somebody else
changes it.

The holder's name is on the row and on what is held in the store. Every change of the row is one UPDATE that requires
this holder and an open status, so a worker cannot change a run that was cancelled or that another worker resumed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from functools import cached_property
from types import TracebackType
from typing import Any

from django.conf import settings
from django.db import Error, InterfaceError, OperationalError, connection, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from viewer.stores import lock_owners
from viewer.stores.base import Store
from viewer.stores.registry import get_store, writer_of

from .models import OPEN_STATUSES, Run
from .plain import plain

BEAT_SECONDS = settings.LOST_AFTER / 12  # between heartbeats on the row, by the database's clock
AGAIN_SECONDS = 0.5  # between two attempts to reach our own database
UNCLAIMED = ("queued", "waiting")  # the two statuses in which a run waits for a worker

logger = logging.getLogger(__name__)


class LeaseLost(Exception):
    """The run was cancelled, or another worker has it: stop, and change nothing more."""


def unclaimed() -> QuerySet[Run]:
    """Runs that a worker can claim."""
    return Run.objects.filter(holder="", status__in=UNCLAIMED)


def claim(run_id: int) -> Run | None:
    """Give the run to this worker; None if it does not wait for one (done, cancelled, claimed)."""
    holder = lock_owners.new_holder()
    rows = unclaimed().filter(pk=run_id)
    claimed = rows.update(holder=holder, queued_at=None, heartbeat_at=Now(), attempts=F("attempts") + 1)
    return Run.objects.get(pk=run_id) if claimed else None


class RunClaim:
    """A claimed run whose session is held, as a context manager. A thread sends heartbeats. Entering raises
    SessionBusy.
    """

    def __init__(self, run: Run, beat: float = BEAT_SECONDS) -> None:
        self.run = run
        self.beat = beat  # seconds between two heartbeats
        self.holder = run.holder
        self._ended = threading.Event()
        self._held = ExitStack()
        self._thread = threading.Thread(target=self._beat, name=f"heartbeat of run {run.pk}", daemon=True)

    @cached_property
    def store(self) -> Store:
        """The run's store. Raises NotFound if it is no longer configured."""
        return get_store(self.run.store)

    def __enter__(self) -> RunClaim:
        self._thread.start()  # first, because it may have to wait
        try:
            self._held.enter_context(writer_of(self.store).hold(self.run.session_id, self.holder))
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._held.close()

    def _stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def update(self, also: Callable[[], None] | None = None, **fields: Any) -> None:
        """Write fields of the row with a heartbeat; `also` is called in the same transaction.

        Raises LeaseLost if the run is no longer ours. While our own database cannot be reached, it tries again until
        the run would count as lost; then it raises the database's error.
        """
        stored = plain(fields)
        until = time.monotonic() + settings.LOST_AFTER
        while True:
            try:
                with transaction.atomic() if also else nullcontext():
                    changed = _ours(self.run.pk, self.holder).update(heartbeat_at=Now(), **stored)
                    if changed and also:
                        also()
                break
            except (OperationalError, InterfaceError) as problem:
                if connection.in_atomic_block or time.monotonic() > until:
                    raise
                logger.warning("%s cannot be recorded yet: %s", self.run, problem)
                connection.close()
                time.sleep(AGAIN_SECONDS)
        if not changed:
            raise LeaseLost
        for name, value in stored.items():
            setattr(self.run, name, value)

    def report_progress(self, sentence: str, **details: Any) -> None:
        """Write what is being done, for pages and API. Raises LeaseLost."""
        self.update(progress={"sentence": sentence, **details})

    def _beat(self) -> None:
        try:
            while not self._ended.wait(self.beat):
                try:
                    alive = _ours(self.run.pk, self.holder).update(heartbeat_at=Now())
                    if not alive:
                        return
                except Error as problem:  # a missed beat does no harm
                    logger.warning("Heartbeat of %s: %s", self.run, problem)
                    connection.close()  # a broken connection stays broken
        finally:
            connection.close()


def _ours(run_id: int, holder: str) -> Any:
    return Run.objects.filter(pk=run_id, holder=holder, status__in=OPEN_STATUSES)
