"""Kills at random moments while runs go on: the seed is printed with a failure. The campaign has some on PostgreSQL."""

from __future__ import annotations

import random
import time

from tests.faults.conftest import KILLS, RUNS_A_KILL, RunningSite, on_sqlite_alone
from tests.faults.kills import SEED
from tests.faults.site import Process, until


def at_work(running_site: RunningSite) -> Process | None:
    """A worker that has a run just now, or none where nothing is open."""
    open_runs = "SELECT id FROM runs_run WHERE status IN ('queued', 'planning', 'summarizing', 'waiting', 'applying')"
    held = [running_site.site.holder(row[0]) for row in running_site.site.rows(f"{open_runs} ORDER BY id")]
    alive = [process for process in held if process and process.alive]
    return alive[0] if alive else None if held else running_site.site.workers()[0]


@on_sqlite_alone
def test_workers_killed_at_random(running_site: RunningSite) -> None:
    choose = random.Random(SEED)
    running_site.workers(2)
    runs: dict[str, list[int]] = {}
    for _ in range(KILLS):
        for _ in range(RUNS_A_KILL):
            session_id = running_site.take()
            runs[session_id] = [running_site.site.start_run(session_id, "small")]
        process = until(lambda: at_work(running_site), running_site.site.logs, every=0.005)
        time.sleep(choose.uniform(0, 0.08))  # a run takes about as long
        assert process
        process.kill()
        running_site.workers(2)
    for session_id, [run_id] in runs.items():
        end = running_site.site.closed(run_id)
        assert end["status"] in ("applied", "failed", "ready"), end
        assert end["status"] == "applied" or end["error"]["code"] == "worker_lost", end
        assert running_site.check_session(session_id, [run_id]) == (end["status"] == "applied"), SEED
    running_site.check()
