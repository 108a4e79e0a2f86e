"""SIGKILL of the worker at each point of a run: another one goes on, and the session is written once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.faults.conftest import RunningSite, on_sqlite_alone
from tests.faults.kills import OURS, Door, begin_turn, end_turn, holder_of, reach, until_it_has_to_write
from tests.faults.ledger import live, query
from tests.faults.site import locked, until
from tests.model_services import ModelService, Request, answers

# Each kills the worker that has the run at one point, and returns the status it left. All doors are open afterwards.


def while_it_waits_for_the_lock(running_site: RunningSite, session_id: str) -> tuple[int, str]:
    with locked(running_site.path()):
        run_id = running_site.site.start_run(session_id, "small")
        holder_of(running_site, run_id).kill()
        return run_id, running_site.site.status(run_id)


def while_it_waits_for_the_turn(running_site: RunningSite, session_id: str) -> tuple[int, str]:
    begin_turn(running_site, session_id)
    run_id = running_site.site.start_run(session_id, "small")
    reach(running_site, run_id, "waiting")
    holder_of(running_site, run_id).kill()
    left = running_site.site.status(run_id)
    end_turn(running_site, session_id)
    return run_id, left


def before_commit(running_site: RunningSite, session_id: str) -> tuple[int, str]:
    run_id, process, store = until_it_has_to_write(running_site, session_id)
    with store:
        process.kill()
        return run_id, running_site.site.status(run_id)


def before_the_commit_is_noted(running_site: RunningSite, session_id: str) -> tuple[int, str]:
    run_id, process, store = until_it_has_to_write(running_site, session_id)
    before = live(running_site.path(), session_id)
    with running_site.site.noting_held_up(run_id) as drop:
        store.close()
        until(lambda: live(running_site.path(), session_id) != before, running_site.site.logs)
        process.kill()
        drop()
    return run_id, running_site.site.status(run_id)


def before_it_lets_go(running_site: RunningSite, session_id: str) -> tuple[int, str]:
    run_id, process, store = until_it_has_to_write(running_site, session_id)
    before = live(running_site.path(), session_id)
    with running_site.site.noting_held_up(run_id):
        store.close()
        until(lambda: live(running_site.path(), session_id) != before, running_site.site.logs)
        until(lambda: not query(running_site.path(), OURS, session_id), "the end of its lease")  # the lock it keeps
        again = Door(running_site)
    with again:
        reach(running_site, run_id, "applied")
        process.kill()
        assert query(running_site.path(), "SELECT COUNT(*) FROM compression_locks") == [(1,)]
    return run_id, "applied"


@pytest.mark.parametrize(
    ("own_database", "kill", "left"),
    [
        ("sqlite", while_it_waits_for_the_turn, "waiting"),
        ("sqlite", before_the_commit_is_noted, "applying"),
        ("sqlite", before_commit, "applying"),
        ("postgres", while_it_waits_for_the_lock, "queued"),
        ("postgres", before_the_commit_is_noted, "applying"),
        ("postgres", before_it_lets_go, "applied"),
    ],
    indirect=["own_database"],
)
def test_killed(running_site: RunningSite, kill: Callable[[RunningSite, str], tuple[int, str]], left: str) -> None:
    running_site.workers(2)
    session_id = running_site.take()
    run_id, status = kill(running_site, session_id)
    assert status == left
    assert running_site.site.closed(run_id)["status"] == "applied"
    assert running_site.check_session(session_id, [run_id])
    running_site.check()


def test_of_several_workers_one_takes_up_the_run_of_a_killed_one(running_site: RunningSite) -> None:
    running_site.workers(4 if running_site.site.on_postgres else 3)
    session_id = running_site.take()
    begin_turn(running_site, session_id)
    run_id = running_site.site.start_run(session_id, "small")
    reach(running_site, run_id, "waiting")
    holder_of(running_site, run_id).kill()
    until(lambda: running_site.site.row(run_id)["attempts"] > 1, running_site.site.logs)
    end_turn(running_site, session_id)
    assert running_site.site.closed(run_id)["status"] == "applied"
    assert running_site.site.row(run_id)["attempts"] == 2
    assert running_site.site.logs().count(f"Run {run_id} is resumed.") == 1
    assert running_site.check_session(session_id, [run_id])
    running_site.check()


@on_sqlite_alone
def test_killed_while_it_plans(running_site: RunningSite) -> None:
    running_site.workers(2)
    while True:
        session_id = running_site.take("long")
        run_id = running_site.site.start_run(session_id, "long")
        reach(running_site, run_id, "planning")
        process = running_site.site.holder(run_id)
        if process is not None:
            process.kill()
            if running_site.site.status(run_id) == "planning":
                break
    assert running_site.site.closed(run_id)["status"] == "applied"
    assert running_site.site.row(run_id)["attempts"] == 2
    assert running_site.check_session(session_id, [run_id])
    running_site.check("long")


@on_sqlite_alone
def test_killed_while_a_model_writes(running_site: RunningSite) -> None:
    """The model is asked again by the next worker, and its summary written once."""
    service = ModelService()
    service.behaviours = [Request.wait_until_left, answers()]
    values = f"'openai', '{service.url}/v1', '', 'a-model', 100000"
    running_site.site.rows(
        f'INSERT INTO runs_connection (kind, base_url, api_key, model, "window") VALUES ({values}) RETURNING id'
    )
    try:
        running_site.workers(2)
        session_id = running_site.take()
        run_id = running_site.site.start_run(session_id, "small", summarizer="openai")
        until(lambda: service.requests, running_site.site.logs)
        assert running_site.site.status(run_id) == "summarizing"
        holder_of(running_site, run_id).kill()
        assert running_site.site.closed(run_id)["status"] == "applied"
        assert (running_site.site.row(run_id)["attempts"], len(service.requests)) == (2, 2)
        assert running_site.check_session(session_id, [run_id])
        running_site.check()
    finally:
        running_site.site.rows("DELETE FROM runs_connection RETURNING id")
        service.shutdown()
        service.server_close()
