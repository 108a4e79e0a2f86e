"""The site's own database: what it is asked to keep, and what becomes of runs when it goes away."""

from __future__ import annotations

import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from tests.faults.conftest import RunningSite
from tests.faults.kills import begin_turn, end_turn, holder_of, reach
from tests.faults.ledger import live
from tests.faults.site import until

POSTGRES = pytest.mark.parametrize("own_database", ["postgres"], indirect=True)
ODD = "null \0 byte, half a pair \ud83d, whole pair \U0001f600, " + "x" * 400


def odd_session(running_site: RunningSite, session_id: str) -> None:
    """A session of tool calls whose texts hold what PostgreSQL refuses; halves of pairs stand escaped in JSON."""
    now = time.time()
    rows: list[tuple[str, str | None, str | None, str | None]] = []
    for number in range(30):
        call = [{"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": '{"n": 1e999}'}}]
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}  # but the newest are replaced
        parts = [{"type": "text", "text": ODD + str(number), "n": 2**80, "f": float("nan")}, image]
        rows += [
            ("user", "\0json:" + json.dumps(parts), None, None),
            ("assistant", f"nul \0 in /srv/{number}\0.log " + "word " * 60, json.dumps(call), None),
            ("tool", f"read {number}: \0 " + "line\n" * 200, None, f"c{number}"),
            ("assistant", f"It says {number}, see \0.", None, None),
        ]
    with closing(sqlite3.connect(running_site.path(), timeout=60)) as con, con:
        con.execute(
            "INSERT INTO sessions (id, source, model, started_at) VALUES (?, 'cli', 'gpt-4o', ?)", [session_id, now]
        )
        con.executemany(
            "INSERT INTO messages (session_id, role, content, tool_calls, tool_call_id, timestamp) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [(session_id, *row, now + place) for place, row in enumerate(rows)],
        )


@pytest.mark.parametrize("strategy", ["summary", "prune"])
def test_any_text_of_a_session_can_be_kept(running_site: RunningSite, strategy: str) -> None:
    running_site.workers(1)
    odd_session(running_site, f"odd-{strategy}")
    before = live(running_site.path(), f"odd-{strategy}")
    body = {"apply": False, "strategy": strategy, "focus": "the \0 byte", "keep_last": 8}
    status, run = running_site.site.ask("POST", f"/stores/small/sessions/odd-{strategy}/runs", body)
    assert status == 202, run
    end = running_site.site.closed(run["id"])
    assert end["status"] == "ready", end
    running_site.site.apply(run["id"])
    end = running_site.site.closed(run["id"])
    assert end["status"] == "applied", (end, running_site.site.logs())
    now = live(running_site.path(), f"odd-{strategy}")
    assert now != before and now[-4:] == before[-4:]
    status, undone = running_site.site.ask("POST", f"/runs/{run['id']}/undo")
    assert (status, undone["status"]) == (200, "undone")
    assert live(running_site.path(), f"odd-{strategy}") == before


@pytest.mark.parametrize(
    "path", ["/runs?store=%00", "/runs?session_id=a%00", "/runs/99999999999999999999", "/stores/small/sessions/%00"]
)
def test_odd_addresses_are_refused(running_site: RunningSite, path: str) -> None:
    assert running_site.site.ask("GET", path)[0] in (200, 400, 404, 422)


def test_odd_sessions_are_not_found(running_site: RunningSite) -> None:
    for session_id in ("%00", "x" * 300, "%F0%9F%98%80"):
        status, refused = running_site.site.ask("POST", f"/stores/small/sessions/{session_id}/runs", {"apply": True})
        assert (status, refused["error"]["code"]) == (404, "not_found"), session_id


@POSTGRES
def test_lost_connections_cost_no_run_and_no_worker(running_site: RunningSite) -> None:
    workers = running_site.workers(2)
    session_id = running_site.take()
    begin_turn(running_site, session_id)
    run_id = running_site.site.start_run(session_id, "small")
    reach(running_site, run_id, "waiting")
    holder = holder_of(running_site, run_id)
    for _ in range(3):
        running_site.site.cut_connections()
        time.sleep(0.3)
    end_turn(running_site, session_id)
    assert running_site.site.closed(run_id)["status"] == "applied"
    assert running_site.site.row(run_id)["attempts"] == 1
    assert all(worker.alive for worker in workers) and holder.alive
    assert running_site.check_session(session_id, [run_id])
    running_site.check()


@POSTGRES
def test_a_server_killed_before_it_queued_the_run(running_site: RunningSite) -> None:
    """The run is in the queue or there is none: nothing keeps its session busy."""
    running_site.workers(1)
    session_id = running_site.take()
    waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT INTO \"runs_run\"%'"
    with psycopg.connect(running_site.site.database) as connection:
        connection.execute("LOCK TABLE runs_run IN EXCLUSIVE MODE")
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(running_site.site.start_run, session_id, "small")
            until(lambda: running_site.site.rows(waits), "the server to ask for it")
            assert running_site.site.web
            running_site.site.web.kill()
            running_site.site.cut_connections("wait_event_type = 'Lock'")
            assert asked.exception() is not None
        connection.rollback()
    running_site.site.serve()
    run_id = running_site.site.start_run(session_id, "small")
    assert running_site.site.closed(run_id)["status"] == "applied"
    assert running_site.check_session(session_id, [run_id])
    running_site.check()
