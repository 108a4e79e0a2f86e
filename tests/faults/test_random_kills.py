"""Kills at random moments while runs go on: the seed is printed with a failure."""

from __future__ import annotations

import random
import time

import pytest

from tests.faults.conftest import KILLS, RUNS_A_KILL, Ground
from tests.faults.kills import SEED
from tests.faults.site import Process, until


def at_work(ground: Ground) -> Process | None:
    """A worker that has a run just now, or none where nothing is open."""
    open_runs = "SELECT id FROM runs_run WHERE status IN ('queued', 'planning', 'summarizing', 'waiting', 'applying')"
    held = [ground.site.holder(row[0]) for row in ground.site.rows(f"{open_runs} ORDER BY id")]
    alive = [process for process in held if process and process.alive]
    return alive[0] if alive else None if held else ground.site.workers()[0]


@pytest.mark.slow
def test_workers_killed_at_random(ground: Ground) -> None:
    choose = random.Random(SEED)
    ground.workers(2)
    runs: dict[str, list[int]] = {}
    for _ in range(KILLS):
        for _ in range(RUNS_A_KILL):
            session_id = ground.take()
            runs[session_id] = [ground.site.start_run(session_id, "small")]
        process = until(lambda: at_work(ground), ground.site.logs, every=0.005)
        time.sleep(choose.uniform(0, 0.08))  # a run takes about as long
        assert process
        process.kill()
        ground.workers(2)
    for session_id, [run_id] in runs.items():
        end = ground.site.closed(run_id)
        assert end["status"] in ("applied", "failed", "ready"), end
        assert end["status"] == "applied" or end["error"]["code"] == "worker_lost", end
        assert ground.check_session(session_id, [run_id]) == (end["status"] == "applied"), SEED
    ground.check()
