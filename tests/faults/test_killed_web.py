"""SIGKILL of the web server in the middle of a request: the run is there and ends, or was never there."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.faults.conftest import KILLS, RunningSite, on_sqlite_alone
from tests.faults.kills import SEED
from tests.faults.ledger import live, query
from tests.faults.site import NOT_REACHED, OPEN, locked, until

DELAYS = (0.1,) if KILLS < 50 else (0.02, 0.05, 0.1, 0.2, 0.4)  # seconds into a request


def cut_off(running_site: RunningSite, delay: float, request: Callable[[], object]) -> bool:
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
    assert running_site.site.web
    running_site.site.web.kill()
    asking.join()
    running_site.site.serve()
    return bool(answered)


@pytest.mark.parametrize("own_database", ["postgres"], indirect=True)
@pytest.mark.parametrize("delay", DELAYS)
def test_while_it_starts_a_run(running_site: RunningSite, delay: float) -> None:
    running_site.workers(1)
    session_id = running_site.take("long")
    answered = cut_off(running_site, delay, lambda: running_site.site.start_run(session_id, "long"))
    found = [row[0] for row in running_site.site.rows(f"SELECT id FROM runs_run WHERE session_id = '{session_id}'")]
    assert len(found) == 1 if answered else len(found) <= 1
    assert [running_site.site.closed(run_id)["status"] for run_id in found] == ["applied"] * len(found)
    assert running_site.check_session(session_id, found) == bool(found)
    running_site.check("long")


@on_sqlite_alone
@pytest.mark.parametrize("delay", DELAYS)
def test_while_it_has_a_candidate_applied(running_site: RunningSite, delay: float) -> None:
    running_site.workers(1)
    session_id = running_site.take("long")
    run_id = running_site.site.start_run(session_id, "long", apply=False)
    assert running_site.site.closed(run_id)["status"] == "ready"
    answered = cut_off(running_site, delay * random.Random(SEED).random(), lambda: running_site.site.apply(run_id))
    end = running_site.site.closed(run_id)
    assert end["status"] == "applied" if answered else end["status"] in ("ready", "applied")
    assert end["status"] not in OPEN
    assert running_site.check_session(session_id, [run_id]) == (end["status"] == "applied")
    running_site.check("long")


@on_sqlite_alone
def test_while_it_takes_a_compaction_back(running_site: RunningSite) -> None:
    """Killed between the undo in the store and its note on the run, which a worker then makes."""
    running_site.workers(1)
    session_id = running_site.take()
    run_id = running_site.site.start_run(session_id, "small")
    assert running_site.site.closed(run_id)["status"] == "applied"
    held = f"SELECT 1 FROM runs_run WHERE id = {run_id} AND holder <> ''"
    locks = "SELECT 1 FROM compression_locks WHERE session_id = ?"
    leases = "SELECT 1 FROM session_turn_leases WHERE conversation_id = ?"
    until(lambda: not query(running_site.path(), locks, session_id), running_site.site.logs)
    with ThreadPoolExecutor(1) as pool, ExitStack() as store:
        with running_site.site.noting_held_up(run_id):  # it takes the lock, and cannot say what it is about to do
            asked = pool.submit(running_site.site.ask, "POST", f"/runs/{run_id}/undo")
            until(lambda: query(running_site.path(), locks, session_id), running_site.site.logs)
            until(lambda: query(running_site.path(), leases, session_id), running_site.site.logs)
            store.enter_context(locked(running_site.path()))
        until(lambda: running_site.site.rows(held), running_site.site.logs)
        with running_site.site.noting_held_up(run_id) as drop:
            store.close()
            before = running_site.before["small"].live[session_id]
            until(lambda: live(running_site.path(), session_id) == before, running_site.site.logs)
            assert running_site.site.web
            running_site.site.web.kill()
            drop()
        assert asked.exception() is not None
    running_site.site.serve()
    until(lambda: running_site.site.status(run_id) == "undone", running_site.site.logs)
    assert not running_site.site.rows(held)
    assert not running_site.check_session(session_id, [run_id])
    running_site.check()
