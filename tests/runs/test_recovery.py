"""Runs whose worker died, at every point where it can."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from pytest_django import Settings

from tests.factories.histories import receipt_of
from tests.factories.runs import until
from tests.factories.stores import HermesStore
from viewer.enforcement.models import Audit
from viewer.history.models import Compaction
from viewer.management.commands.worker import AWAY_SECONDS, POLL_SECONDS, Loop
from viewer.runs import job, outcomes, planning, recovery, service, workers
from viewer.runs.models import Run, Worker
from viewer.runs.planning import Options
from viewer.runs.run_claim import LeaseLost, RunClaim, claim
from viewer.stores import lock_owners
from viewer.stores.changes import edits_from_json
from viewer.stores.errors import SessionBusy
from viewer.stores.hermes import presence
from viewer.stores.hermes.transaction import write
from viewer.stores.registry import get_store, writer_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
GONE = "pid=999999999:pidns=1:tid=1:agent=palimpsest:nonce=deadbeef"


def queued(hermes_store: HermesStore, apply: bool = True) -> Run:
    """A run that no worker has begun."""
    return service.prepare(hermes_store.store, hermes_store.session_id, Options(), apply=apply)


def died(run: Run, hermes_store: HermesStore, **fields: object) -> Run:
    """The row and the store as a worker leaves them that was killed: lock held, heartbeat old."""
    presence.take_lock(hermes_store.store, hermes_store.session_id, GONE)
    long_ago = timezone.now() - timedelta(minutes=5)
    Run.objects.filter(pk=run.pk).update(**{"holder": GONE, "heartbeat_at": long_ago, "attempts": 1, **fields})
    run.refresh_from_db()
    return run


@pytest.mark.parametrize("status", ["queued", "planning", "summarizing"])
def test_before_the_summary_it_is_taken_up_from_the_start(hermes_store: HermesStore, status: str) -> None:
    run = died(queued(hermes_store), hermes_store, status=status)
    assert recovery.sweep() == [run]
    run.refresh_from_db()
    assert (run.status, run.attempts) == ("applied", 2)
    assert hermes_store.holders("compression_locks") == []


@pytest.mark.parametrize("status", ["waiting", "applying"])
def test_with_a_summary_it_is_taken_up_with_that_summary(hermes_store: HermesStore, status: str) -> None:
    run = queued(hermes_store, apply=False)
    job.compact(run.pk)
    run.refresh_from_db()
    summary = run.summary
    died(run, hermes_store, status=status, summary=summary)
    recovery.sweep()
    run.refresh_from_db()
    assert (run.status, run.summary, run.messages_after) == ("applied", summary, len(hermes_store.live()))


@pytest.mark.parametrize("version", [21, 31])
@pytest.mark.parametrize("late", [0, 3])
def test_a_commit_that_was_not_noted_is_found(
    open_hermes_store: Callable[[int], HermesStore], version: int, late: int
) -> None:
    hermes_store = open_hermes_store(version)
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=False)
    planned = {"basis": run.basis, "edits": run.edits}
    for number in range(late):
        hermes_store.append(f"late message {number}")
    service.apply(run)
    noted = (run.handoff_id, receipt_of(run))
    Compaction.objects.filter(run=run.pk).delete()
    live, applied_at = hermes_store.live(), run.applied_at
    assert applied_at
    Audit.objects.update(run=None)  # armed by a worker that saw the boundary before anybody knew whose it is

    died(run, hermes_store, status="applying", handoff_id=None, applied_at=None, **planned)
    recovery.sweep()

    run.refresh_from_db()
    assert run.status == "applied"
    assert (run.handoff_id, receipt_of(run)) == noted
    assert run.applied_at and abs(run.applied_at - applied_at) < timedelta(seconds=2)
    assert hermes_store.live() == live
    assert hermes_store.holders("compression_locks") == []
    assert Audit.objects.get().run == run.pk


def test_a_compaction_of_somebody_else_is_not_taken_for_the_one_that_was_not_noted(
    hermes_store: HermesStore, settings: Settings
) -> None:
    run = queued(hermes_store, apply=False)
    job.compact(run.pk)
    died(run, hermes_store, status="applying")
    presence.release_lock(hermes_store.store, hermes_store.session_id, GONE)
    settings.STORES = {**settings.STORES, "as another site": hermes_store.store.url}
    other = service.start(get_store("as another site"), hermes_store.session_id, Options(keep_last=12), apply=True)
    after = hermes_store.live()
    assert other.status == "applied"

    assert recovery.sweep() == [run]
    run.refresh_from_db()
    assert (run.status, run.handoff_id, hermes_store.live()) == ("conflict", None, after)


def test_a_worker_that_was_only_slow_cannot_write_any_more(hermes_store: HermesStore, settings: Settings) -> None:
    settings.AT_ONCE = False
    before = hermes_store.live()
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=False)
    slow = claim(run.pk)
    assert slow
    hold = RunClaim(slow)
    with hold:
        job._make_candidate(hold)
        Run.objects.filter(pk=run.pk).update(status="waiting", holder=hold.holder)
        Run.objects.filter(pk=run.pk).update(heartbeat_at=timezone.now() - timedelta(minutes=5))
        hold.run.refresh_from_db()
        assert [found.pk for found in recovery.sweep()] == [run.pk]
        with pytest.raises(SessionBusy, match="lost before the write"):
            guards_and_commit(hold)
    assert hermes_store.live() == before
    job.compact(run.pk)
    run.refresh_from_db()
    assert run.status == "applied"


def guards_and_commit(hold: RunClaim) -> None:
    """What `job._commit` writes, by a worker that does not look at its row any more."""
    presence.take_lease(hold.store, hold.run.session_id, hold.holder)
    try:
        run, edits = hold.run, edits_from_json(hold.run.edits)
        write = writer_of(hold.store).apply
        write(run.session_id, run.basis, edits, mode=run.mode, holder=hold.holder, now=time.time())
    finally:
        presence.release_lease(hold.store, hold.run.session_id, hold.holder)


def test_a_run_that_kills_every_worker_ends_with_a_reason(hermes_store: HermesStore) -> None:
    run = died(queued(hermes_store), hermes_store, status="summarizing", attempts=recovery.MOST_ATTEMPTS)
    before = hermes_store.live()
    recovery.sweep()
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("failed", "worker_lost")
    assert "died 3 times" in run.error_message
    assert hermes_store.live() == before and hermes_store.holders("compression_locks") == []


def test_runs_that_wait_for_a_worker_or_beat_are_left_alone(hermes_store: HermesStore, settings: Settings) -> None:
    settings.AT_ONCE = False
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    Run.objects.update(heartbeat_at=timezone.now() - timedelta(hours=1))
    assert recovery.sweep() == []
    run.refresh_from_db()
    assert run.heartbeat_at > timezone.now() - timedelta(seconds=30)  # machines without the store see that one has it
    Run.objects.update(status="summarizing", holder=GONE, heartbeat_at=timezone.now() - timedelta(seconds=30))
    assert recovery.sweep() == []
    assert recovery.sweep(older_than=15) == [run]
    run.refresh_from_db()
    assert (run.status, run.holder) == ("queued", "")


def test_a_run_that_never_reached_the_queue_is_taken_up(hermes_store: HermesStore) -> None:
    run = queued(hermes_store)
    Run.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=5))
    recovery.sweep()
    run.refresh_from_db()
    assert run.status == "applied"


def test_a_run_of_a_store_that_is_not_here_is_left_to_workers_that_have_it(
    hermes_store: HermesStore, settings: Settings
) -> None:
    run = died(queued(hermes_store), hermes_store, status="planning")
    settings.STORES = {}
    assert recovery.sweep() == []
    Run.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=11))
    assert [found.pk for found in recovery.sweep()] == [run.pk]
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("failed", "not_found")
    assert "No worker that has this store has been seen for 10 minutes" in run.error_message


@pytest.mark.parametrize("written", [False, True])
def test_what_may_have_been_written_is_looked_up_once_the_store_can_be_read(
    hermes_store: HermesStore, written: bool
) -> None:
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=False)
    planned = {"basis": run.basis, "edits": run.edits}
    if written:
        service.apply(run)
        Compaction.objects.filter(run=run.pk).delete()
    live = hermes_store.live()
    died(run, hermes_store, status="applying", handoff_id=None, applied_at=None, **planned)
    away = hermes_store.path.rename(hermes_store.path.with_suffix(".away"))
    hermes_store.path.write_bytes(b"no database at all, for now" * 100)

    assert [found.pk for found in recovery.sweep()] == [run.pk]
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("failed", recovery.UNKNOWN)
    assert "is checked as soon as possible" in run.error_message
    assert recovery.sweep() == []

    away.rename(hermes_store.path)
    assert [found.pk for found in recovery.sweep()] == [run.pk]
    run.refresh_from_db()
    assert (run.status, run.error_code) == (("applied", "") if written else ("ready", "worker_lost"))
    assert hermes_store.live() == live and hermes_store.holders("compression_locks") == []
    if not written:
        assert service.apply(run).status == "applied"


@pytest.mark.parametrize("done", [False, True])
def test_an_undo_that_was_not_noted_is_noted(hermes_store: HermesStore, done: bool) -> None:
    before = hermes_store.live()
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    after = hermes_store.live()
    if done:
        service.undo_run(run)
    died(run, hermes_store, status="applied")

    assert [found.pk for found in recovery.sweep()] == [run.pk]
    run.refresh_from_db()
    assert (run.status, run.holder) == ("undone" if done else "applied", "")
    assert hermes_store.live() == (before if done else after)
    assert hermes_store.holders("compression_locks") == []


def test_a_worker_that_is_certainly_dead_is_not_waited_for(hermes_store: HermesStore) -> None:
    run = queued(hermes_store)
    ours = lock_owners.new_holder()
    for holder, lost in [
        (ours, False),
        (re.sub(r"pid=\d+", "pid=4194305", ours), True),
        (re.sub(r"pid=\d+", "pid=4194305", re.sub("boot=.", "boot=!", ours).replace("!", "x")), False),
    ]:
        Run.objects.update(status="planning", holder=holder, heartbeat_at=timezone.now())
        assert recovery.sweep() == ([run] if lost else []), holder
        Run.objects.update(status="planning", attempts=0)


def test_locks_of_a_killed_worker_are_removed_with_the_next_look(hermes_store: HermesStore) -> None:
    """Also where it had noted the end of its run, and nothing else says that it held any."""
    dead = re.sub(r"pid=\d+", "pid=4194305", lock_owners.new_holder())
    for name in (dead, lock_owners.new_holder(), "a worker of another machine"):
        workers.sign(name)
    for session_id, holder in (("dead", dead), ("another", GONE)):
        presence.take_lock(hermes_store.store, session_id, holder)
    assert recovery.sweep() == []
    assert hermes_store.holders("compression_locks") == [GONE]
    assert Worker.objects.count() == 2 and not Worker.objects.filter(name=dead).exists()


def test_a_run_whose_begin_could_not_be_noted_is_done_once_it_can(
    hermes_store: HermesStore, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AT_ONCE = False
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    loop, waits = Loop(), list[float]()

    def full(_: int) -> None:
        raise OperationalError("database or disk is full")

    def room(seconds: float) -> None:
        monkeypatch.setattr(job, "claim", claim)
        waits.append(seconds)
        loop.running = seconds == AWAY_SECONDS

    monkeypatch.setattr(job, "claim", full)
    monkeypatch.setattr(time, "sleep", room)
    loop.run()
    run.refresh_from_db()
    assert (run.status, run.attempts, waits) == ("applied", 1, [AWAY_SECONDS, POLL_SECONDS])


def test_a_run_that_fails_unforeseen_ends_no_worker(
    hermes_store: HermesStore, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where how it ended cannot be found out: it is left to recovery."""
    settings.AT_ONCE = False
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)

    def broken(*_: object) -> None:
        raise KeyError("unforeseen")

    monkeypatch.setattr(planning, "read_basis", broken)
    monkeypatch.setattr(outcomes, "stopped", broken)
    Loop(batch=True).run()
    run.refresh_from_db()
    assert run.status == "planning" and run.holder and run.queued_at is None
    assert hermes_store.holders("compression_locks") == []


@pytest.mark.parametrize("meanwhile", ["taken up by another", "its worker beats"])
def test_a_run_that_changed_since_it_was_read_is_left_alone(
    meanwhile: str, hermes_store: HermesStore, settings: Settings
) -> None:
    settings.AT_ONCE = False
    run = died(queued(hermes_store), hermes_store, status="queued")
    stale = Run.objects.get()
    if meanwhile == "taken up by another":
        assert recovery.recover(run)
    else:
        Run.objects.update(heartbeat_at=timezone.now())
    before = Run.objects.values().get()
    assert not recovery.recover(stale)
    assert Run.objects.values().get() == before


def test_locks_of_our_dead_are_removed_and_no_others(hermes_store: HermesStore) -> None:
    dead = re.sub(r"pid=\d+", "pid=4194305", lock_owners.new_holder())
    agents = dead.replace("agent=palimpsest", "agent=hermes")
    for number, holder in enumerate([dead, agents, GONE, lock_owners.new_holder()]):
        for table in ("compression_locks", "session_turn_leases"):
            hermes_store.rows(
                f"INSERT INTO {table} VALUES (?, ?, unixepoch(), unixepoch() + 300)", f"s{number}", holder
            )
    recovery.tidy()
    for table in ("compression_locks", "session_turn_leases"):
        left = hermes_store.holders(table)
        assert len(left) == 3 and dead not in left


def test_a_worker_looks_again_and_again(hermes_store: HermesStore) -> None:
    run = died(queued(hermes_store), hermes_store, status="planning")
    ended = recovery.watch("a worker", every=0.05)
    try:
        until(run, "applied")
    finally:
        ended.set()
    for thread in threading.enumerate():
        if thread.name == "recovery of runs":
            thread.join(60)


def test_a_worker_whose_run_another_one_has_changes_it_no_more(hermes_store: HermesStore) -> None:
    claimed = claim(queued(hermes_store).pk)
    assert claimed
    Run.objects.update(holder="another one")
    before = Run.objects.values().get()
    with pytest.raises(LeaseLost):
        RunClaim(claimed).update(summary="Mine.")
    assert Run.objects.values().get() == before


def test_a_hold_beats_and_renews_its_lock(hermes_store: HermesStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "REFRESH_EVERY", 0.1)
    run = queued(hermes_store)
    claimed = claim(run.pk)
    assert claimed and claim(run.pk) is None
    expiry = "SELECT expires_at FROM compression_locks"
    with RunClaim(claimed, beat=0.05):
        run.refresh_from_db()
        first, expires = run.heartbeat_at, hermes_store.rows(expiry)
        end = time.monotonic() + 60
        while run.heartbeat_at == first or hermes_store.rows(expiry) == expires:
            assert time.monotonic() < end
            time.sleep(0.02)
            run.refresh_from_db()
        assert run.heartbeat_at > first and hermes_store.rows(expiry) > expires
    assert hermes_store.rows(expiry) == []


@pytest.mark.parametrize(("status", "becomes", "holder"), [("applying", "failed", GONE), ("applied", "applied", "")])
def test_one_that_cannot_be_recovered_keeps_no_other_waiting(
    status: str, becomes: str, holder: str, hermes_store: HermesStore
) -> None:
    """What it was planned on cannot be read, or nothing says what it wrote, as in a version long ago."""
    long_ago = timezone.now() - timedelta(minutes=5)
    broken = Run.objects.create(
        store="hermes", session_id="x", status=status, apply=True, holder=GONE, heartbeat_at=long_ago
    )
    run = died(queued(hermes_store), hermes_store, status="planning")
    assert run in recovery.sweep()
    run.refresh_from_db()
    broken.refresh_from_db()
    assert (run.status, broken.status, broken.holder) == ("applied", becomes, holder)


@pytest.mark.parametrize("holder", [GONE, "pid=1:tid=2:agent=palimpsest:nonce=other"])
def test_a_hold_that_has_run_out_or_is_another_s_writes_nothing(holder: str, hermes_store: HermesStore) -> None:
    presence.take_lock(hermes_store.store, hermes_store.session_id, GONE)
    with write(hermes_store.store) as con:
        presence.check_held(con, hermes_store.session_id, GONE)
    if holder == GONE:
        hermes_store.rows("UPDATE compression_locks SET expires_at = unixepoch() - 1")
    with pytest.raises(SessionBusy, match="nothing was written"), write(hermes_store.store) as con:
        presence.check_held(con, hermes_store.session_id, holder)


def test_a_heartbeat_at_a_whole_second_is_recognised(hermes_store: HermesStore) -> None:
    """The database writes it with milliseconds, Python without: compared as text, it would be later than itself."""
    run = died(queued(hermes_store), hermes_store, status="planning")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runs_run SET heartbeat_at = strftime('%Y-%m-%d %H:%M:%S', 'now', '-5 minutes') || '.000'"
        )
    run.refresh_from_db()
    assert recovery.sweep() == [run]
    run.refresh_from_db()
    assert run.status == "applied"
