"""SIGKILL of the web server in the middle of a request: the run is there and ends, or was never there."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.faults.conftest import KILLS, Ground
from tests.faults.kills import SEED
from tests.faults.ledger import live, query
from tests.faults.site import NOT_REACHED, OPEN, locked, until

DELAYS = (0.1,) if KILLS < 50 else (0.02, 0.05, 0.1, 0.2, 0.4)  # seconds into a request


def cut_off(ground: Ground, delay: float, request: Callable[[], object]) -> bool:
    """Kill the server so long after the request began, and start it again; whether it had answered."""
    answered: list[object] = []

    def ask() -> None:
        try:
            answered.append(request())
        except (*NOT_REACHED, OSError):
            pass

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(delay)
    assert ground.site.web
    ground.site.web.kill()
    asking.join()
    ground.site.serve()
    return bool(answered)


@pytest.mark.parametrize("delay", DELAYS)
def test_while_it_starts_a_run(ground: Ground, delay: float) -> None:
    ground.workers(1)
    session_id = ground.take("long")
    answered = cut_off(ground, delay, lambda: ground.site.start_run(session_id, "long"))
    found = [row[0] for row in ground.site.rows(f"SELECT id FROM runs_run WHERE session_id = '{session_id}'")]
    assert len(found) == 1 if answered else len(found) <= 1
    assert [ground.site.closed(run_id)["status"] for run_id in found] == ["applied"] * len(found)
    assert ground.check_session(session_id, found) == bool(found)
    ground.check("long")


@pytest.mark.parametrize("delay", DELAYS)
def test_while_it_has_a_candidate_applied(ground: Ground, delay: float) -> None:
    ground.workers(1)
    session_id = ground.take("long")
    run_id = ground.site.start_run(session_id, "long", apply=False)
    assert ground.site.closed(run_id)["status"] == "ready"
    answered = cut_off(ground, delay * random.Random(SEED).random(), lambda: ground.site.apply(run_id))
    end = ground.site.closed(run_id)
    assert end["status"] == "applied" if answered else end["status"] in ("ready", "applied")
    assert end["status"] not in OPEN
    assert ground.check_session(session_id, [run_id]) == (end["status"] == "applied")
    ground.check("long")


def test_while_it_takes_a_compaction_back(ground: Ground) -> None:
    """Killed between the undo in the store and its note on the run, which a worker then makes."""
    ground.workers(1)
    session_id = ground.take()
    run_id = ground.site.start_run(session_id, "small")
    assert ground.site.closed(run_id)["status"] == "applied"
    held = f"SELECT 1 FROM runs_run WHERE id = {run_id} AND holder <> ''"
    locks = "SELECT 1 FROM compression_locks WHERE session_id = ?"
    leases = "SELECT 1 FROM session_turn_leases WHERE conversation_id = ?"
    until(lambda: not query(ground.path(), locks, session_id), ground.site.logs)
    with ThreadPoolExecutor(1) as pool, ExitStack() as store:
        with ground.site.noting_held_up(run_id):  # it takes the lock, and cannot say what it is about to do
            asked = pool.submit(ground.site.ask, "POST", f"/runs/{run_id}/undo")
            until(lambda: query(ground.path(), locks, session_id), ground.site.logs)
            until(lambda: query(ground.path(), leases, session_id), ground.site.logs)
            store.enter_context(locked(ground.path()))
        until(lambda: ground.site.rows(held), ground.site.logs)
        with ground.site.noting_held_up(run_id) as drop:
            store.close()
            before = ground.before["small"].live[session_id]
            until(lambda: live(ground.path(), session_id) == before, ground.site.logs)
            assert ground.site.web
            ground.site.web.kill()
            drop()
        assert asked.exception() is not None
    ground.site.serve()
    until(lambda: ground.site.status(run_id) == "undone", ground.site.logs)
    assert not ground.site.rows(held)
    assert not ground.check_session(session_id, [run_id])
    ground.check()
