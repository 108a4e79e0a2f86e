"""A site that is updated: the runs that an older version left go on. They were made before there were receipts, by
compacting, undoing and previewing six made-up sessions of the demo store.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.data.before_0_1_0 import unpack

LATE, UNDONE, READY, PRUNED, FIRST, SECOND, CONFLICT = map(str, range(1, 8))  # their runs

pytestmark = pytest.mark.slow  # two versions, each in a process


def run_there(data: Path, *command: str) -> str:
    """What a program prints on the databases in this directory."""
    surroundings = {**os.environ, "PALIMPSEST_DATA_DIR": str(data), "PALIMPSEST_STORES": "none=sqlite:////nowhere.db"}
    done = subprocess.run([sys.executable, *command], env=surroundings, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def updated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    data = tmp_path_factory.mktemp("data")
    unpack(data)
    run_there(data, "manage.py", "migrate", "-v0", "--skip-checks")
    told: dict[str, Any] = json.loads(run_there(data, "-m", "tests.runs.updated"))
    return told


def test_what_was_written_is_known_as_ours(updated: dict[str, Any]) -> None:
    found = updated["found"]
    assert {number: run["status"] for number, run in found.items()} == {
        LATE: "applied", UNDONE: "undone", READY: "ready", PRUNED: "applied", FIRST: "applied", SECOND: "applied",
        CONFLICT: "conflict",
    }  # fmt: skip
    assert found[PRUNED]["strategy"] == "prune"
    assert [found[number]["boundaries"] for number in (LATE, UNDONE, PRUNED, SECOND)] == [[1], [], [4], [5, 6]]
    assert [found[number]["undoable"] for number in (LATE, UNDONE, PRUNED, FIRST, SECOND)] == [
        True, False, True, False, True,
    ]  # fmt: skip


def test_what_was_undone_is_known(updated: dict[str, Any]) -> None:
    [receipt] = updated["undone"]
    assert len(receipt["block"]) == 12 and len(receipt["taken_back"]) == 0


def test_a_candidate_is_written_and_each_compaction_is_undone(updated: dict[str, Any]) -> None:
    """The newest first, so that the first of two in one session is undone after the second."""
    assert updated["undo"] == dict.fromkeys((LATE, READY, PRUNED, FIRST, SECOND), "undone")
    assert updated["left"] == {number: [] for number in updated["found"]}


def test_a_run_that_waited_is_done(tmp_path: Path) -> None:
    """The older version had it in a queue of django-tasks-db, of which nothing is left."""
    unpack(tmp_path)
    task = {
        "id": 32 * "1", "args_kwargs": '{"args": [7], "kwargs": {}}', "priority": 0, "queue_name": "store demo",
        "task_path": "viewer.runs.job.compact", "backend_name": "default", "run_after": "9999-12-31 00:00:00",
        "enqueued_at": "2026-11-24 01:24:15", "exception_class_path": "", "traceback": "", "worker_ids": "[]",
        "status": "READY",
    }  # fmt: skip
    waits = "status = 'queued', apply = 1, attempts = 0, task_id = '11111111-1111-1111-1111-111111111111'"
    waits += ", heartbeat_at = strftime('%Y-%m-%d %H:%M:%f', 'now')"
    with closing(sqlite3.connect(tmp_path / "palimpsest.sqlite3")) as con, con:
        con.execute(f"UPDATE runs_run SET {waits} WHERE id = ?", [CONFLICT])
        names, marks = ", ".join(task), ", ".join(f":{name}" for name in task)
        con.execute(f"INSERT INTO django_tasks_database_dbtaskresult ({names}) VALUES ({marks})", task)
    run_there(tmp_path, "manage.py", "migrate", "-v0", "--skip-checks")
    run_there(tmp_path, "manage.py", "worker", "--batch")
    with closing(sqlite3.connect(tmp_path / "palimpsest.sqlite3")) as con:
        assert con.execute(f"SELECT status, attempts FROM runs_run WHERE id = {CONFLICT}").fetchone() == ("applied", 1)
        assert not con.execute("SELECT name FROM sqlite_master WHERE name LIKE 'django_task%'").fetchall()
        assert not con.execute("SELECT name FROM django_migrations WHERE app LIKE 'django_task%'").fetchall()
