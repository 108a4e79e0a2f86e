"""Many at once: workers for the same runs, requests for the same session, an agent's writers beside the commits."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.agents.hermes import program
from tests.faults.conftest import RUNS, RunningSite, on_sqlite_alone
from tests.faults.ledger import live
from tests.faults.site import PATIENCE, until

WRITTEN_BESIDE = 12
WRITERS = 8


def ask(running_site: RunningSite, session_id: str) -> tuple[int, int | str]:
    """Status, and the run's number or what was refused."""
    status, answer = running_site.site.ask("POST", f"/stores/small/sessions/{session_id}/runs", {"apply": True})
    return status, int(answer["id"]) if status == 202 else answer["error"]["code"]


def test_workers_race_for_runs_and_requests_for_sessions(running_site: RunningSite) -> None:
    running_site.workers(0)  # until everything is queued
    sessions = [running_site.take() for _ in range(RUNS)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda session_id: (session_id, *ask(running_site, session_id)), [*sessions, *sessions[:10]])
        )
        same = list(pool.map(lambda _: ask(running_site, sessions[0]), range(8)))
    running_site.workers(4 if running_site.site.on_postgres else 2)

    runs = {session_id: number for session_id, status, number in answers if status == 202}
    assert sorted(runs) == sorted(sessions)
    assert Counter(status for _, status, _ in answers) == {202: RUNS, 409: 10}
    assert set(same) == {(409, "session_busy")}
    numbers = ",".join(str(number) for number in runs.values())
    all_done = f"SELECT COUNT(*) FROM runs_run WHERE id IN ({numbers}) AND status = 'applied'"
    until(lambda: running_site.site.rows(all_done) == [(RUNS,)], running_site.site.logs, 3 * PATIENCE, every=0.2)
    assert running_site.site.rows(f"SELECT MAX(attempts), COUNT(*) FROM runs_run WHERE id IN ({numbers})") == [
        (1, RUNS)
    ]
    assert all(running_site.check_session(session_id, [int(number)]) for session_id, number in runs.items())
    running_site.check()


@pytest.mark.parametrize("own_database", ["postgres"], indirect=True)  # on SQLite: `runs/test_worker.py`
def test_of_workers_that_found_the_same_run_one_has_it(running_site: RunningSite) -> None:
    running_site.workers(0)
    session_id = running_site.take()
    run_id = running_site.site.start_run(session_id, "small")
    claims = (
        "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE \"runs_run\"%'"
    )
    with running_site.site.noting_held_up(run_id):
        running_site.workers(3)
        until(lambda: running_site.site.rows(claims) == [(3,)], running_site.site.logs)
    assert running_site.site.closed(run_id)["status"] == "applied"
    assert running_site.site.row(run_id)["attempts"] == 1
    assert running_site.check_session(session_id, [run_id])
    running_site.check()


@on_sqlite_alone
def test_eight_writers_append_while_runs_commit(running_site: RunningSite, tmp_path: Path) -> None:
    running_site.workers(2)
    sessions = [running_site.take() for _ in range(WRITTEN_BESIDE)]
    writers = []
    for seed in range(WRITERS):
        with (tmp_path / f"{seed}.txt").open("w") as output:
            command = [sys.executable, program.__file__, "append", str(running_site.path()), str(seed), *sessions]
            writers.append(subprocess.Popen(command, stdout=output))
    try:
        until(lambda: all((tmp_path / f"{seed}.txt").stat().st_size for seed in range(WRITERS)), "the writers")
        with ThreadPoolExecutor(4) as pool:
            runs = dict(
                zip(sessions, pool.map(running_site.site.start_run, sessions, ["small"] * len(sessions)), strict=True)
            )
        ended = {session_id: running_site.site.closed(run_id) for session_id, run_id in runs.items()}
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    assert {run["status"] for run in ended.values()} == {"applied"}, ended
    said = [line.split("\t") for seed in range(WRITERS) for line in (tmp_path / f"{seed}.txt").read_text().splitlines()]
    assert len(said) > WRITERS * 3
    for session_id, run_id in runs.items():
        now = [row[1] for row in live(running_site.path(), session_id)]
        appended = [content for content in now if str(content).startswith("writer ")]
        told = [content for where, content in said if where == session_id]
        assert len(set(appended)) == len(appended) and set(told) <= set(appended)
        assert running_site.check_session(session_id, [run_id], appended)
    running_site.check()
