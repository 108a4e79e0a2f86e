"""SIGKILL of the web server in the middle of a request: the run is there and ends, or was never there."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import pytest

from tests.faults.conftest import Ground
from tests.faults.site import NOT_REACHED, OPEN
from tests.faults.test_random_kills import SEED

DELAYS = (0.03, 0.25)  # seconds into a request


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
