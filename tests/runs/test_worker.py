"""Runs carried out by real worker processes, one of them killed in the middle."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from tests.factories import many_sessions
from tests.factories.runs import until
from tests.factories.stores import HermesStore
from viewer.runs import recovery, service, workers
from viewer.runs.models import Run, Worker
from viewer.runs.planning import Options
from viewer.stores.registry import get_store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]  # its workers are processes
ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 180.0  # seconds, for a worker's start beside other work


@pytest.fixture
def worker(settings: Settings) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """A function that starts `manage.py worker`, or another command, on the test's own database and store."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*command: str) -> subprocess.Popen[bytes]:
        arguments = [sys.executable, "manage.py", *(command or ("worker",))]
        environment = os.environ | {
            "PALIMPSEST_DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}",
            "PALIMPSEST_STORES": ",".join(f"{name}={url}" for name, url in settings.STORES.items()),
        }
        process = subprocess.Popen(arguments, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def many(tmp_path: Path, settings: Settings) -> list[HermesStore]:
    """One store with many small sessions, by session."""
    path = tmp_path / "many.db"
    settings.STORES = {"many": f"sqlite:///{path}"}
    sessions = many_sessions.make(path, 20, 24)
    return [HermesStore(get_store("many"), path, session_id) for session_id in sessions]


@pytest.mark.parametrize(("signals", "code", "status"), [(1, 0, "applied"), (2, 1, "waiting")])
def test_a_signal_ends_it_after_its_run_and_a_second_one_within(
    signals: int, code: int, status: str, many: list[HermesStore], worker: Callable[..., subprocess.Popen[bytes]]
) -> None:
    hermes_store = many[0]
    hermes_store.start_turn()
    run, other = (service.start(each.store, each.session_id, Options(), apply=True) for each in many[:2])
    process = worker()
    until(run, "waiting")
    for _ in range(signals):
        process.terminate()
        time.sleep(1)
    if signals == 1:
        assert process.poll() is None
        hermes_store.end_turn()
    assert process.wait(PATIENCE) == code
    run.refresh_from_db()
    other.refresh_from_db()
    assert (run.status, other.status, other.attempts) == (status, "queued", 0)
    assert hermes_store.holders("compression_locks") == [] and workers.alive() == 0
    hermes_store.end_turn()
    assert worker("worker", "--batch").wait(PATIENCE) == 0
    until(run, "applied")
    until(other, "applied")
    assert (run.attempts, other.attempts) == (signals, 1)


def test_two_workers_do_each_run_once(many: list[HermesStore], worker: Callable[..., subprocess.Popen[bytes]]) -> None:
    for each in many:
        service.prepare(each.store, each.session_id, Options(), apply=True)
    for _ in range(2):
        worker()
    _wait_for_workers(2)
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as own:
        own.execute("UPDATE runs_run SET queued_at = created_at")
        own.execute("BEGIN IMMEDIATE")  # both find the same run and wait to claim it
        time.sleep(2)
        own.execute("ROLLBACK")
    for run in Run.objects.all():
        until(run, "applied")
    assert set(Run.objects.values_list("status", "attempts")) == {("applied", 1)}
    written = many[0].rows("SELECT session_id FROM messages WHERE _compressed_summary = 1 ORDER BY session_id")
    assert written == [(each.session_id,) for each in many]


def test_killed_while_it_waited_it_is_written_once(
    hermes_store: HermesStore, worker: Callable[..., subprocess.Popen[bytes]]
) -> None:
    boundaries = hermes_store.rows("SELECT COUNT(*) FROM messages WHERE _compressed_summary = 1")[0][0]
    hermes_store.start_turn()
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    first = worker()
    until(run, "waiting")
    assert len(hermes_store.holders("compression_locks")) == 1
    first.send_signal(signal.SIGKILL)
    first.wait()
    time.sleep(0.2)

    assert recovery.sweep(older_than=0.1) == [run]
    run.refresh_from_db()
    assert (run.status, run.holder, hermes_store.holders("compression_locks")) == ("waiting", "", [])
    worker()
    until(run, "waiting")
    hermes_store.end_turn()
    until(run, "applied")

    assert (run.attempts, run.messages_after) == (2, len(hermes_store.live()))
    assert hermes_store.rows("SELECT COUNT(*) FROM messages WHERE _compressed_summary = 1")[0][0] == boundaries + 1
    deadline = time.monotonic() + PATIENCE  # they are let go right after the run is noted as written
    while hermes_store.holders("compression_locks") + hermes_store.holders("session_turn_leases"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_batch_takes_up_what_a_killed_command_left(
    hermes_store: HermesStore, worker: Callable[..., subprocess.Popen[bytes]]
) -> None:
    """`manage.py compact` needs no worker, so there may be none that looks for such runs."""
    hermes_store.start_turn()
    command = worker("compact", "hermes", hermes_store.session_id)
    deadline = time.monotonic() + PATIENCE
    while (run := Run.objects.first()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    until(run, "waiting")
    command.kill()
    command.wait()
    hermes_store.end_turn()
    assert worker("worker", "--batch").wait(PATIENCE) == 0
    until(run, "applied")
    assert (run.attempts, hermes_store.holders("compression_locks")) == (2, [])


def test_workers_are_counted_while_they_live(
    hermes_store: HermesStore, worker: Callable[..., subprocess.Popen[bytes]]
) -> None:
    first, second = worker(), worker()
    _wait_for_workers(2)
    first.terminate()
    first.wait()
    assert workers.alive() == Worker.objects.count() == 1  # it left by itself
    second.kill()
    second.wait()
    assert (workers.alive(), Worker.objects.count()) == (0, 1)  # it could not, but it is known to be dead
    workers.sign("a worker of another machine")
    assert workers.alive() == 1
    Worker.objects.update(seen_at=timezone.now() - timedelta(seconds=workers.MISSED * workers.SIGN_SECONDS + 1))
    assert workers.alive() == 0
    Worker.objects.update(seen_at=timezone.now() - timedelta(days=2))
    workers.sign("another")
    assert list(Worker.objects.values_list("name", flat=True)) == ["another"]


def _wait_for_workers(count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while workers.alive() != count:
        assert time.monotonic() < deadline, f"{workers.alive()} workers"
        time.sleep(0.1)
