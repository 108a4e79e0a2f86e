"""Turns of an agent that hold up a run, and workers stopped at a known point of it."""

from __future__ import annotations

import os
import time

from tests.faults.conftest import RunningSite
from tests.faults.ledger import query
from tests.faults.site import Process, locked, until

SEED = int(os.environ.get("PALIMPSEST_TEST_SEED") or 20260722)


def begin_turn(
    running_site: RunningSite, session_id: str, holder: str = "pid=1:turn=9:platform=telegram", ttl: float = 300
) -> None:
    """Somebody runs a turn of the session."""
    values = (session_id, holder, time.time(), time.time() + ttl)
    query(running_site.path(), "INSERT INTO session_turn_leases VALUES (?, ?, ?, ?)", *values)


def end_turn(running_site: RunningSite, session_id: str) -> None:
    query(running_site.path(), "DELETE FROM session_turn_leases WHERE conversation_id = ?", session_id)


def holder_of(running_site: RunningSite, run_id: int) -> Process:
    found = until(lambda: running_site.site.holder(run_id), running_site.site.logs)
    assert found
    return found


def reach(running_site: RunningSite, run_id: int, status: str) -> None:
    until(
        lambda: running_site.site.status(run_id) == status,
        lambda: (running_site.site.row(run_id), running_site.site.logs()),
        every=0.002,
    )


OURS = "SELECT 1 FROM session_turn_leases WHERE conversation_id = ? AND holder LIKE '%agent=palimpsest%'"


class Door:
    """The store's write lock in our hands until closed."""

    def __init__(self, running_site: RunningSite) -> None:
        self.lock = locked(running_site.path())
        self.lock.__enter__()
        self.closed = False

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.lock.__exit__(None, None, None)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *problem: object) -> None:
        self.close()


def until_it_has_to_write(running_site: RunningSite, session_id: str) -> tuple[int, Process, Door]:
    """Bring a run to `applying` while the store's write lock is ours: it has the lease, and wants to commit."""
    begin_turn(running_site, session_id)
    run_id = running_site.site.start_run(session_id, "small")
    reach(running_site, run_id, "waiting")
    process = holder_of(running_site, run_id)
    until(lambda: "Waiting for the agent" in str(told(running_site, run_id)), running_site.site.logs)
    while True:
        end_turn(running_site, session_id)
        with running_site.site.noting_held_up(run_id):  # it takes the lease, and cannot say that it goes on
            said = told(running_site, run_id)
            try:
                until(lambda: query(running_site.path(), OURS, session_id), "the lease", patience=3)
            except AssertionError:  # it was about to say that it waits
                begin_turn(running_site, session_id)
                door = None
            else:
                door = Door(running_site)
        if door:
            reach(running_site, run_id, "applying")
            return run_id, process, door
        until(lambda: told(running_site, run_id) != said, running_site.site.logs)  # noqa: B023  # waits within this round


def told(running_site: RunningSite, run_id: int) -> tuple[object, ...]:
    """What a run's worker noted last."""
    [row] = running_site.site.rows(f"SELECT heartbeat_at, progress FROM runs_run WHERE id = {run_id}")
    return row
