"""SIGKILL of the worker at each point of a run: another one goes on, and the session is written once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.faults.conftest import Ground
from tests.faults.kills import OURS, Door, begin_turn, end_turn, holder_of, reach, until_it_has_to_write
from tests.faults.ledger import live, query
from tests.faults.site import locked, until
from tests.model_service import Request, Service, answers
from tests.slow import slow

# Each kills the worker that has the run at one point, and returns the status it left. All doors are open afterwards.


def while_it_waits_for_the_lock(ground: Ground, session_id: str) -> tuple[int, str]:
    with locked(ground.path()):
        run_id = ground.site.start_run(session_id, "small")
        holder_of(ground, run_id).kill()
        return run_id, ground.site.status(run_id)


def while_it_waits_for_the_turn(ground: Ground, session_id: str) -> tuple[int, str]:
    begin_turn(ground, session_id)
    run_id = ground.site.start_run(session_id, "small")
    reach(ground, run_id, "waiting")
    holder_of(ground, run_id).kill()
    left = ground.site.status(run_id)
    end_turn(ground, session_id)
    return run_id, left


def before_commit(ground: Ground, session_id: str) -> tuple[int, str]:
    run_id, process, store = until_it_has_to_write(ground, session_id)
    with store:
        process.kill()
        return run_id, ground.site.status(run_id)


def before_the_commit_is_noted(ground: Ground, session_id: str) -> tuple[int, str]:
    run_id, process, store = until_it_has_to_write(ground, session_id)
    before = live(ground.path(), session_id)
    with ground.site.noting_held_up(run_id) as drop:
        store.close()
        until(lambda: live(ground.path(), session_id) != before, ground.site.logs)
        process.kill()
        drop()
    return run_id, ground.site.status(run_id)


def before_it_lets_go(ground: Ground, session_id: str) -> tuple[int, str]:
    run_id, process, store = until_it_has_to_write(ground, session_id)
    before = live(ground.path(), session_id)
    with ground.site.noting_held_up(run_id):
        store.close()
        until(lambda: live(ground.path(), session_id) != before, ground.site.logs)
        until(lambda: not query(ground.path(), OURS, session_id), "the end of its lease")  # the lock it keeps
        again = Door(ground)
    with again:
        reach(ground, run_id, "applied")
        process.kill()
        assert query(ground.path(), "SELECT COUNT(*) FROM compression_locks") == [(1,)]
    return run_id, "applied"


@pytest.mark.parametrize(
    ("kill", "left"),
    [
        (while_it_waits_for_the_turn, "waiting"),
        (before_the_commit_is_noted, "applying"),
        *slow((while_it_waits_for_the_lock, "queued"), (before_commit, "applying"), (before_it_lets_go, "applied")),
    ],
)
def test_killed(ground: Ground, kill: Callable[[Ground, str], tuple[int, str]], left: str) -> None:
    ground.workers(2)
    session_id = ground.take()
    run_id, status = kill(ground, session_id)
    assert status == left
    assert ground.site.closed(run_id)["status"] == "applied"
    assert ground.check_session(session_id, [run_id])
    ground.check()


@pytest.mark.parametrize("phase", ["summarizing", *slow("planning")])
def test_killed_before_there_is_a_summary(ground: Ground, phase: str) -> None:
    ground.workers(2)
    while True:
        session_id = ground.take("long")
        run_id = ground.site.start_run(session_id, "long")
        reach(ground, run_id, phase)
        process = ground.site.holder(run_id)
        if process is not None:
            process.kill()
            if ground.site.status(run_id) == phase:
                break
    assert ground.site.closed(run_id)["status"] == "applied"
    assert ground.site.row(run_id)["attempts"] == 2
    assert ground.check_session(session_id, [run_id])
    ground.check("long")


def test_killed_while_a_model_writes(ground: Ground) -> None:
    """The model is asked again by the next worker, and its summary written once."""
    service = Service()
    service.behaviours = [Request.wait_until_left, answers()]
    values = f"'openai', '{service.url}/v1', '', 'a-model', 100000"
    ground.site.rows(
        f'INSERT INTO runs_connection (kind, base_url, api_key, model, "window") VALUES ({values}) RETURNING id'
    )
    try:
        ground.workers(2)
        session_id = ground.take()
        run_id = ground.site.start_run(session_id, "small", summarizer="openai")
        until(lambda: service.requests, ground.site.logs)
        assert ground.site.status(run_id) == "summarizing"
        holder_of(ground, run_id).kill()
        assert ground.site.closed(run_id)["status"] == "applied"
        assert (ground.site.row(run_id)["attempts"], len(service.requests)) == (2, 2)
        assert ground.check_session(session_id, [run_id])
        ground.check()
    finally:
        ground.site.rows("DELETE FROM runs_connection RETURNING id")
        service.shutdown()
        service.server_close()
