"""Runs whose worker died, at every point where it can."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from tests.runs.desk import QUEUED, Desk
from viewer.runs import job, life, recovery
from viewer.runs.hold import Hold, claim
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.store import guards
from viewer.store.errors import SessionBusy

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
GONE = "pid=999999999:pidns=1:tid=1:agent=palimpsest:nonce=deadbeef"


def queued(desk: Desk, apply: bool = True) -> Run:
    """A run that no worker has begun."""
    return life.prepare(desk.store, desk.session_id, Options(), apply=apply)


def died(run: Run, desk: Desk, **fields: object) -> Run:
    """The row and the store as a worker leaves them that was killed: lock held, heartbeat old."""
    guards.take_lock(desk.store, desk.session_id, GONE)
    long_ago = timezone.now() - timedelta(minutes=5)
    Run.objects.filter(pk=run.pk).update(**{"holder": GONE, "heartbeat_at": long_ago, "attempts": 1, **fields})
    run.refresh_from_db()
    return run


@pytest.mark.parametrize("status", ["queued", "planning", "summarizing"])
def test_before_the_summary_it_is_taken_up_from_the_start(desk: Desk, status: str) -> None:
    run = died(queued(desk), desk, status=status)
    assert recovery.sweep() == [run]
    run.refresh_from_db()
    assert (run.status, run.attempts) == ("applied", 2)
    assert desk.holders("compression_locks") == []


@pytest.mark.parametrize("status", ["waiting", "applying"])
def test_with_a_summary_it_is_taken_up_with_that_summary(desk: Desk, status: str) -> None:
    run = queued(desk, apply=False)
    job.compact.call(run.pk)
    run.refresh_from_db()
    summary = run.summary
    died(run, desk, status=status, summary=summary)
    recovery.sweep()
    run.refresh_from_db()
    assert (run.status, run.summary, run.messages_after) == ("applied", summary, len(desk.live()))


@pytest.mark.parametrize("version", [21, 31])
@pytest.mark.parametrize("late", [0, 3])
def test_a_commit_that_was_not_noted_is_found(open_desk: Callable[[int], Desk], version: int, late: int) -> None:
    desk = open_desk(version)
    run = life.start(desk.store, desk.session_id, Options(), apply=False)
    for number in range(late):
        desk.append(f"late message {number}")
    life.apply(run)
    noted = {"handoff_id": run.handoff_id, "block_ids": run.block_ids, "copies": run.copies}
    live, applied_at = desk.live(), run.applied_at
    assert applied_at

    died(run, desk, status="applying", handoff_id=None, block_ids=[], copies={}, applied_at=None)
    recovery.sweep()

    run.refresh_from_db()
    assert run.status == "applied"
    assert {"handoff_id": run.handoff_id, "block_ids": run.block_ids, "copies": run.copies} == noted
    assert run.applied_at and abs(run.applied_at - applied_at) < timedelta(seconds=2)
    assert desk.live() == live
    assert desk.holders("compression_locks") == []


def test_a_worker_that_was_only_slow_cannot_write_any_more(desk: Desk, settings: Settings) -> None:
    settings.TASKS = QUEUED
    before = desk.live()
    run = life.start(desk.store, desk.session_id, Options(), apply=False)
    slow = claim(run.pk)
    assert slow
    hold = Hold(slow)
    with hold:
        job._make_candidate(hold)
        Run.objects.filter(pk=run.pk).update(status="waiting", holder=hold.holder)
        Run.objects.filter(pk=run.pk).update(heartbeat_at=timezone.now() - timedelta(minutes=5))
        hold.run.refresh_from_db()
        assert [found.pk for found in recovery.sweep()] == [run.pk]
        with pytest.raises(SessionBusy, match="lost before the write"):
            guards_and_commit(hold)
    assert desk.live() == before
    job.compact.call(run.pk)
    run.refresh_from_db()
    assert run.status == "applied"


def guards_and_commit(hold: Hold) -> None:
    """What `job._commit` writes, by a worker that does not look at its row any more."""
    from viewer.runs import candidate
    from viewer.store import writing

    guards.take_lease(hold.store, hold.run.session_id, hold.holder)
    try:
        planned, steps = candidate.snapshot(hold.run), candidate.planned_steps(hold.run)
        writing.commit(hold.store, planned, steps, lock_holder=hold.holder, lease_holder=hold.holder, now=time.time())
    finally:
        guards.release_lease(hold.store, hold.run.session_id, hold.holder)


def test_a_run_that_kills_every_worker_ends_with_a_reason(desk: Desk) -> None:
    run = died(queued(desk), desk, status="summarizing", attempts=recovery.MOST_ATTEMPTS)
    before = desk.live()
    recovery.sweep()
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("failed", "worker_lost")
    assert "died 3 times" in run.error_message
    assert desk.live() == before and desk.holders("compression_locks") == []


def test_runs_that_wait_for_a_worker_or_beat_are_left_alone(desk: Desk, settings: Settings) -> None:
    settings.TASKS = QUEUED
    run = life.start(desk.store, desk.session_id, Options(), apply=True)
    Run.objects.update(heartbeat_at=timezone.now() - timedelta(hours=1))
    assert recovery.sweep() == []
    Run.objects.update(status="summarizing", holder=GONE, heartbeat_at=timezone.now() - timedelta(seconds=60))
    assert recovery.sweep() == []
    assert recovery.sweep(older_than=30) == [run]
    run.refresh_from_db()
    assert (run.status, run.holder) == ("queued", "")


def test_a_run_that_never_reached_the_queue_is_taken_up(desk: Desk) -> None:
    run = queued(desk)
    Run.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=5))
    recovery.sweep()
    run.refresh_from_db()
    assert run.status == "applied"


def test_a_store_that_is_gone_keeps_what_may_have_been_written(desk: Desk, settings: Settings) -> None:
    applying = died(queued(desk), desk, status="applying")
    stores, settings.STORES = settings.STORES, {}
    assert recovery.sweep() == []
    Run.objects.filter(pk=applying.pk).update(status="planning")
    assert [run.pk for run in recovery.sweep()] == [applying.pk]
    applying.refresh_from_db()
    assert (applying.status, applying.error_code) == ("failed", "not_found")
    settings.STORES = stores


def test_a_worker_looks_again_and_again(desk: Desk) -> None:
    run = died(queued(desk), desk, status="planning")
    ended = recovery.watch(every=0.05)
    try:
        for _ in range(200):
            run.refresh_from_db()
            if run.status == "applied":
                break
            time.sleep(0.05)
    finally:
        ended.set()
    assert run.status == "applied"
    for thread in threading.enumerate():
        if thread.name == "recovery of runs":
            thread.join(5)


def test_a_hold_beats_and_renews_its_lock(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewer.runs.hold.BEAT_SECONDS", 0.05)
    monkeypatch.setattr(guards, "REFRESH_EVERY", 0.1)
    run = queued(desk)
    claimed = claim(run.pk)
    assert claimed and claim(run.pk) is None
    expiry = "SELECT expires_at FROM compression_locks"
    with Hold(claimed):
        run.refresh_from_db()
        first, expires = run.heartbeat_at, desk.rows(expiry)
        time.sleep(0.6)
        run.refresh_from_db()
        assert run.heartbeat_at > first
        assert desk.rows(expiry) > expires
    assert desk.rows(expiry) == []
