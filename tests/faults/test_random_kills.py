"""Kills at random moments while runs go on: the seed is printed with a failure."""

from __future__ import annotations

import os
import random
import time

from tests.faults.conftest import KILLS, RUNS_A_KILL, Ground

SEED = int(os.environ.get("PALIMPSEST_TEST_SEED") or 20260722)


def test_workers_killed_at_random(ground: Ground) -> None:
    choose = random.Random(SEED)
    ground.workers(2)
    runs: dict[str, list[int]] = {}
    for _ in range(KILLS):
        for _ in range(RUNS_A_KILL):
            session_id = ground.take()
            runs[session_id] = [ground.site.start_run(session_id, "small")]
        time.sleep(choose.uniform(0, 0.15))
        choose.choice(ground.site.workers()).kill()
        ground.workers(2)
    for session_id, [run_id] in runs.items():
        end = ground.site.closed(run_id)
        assert end["status"] in ("applied", "failed", "ready"), end
        assert end["status"] == "applied" or end["error"]["code"] == "worker_lost", end
        assert ground.check_session(session_id, [run_id]) == (end["status"] == "applied"), SEED
    ground.check()
