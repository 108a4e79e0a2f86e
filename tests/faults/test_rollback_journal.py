"""Processes killed within a COMMIT on a store without WAL: they leave a journal that has to be rolled back first."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.agents.hermes import program
from tests.faults.conftest import RunningSite
from tests.faults.kills import holder_of
from tests.faults.ledger import live, query
from tests.faults.site import until

pytestmark = pytest.mark.parametrize(
    "own_database", ["sqlite"], indirect=True
)  # the site's own database makes no difference


def journal(path: Path) -> Path:
    return path.with_name(f"{path.name}-journal")


def test_a_worker_killed_within_its_commit(running_site: RunningSite) -> None:
    running_site.workers(2)
    session_id, path = running_site.take("rollback"), running_site.path("rollback")
    run_id = running_site.site.start_run(session_id, "rollback", apply=False)
    assert running_site.site.closed(run_id)["status"] == "ready"
    until(lambda: not query(path, "SELECT 1 FROM compression_locks"), running_site.site.logs)  # what the preview held
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as reader,
        closing(reader.execute("SELECT id FROM messages")) as reading,  # holds up whoever wants to commit
    ):
        reading.fetchone()
        running_site.site.apply(run_id)
        process = holder_of(running_site, run_id)
        until(lambda: journal(path).exists(), running_site.site.logs)
        process.kill()
    assert journal(path).exists() and not running_site.site.row(run_id)["handoff_id"]
    status, context = running_site.site.ask("GET", f"/stores/rollback/sessions/{session_id}/context")
    assert status == 200 and len(context["messages"]) == 24, "read although the journal was hot"
    assert running_site.site.closed(run_id)["status"] == "applied"
    assert len(live(path, session_id)) < 24
    assert running_site.check_session(session_id, [run_id])
    running_site.check("rollback")


def test_an_agent_killed_within_its_commit(running_site: RunningSite) -> None:
    """Nobody but readers comes by afterwards."""
    session_id, path = running_site.take("rollback"), running_site.path("rollback")
    command = [sys.executable, program.__file__, "rewrite", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"half\n"
        process.kill()
    assert journal(path).exists()
    status, context = running_site.site.ask("GET", f"/stores/rollback/sessions/{session_id}/context")
    assert status == 200 and len(context["messages"]) == 24
    assert not journal(path).exists()
    running_site.check("rollback")
