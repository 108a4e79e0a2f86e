"""SIGKILL of an agent that holds the lock or runs a turn: what it left is waited for as long as it must be."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.agents.hermes import program
from tests.faults.conftest import RunningSite, on_sqlite_alone
from tests.faults.kills import reach
from tests.faults.ledger import query
from tests.faults.site import until

pytestmark = on_sqlite_alone

TTL = 300  # seconds, as the agent's own


@pytest.fixture
def held(running_site: RunningSite) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Agents by the session they hold."""
    started: dict[str, subprocess.Popen[str]] = {}
    yield started
    for process in started.values():
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def hold(running_site: RunningSite, held: dict[str, subprocess.Popen[str]], table: str, stamped: bool) -> str:
    """An agent holds an unused session; its id."""
    session_id = running_site.take()
    command = [sys.executable, program.__file__, "hold", str(running_site.path()), table, session_id, str(TTL)]
    process = subprocess.Popen([*command, "yes" if stamped else "no"], stdout=subprocess.PIPE, text=True)
    held[session_id] = process
    assert process.stdout and process.stdout.readline() == "held\n"
    return session_id


def expire(running_site: RunningSite, table: str, process: subprocess.Popen[str]) -> None:
    """The time of what it holds is over."""
    over = f"UPDATE {table} SET expires_at = unixepoch() - 1 WHERE holder LIKE ?"
    query(running_site.path(), over, f"pid={process.pid}:%")


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, 9)
    process.wait()


def test_a_turn_that_was_killed(running_site: RunningSite, held: dict[str, subprocess.Popen[str]]) -> None:
    """A holder known to be dead is passed over at once; one that cannot be known waits out its time, and is named."""
    running_site.workers(2)
    runs = {}
    for stamped in (True, False):
        session_id = hold(running_site, held, "session_turn_leases", stamped)
        runs[session_id] = running_site.site.start_run(session_id, "small")
    for session_id, run_id in runs.items():
        reach(running_site, run_id, "waiting")
        said = until(lambda run_id=run_id: running_site.site.run(run_id)["progress"].get("holder"), "who runs the turn")  # type: ignore[misc]
        assert said.startswith(f"pid={held[session_id].pid}:")
        sentence = running_site.site.run(run_id)["progress"]["sentence"]
        assert f"pid={held[session_id].pid}:" in sentence and "unless it is renewed" in sentence
        kill(held[session_id])
    expire(running_site, "session_turn_leases", held[session_id])
    for session_id, run_id in runs.items():
        assert running_site.site.closed(run_id)["status"] == "applied"
        assert running_site.check_session(session_id, [run_id])
    running_site.check()


def test_a_compaction_that_was_killed(running_site: RunningSite, held: dict[str, subprocess.Popen[str]]) -> None:
    running_site.workers(1)
    runs = {}
    for stamped in (True, False):
        session_id = hold(running_site, held, "compression_locks", stamped)
        status, refused = running_site.site.ask("POST", f"/stores/small/sessions/{session_id}/runs", {"apply": True})
        assert (status, refused["error"]["code"]) == (409, "session_busy")
        assert "unless it is renewed" in refused["error"]["message"]
        kill(held[session_id])
        if not stamped:  # it may be alive in another container
            status, refused = running_site.site.ask(
                "POST", f"/stores/small/sessions/{session_id}/runs", {"apply": True}
            )
            assert (status, refused["error"]["code"]) == (409, "session_busy")
            expire(running_site, "compression_locks", held[session_id])
        runs[session_id] = running_site.site.start_run(session_id, "small")
    for session_id, run_id in runs.items():
        assert running_site.site.closed(run_id)["status"] == "applied"
        assert running_site.check_session(session_id, [run_id])
    running_site.check()
