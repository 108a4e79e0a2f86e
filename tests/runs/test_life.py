"""A run from start to undo on real databases."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

import compaction
from compaction.llm.digest import request_of
from tests.factories.histories import receipt_of
from tests.factories.runs import in_thread, until
from tests.factories.stores import HermesStore
from viewer.history import records
from viewer.runs import compaction_list, job, outcomes, planning, service
from viewer.runs.errors import BadSummary, NothingToDo, UnknownChoice, WrongStatus
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.runs.providers import summarizers
from viewer.runs.run_claim import claim
from viewer.stores.changes import Commit
from viewer.stores.errors import (
    CompactionConflict,
    NotFound,
    NotUndoable,
    SessionBusy,
    SessionEnded,
    StoreReadOnly,
    StoreUnavailable,
)
from viewer.stores.hermes import presence
from viewer.stores.hermes.reader import open_store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
EDITED = "## Goal\nThe customer wants a window seat – café, 航班, “quotes”.\n\n- PNR `QX7-119`"


def ready(hermes_store: HermesStore, **options: str) -> Run:
    """A candidate."""
    run = service.start(hermes_store.store, hermes_store.session_id, Options(**options), apply=False)  # type: ignore[arg-type]
    assert (run.status, run.error_message) == ("ready", "")
    return run


@contextmanager
def in_worker(run: Run) -> Iterator[threading.Thread]:
    """The run's job in another thread, as in another process."""
    thread = in_thread(run)
    yield thread
    thread.join(60)
    assert not thread.is_alive()
    run.refresh_from_db()


@pytest.mark.parametrize("version", [21, 31])
def test_it_works(open_hermes_store: Callable[[int], HermesStore], version: int) -> None:
    hermes_store = open_hermes_store(version)
    before = hermes_store.live()
    others = hermes_store.rows("SELECT * FROM messages WHERE session_id <> ?", hermes_store.session_id)
    sessions = hermes_store.rows("SELECT id FROM sessions")

    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)

    assert (run.status, run.error_message) == ("applied", "")
    assert run.tokens_before and run.tokens_after and run.tokens_after < run.tokens_before
    assert run.messages_before == len(before)
    assert run.messages_after == len(hermes_store.live()) == len(receipt_of(run)["block"])
    assert [row[1] for row in hermes_store.live() if run.summary in (row[1] or "")] != []
    assert hermes_store.rows("SELECT id FROM sessions") == sessions
    assert hermes_store.rows("SELECT * FROM messages WHERE session_id <> ?", hermes_store.session_id) == others
    assert hermes_store.holders("compression_locks") == hermes_store.holders("session_turn_leases") == []
    with open_store(hermes_store.store) as reader:
        newest = compaction_list.compactions(reader, hermes_store.session_id)[-1]
    assert (newest.by, newest.run, newest.undoable) == ("by you, here", run.pk, True)
    assert newest.summary == run.summary
    assert newest.messages_after == run.messages_after

    service.undo(hermes_store.store, hermes_store.session_id, newest.handoff_id)

    assert hermes_store.live() == before
    run.refresh_from_db()
    assert run.status == "undone"
    assert hermes_store.holders("compression_locks") == hermes_store.holders("session_turn_leases") == []


def test_a_summariser_is_told_when_things_were_said(hermes_store: HermesStore) -> None:
    with open_store(hermes_store.store) as reader:
        basis = planning.read_basis(reader, hermes_store.session_id)
    plan = planning.plan_of(basis, Options(), "")
    digest = request_of(plan).digest
    times = [basis.sent[i].timestamp for i in plan.middle]
    days = {f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d}" for time in times if time}
    assert days and all(f", {day} " in digest for day in days)


def test_a_preview_holds_nothing_and_changes_nothing(hermes_store: HermesStore) -> None:
    before = hermes_store.live()
    run = ready(hermes_store)
    assert hermes_store.live() == before
    assert hermes_store.holders("compression_locks") == []
    assert run.summary and run.finished_at
    assert len(run.report["summarised"]) + len(run.report["kept"]) + len(run.report["shortened"]) == len(before)


def test_exactly_the_edited_summary_is_written_and_later_messages_stay(hermes_store: HermesStore) -> None:
    before = hermes_store.live()
    run = ready(hermes_store)
    late = hermes_store.append("And the refund?")

    service.apply(run, EDITED)

    assert (run.status, run.summary) == ("applied", EDITED)
    (handoff,) = hermes_store.rows("SELECT content FROM messages WHERE id = ?", run.handoff_id)
    parts = compaction.split(handoff[0], flagged=True)
    assert [part.text for part in parts if part.kind == "summary"] == [EDITED]
    assert hermes_store.live()[-1][:2] == ("user", "And the refund?")
    assert str(late) in receipt_of(run)["copies"]

    service.undo_run(run)

    assert hermes_store.live() == [*before, ("user", "And the refund?", None, None)]


def test_an_unusable_text_is_refused_and_the_candidate_stays(hermes_store: HermesStore) -> None:
    run = ready(hermes_store)
    with pytest.raises(BadSummary):
        service.apply(run, "   ")
    with pytest.raises(BadSummary, match="would not shrink"):
        service.apply(run, "word " * 40_000)
    run.refresh_from_db()
    assert run.status == "ready" and run.summary.strip()


def test_a_new_run_discards_an_older_candidate(hermes_store: HermesStore) -> None:
    first, second = ready(hermes_store), ready(hermes_store, focus="refunds")
    first.refresh_from_db()
    assert (first.status, second.status) == ("discarded", "ready")
    assert service.latest(hermes_store.store, hermes_store.session_id) == second
    assert service.runs_of(hermes_store.store, hermes_store.session_id) == [second, first]
    service.discard(second)
    assert second.status == "discarded"
    with pytest.raises(WrongStatus):
        service.apply(second)


def test_planned_messages_that_changed_are_a_conflict(hermes_store: HermesStore) -> None:
    run = ready(hermes_store)
    hermes_store.take_back_newest()
    before = hermes_store.live()
    with pytest.raises(CompactionConflict):
        service.apply(run)
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("conflict", "compaction_conflict")
    assert run.summary
    assert hermes_store.live() == before
    assert service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True).status == "applied"


# -- the agent's turn --------------------------------------------------------------------------------------------------


def test_it_waits_for_the_turn_and_keeps_what_the_turn_wrote(hermes_store: HermesStore, settings: Settings) -> None:
    settings.AT_ONCE = False
    hermes_store.start_turn()
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    with in_worker(run):
        until(run, "waiting")
        while "holder" not in run.progress:
            time.sleep(0.05)
            run.refresh_from_db()
        assert run.progress["holder"] == "pid=1:turn=9:platform=telegram"
        assert "platform=telegram" in run.progress["sentence"] and run.progress["until"].endswith("Z")
        hermes_store.append("Done, your seat is 4A.", "assistant")
        hermes_store.end_turn()
    assert run.status == "applied"
    assert hermes_store.live()[-1][:2] == ("assistant", "Done, your seat is 4A.")


def test_a_turn_that_does_not_end_leaves_a_candidate(hermes_store: HermesStore, settings: Settings) -> None:
    settings.WAIT_SECONDS = 0
    before = hermes_store.live()
    hermes_store.start_turn()
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    assert (run.status, run.error_code) == ("ready", "session_busy")
    assert "platform=telegram" in run.error_message and "summary is kept" in run.error_message
    assert hermes_store.live() == before
    assert hermes_store.holders("compression_locks") == []
    hermes_store.end_turn()
    assert service.apply(run).status == "applied"
    assert run.error_code == ""


def test_cancelled_while_it_waits(hermes_store: HermesStore, settings: Settings) -> None:
    settings.AT_ONCE = False
    before = hermes_store.live()
    hermes_store.start_turn()
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    with in_worker(run):
        service.cancel(until(run, "waiting"))
        hermes_store.end_turn()
    assert run.status == "cancelled"
    assert hermes_store.live() == before
    assert hermes_store.holders("compression_locks") == hermes_store.holders("session_turn_leases") == []
    with pytest.raises(WrongStatus):
        service.cancel(run)


def test_cancelled_before_a_worker_had_it(hermes_store: HermesStore, settings: Settings) -> None:
    settings.AT_ONCE = False
    before = hermes_store.live()
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    assert service.cancel(run).status == "cancelled"
    job.compact(run.pk)
    run.refresh_from_db()
    assert (run.status, run.holder, run.attempts) == ("cancelled", "", 0) and hermes_store.live() == before


def test_a_cancelled_run_frees_its_session_before_its_worker_looks(hermes_store: HermesStore) -> None:
    run = service.prepare(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    claimed = claim(run.pk)
    assert claimed
    presence.take_lock(hermes_store.store, hermes_store.session_id, claimed.holder)
    presence.take_lease(hermes_store.store, hermes_store.session_id, claimed.holder)
    service.cancel(claimed)
    assert hermes_store.holders("compression_locks") + hermes_store.holders("session_turn_leases") == []


def test_workers_that_died_before_the_preview_do_not_count_for_its_writing(
    hermes_store: HermesStore, settings: Settings
) -> None:
    run = ready(hermes_store)
    Run.objects.update(attempts=3)
    settings.AT_ONCE = False
    assert service.apply(service.get_run(run.pk)).attempts == 0


def test_messages_taken_back_during_the_wait_are_a_conflict(hermes_store: HermesStore, settings: Settings) -> None:
    settings.AT_ONCE = False
    hermes_store.start_turn()
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    with in_worker(run):
        until(run, "waiting")
        hermes_store.take_back_newest()
        before = hermes_store.live()
        hermes_store.end_turn()
    assert (run.status, run.error_code) == ("conflict", "compaction_conflict")
    assert run.summary and hermes_store.live() == before


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_two_starts_at_once_make_one_run(hermes_store: HermesStore, settings: Settings) -> None:
    settings.AT_ONCE = False
    together, outcomes = threading.Barrier(4), []

    def click() -> None:
        try:
            together.wait()
            outcomes.append(service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True).status)
        except SessionBusy as busy:
            outcomes.append(busy.message)
        finally:
            connection.close()

    threads = [threading.Thread(target=click) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run = Run.objects.get()
    assert sorted(outcomes, key=len)[0] == "queued"
    assert [f"run {run.pk}, queued" in said for said in sorted(outcomes, key=len)[1:]] == [True, True, True]


def test_somebody_elses_lock_is_named(hermes_store: HermesStore) -> None:
    hermes_store.rows(
        "INSERT INTO compression_locks VALUES (?, 'pid=1:tid=2:agent=ab:nonce=cd', unixepoch(), unixepoch() + 300)",
        hermes_store.session_id,
    )
    with pytest.raises(
        SessionBusy, match=r"pid=1:tid=2:agent=ab:nonce=cd\) has been compacting this session since \d\d:"
    ):
        service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    assert not Run.objects.exists()


def test_a_lock_taken_after_the_start_fails_the_run(hermes_store: HermesStore, settings: Settings) -> None:
    settings.AT_ONCE = False
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    presence.take_lock(hermes_store.store, hermes_store.session_id, "pid=1:tid=2:agent=ab:nonce=cd")
    job.compact(run.pk)
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("failed", "session_busy")
    assert hermes_store.holders("compression_locks") == ["pid=1:tid=2:agent=ab:nonce=cd"]


def test_what_cannot_be_compacted_says_why(open_hermes_store: Callable[..., HermesStore]) -> None:
    old = open_hermes_store(16, "Airline desk, week 30")
    with pytest.raises(StoreReadOnly, match="schema 16"):
        service.start(old.store, old.session_id, Options(), apply=True)
    hermes_store = open_hermes_store(31)
    with pytest.raises(NothingToDo):
        service.start(hermes_store.store, hermes_store.session_id, Options(keep_last=5000), apply=True)
    with pytest.raises(UnknownChoice, match="Choose one of: offline"):
        service.start(hermes_store.store, hermes_store.session_id, Options(summarizer="oracle"), apply=True)
    with pytest.raises(NotFound):
        service.start(hermes_store.store, "nobody", Options(), apply=True)
    hermes_store.rows(
        "UPDATE sessions SET end_reason = 'compression', ended_at = 1 WHERE id = ?", hermes_store.session_id
    )
    with pytest.raises(SessionEnded):
        service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    assert not Run.objects.exists()


def test_a_commit_that_could_not_be_noted_at_once_is_noted(
    hermes_store: HermesStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = outcomes.applied, []

    def stumbles(commit: Commit, at: datetime) -> dict[str, Any]:
        asked.append(at)
        if len(asked) == 1:
            raise ValueError("once")
        return real(commit, at)

    monkeypatch.setattr(outcomes, "applied", stumbles)
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    assert (run.status, run.error_code, len(asked)) == ("applied", "", 2)
    assert run.messages_after == len(hermes_store.live())
    assert receipt_of(run)["handoff"] == run.handoff_id


def test_a_run_is_applied_and_its_record_there_or_neither(
    hermes_store: HermesStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, seen = records.note_written, list[str]()

    def stumbles(number: int, *rest: Any) -> None:
        seen.append(Run.objects.get(pk=number).status)
        real(number, *rest)
        if len(seen) == 1:
            raise ValueError("once")

    monkeypatch.setattr(records, "note_written", stumbles)
    left: list[tuple[str, bool]] = []
    find = outcomes.finish_if_committed

    def looked_at(run: Run) -> bool:
        left.append((Run.objects.get(pk=run.pk).status, bool(receipt_of(run))))
        return find(run)

    monkeypatch.setattr(outcomes, "finish_if_committed", looked_at)
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    assert seen == ["applied", "applied"] and left == [("applying", False)], "neither was left of the first note"
    assert run.status == "applied" and receipt_of(run)["handoff"] == run.handoff_id


def test_a_summariser_that_fails_leaves_everything(
    hermes_store: HermesStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(request: compaction.SummaryRequest, listener: summarizers.ProgressCallback) -> str:
        raise ConnectionError("no route")

    before = hermes_store.live()
    broken = summarizers.Summarizer("broken", "Broken", fails)
    monkeypatch.setattr(summarizers, "summarizers", lambda: {"broken": broken})
    run = service.start(hermes_store.store, hermes_store.session_id, Options(summarizer="broken"), apply=True)
    assert (run.status, run.error_code) == ("failed", "unexpected")
    assert "ConnectionError" in run.error_message and "no route" in caplog.text
    assert hermes_store.live() == before and hermes_store.holders("compression_locks") == []


# -- undo, pick-up, plan -----------------------------------------------------------------------------------------------


def test_the_agents_own_compaction_is_undone(hermes_store: HermesStore) -> None:
    with open_store(hermes_store.store) as reader:
        newest = compaction_list.compactions(reader, hermes_store.session_id)[-1]
    assert (newest.by, newest.messages_before) == ("by Hermes", 53)
    seen = service.outlook(hermes_store.store, hermes_store.session_id, newest.handoff_id)
    assert seen.refusal == ""
    service.undo(hermes_store.store, hermes_store.session_id, newest.handoff_id)
    assert len(hermes_store.live()) == seen.context_messages_after == 53 + seen.later_messages
    with open_store(hermes_store.store) as reader:
        assert len(compaction_list.compactions(reader, hermes_store.session_id)) == 1


def test_only_the_newest_compaction_is_undone(hermes_store: HermesStore) -> None:
    first = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    second = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    assert (service.is_undoable(first), service.is_undoable(second)) == (False, True)
    with pytest.raises(NotUndoable, match="later compaction"):
        service.undo_run(first)
    service.undo_run(second)
    assert service.is_undoable(first)
    service.undo_run(first)
    with pytest.raises(NotUndoable, match="undone"):
        service.undo_run(first)


def test_undo_says_what_it_will_do_and_waits_for_no_turn(hermes_store: HermesStore) -> None:
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    hermes_store.append("one more")
    assert run.handoff_id
    seen = service.outlook(hermes_store.store, hermes_store.session_id, run.handoff_id)
    assert (seen.context_messages_before, seen.later_messages) == (len(hermes_store.live()), 1)
    assert seen.context_messages_after == (run.messages_before or 0) + 1
    assert seen.context_tokens_before < seen.context_tokens_after
    hermes_store.start_turn()
    with pytest.raises(SessionBusy, match="running a turn"):
        service.undo_run(run)
    assert hermes_store.holders("compression_locks") == []


def test_pick_up_is_waited_for_and_seen(hermes_store: HermesStore) -> None:
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    with open_store(hermes_store.store) as reader:
        assert service.pick_up(run, reader).noticed_at is None
    first = hermes_store.append("hello again")
    for number in range(40):
        hermes_store.append(f"and on it goes, {number}", "assistant" if number % 2 else "user")
    hermes_store.rows("UPDATE messages SET timestamp = 1.79e9 + id WHERE id >= ?", first)
    with open_store(hermes_store.store) as reader:
        assert service.pick_up(run, reader).noticed_at == 1.79e9 + first


def test_a_plan_writes_nothing_and_names_who_is_busy(hermes_store: HermesStore) -> None:
    hermes_store.start_turn()
    rows = hermes_store.rows("SELECT * FROM messages")
    draft = planning.draft(hermes_store.store, hermes_store.session_id, Options())
    assert [*draft.head_ids, *draft.lifted_ids, *draft.middle_ids, *draft.tail_ids] and draft.lock is None
    assert sorted([*draft.head_ids, *draft.lifted_ids, *draft.middle_ids, *draft.tail_ids]) == sorted(draft.ids)
    assert draft.lease and "telegram" in draft.lease.holder
    assert draft.tokens_after_estimate < draft.tokens_before
    assert hermes_store.rows("SELECT * FROM messages") == rows and not Run.objects.exists()


def test_an_undo_counts_although_its_lease_could_not_be_released(
    hermes_store: HermesStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = hermes_store.live()
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)

    def locked(*_: object) -> None:
        raise StoreUnavailable("stayed locked")

    with monkeypatch.context() as patched:
        patched.setattr(presence, "release_lease", locked)
        service.undo_run(run)
    run.refresh_from_db()
    assert (run.status, hermes_store.live()) == ("undone", before)
    assert hermes_store.holders("compression_locks") == []


def test_a_second_compaction_of_ours_is_not_the_agent_noticing(hermes_store: HermesStore) -> None:
    first = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    service.start(hermes_store.store, hermes_store.session_id, Options(keep_last=2), apply=True)
    with open_store(hermes_store.store) as reader:
        assert service.pick_up(first, reader).noticed_at is None
    hermes_store.append("hello again")
    with open_store(hermes_store.store) as reader:
        assert service.pick_up(first, reader).noticed_at is not None


def test_another_compaction_with_the_same_row_id_is_not_taken_for_ours(hermes_store: HermesStore) -> None:
    """A restored backup gives the ids of our rows to what the agent writes next."""
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    assert run.handoff_id is not None
    hermes_store.rows(
        "UPDATE messages SET content = replace(content, 'Extracted', 'Told') WHERE id = ?", run.handoff_id
    )
    with open_store(hermes_store.store) as reader:
        newest = compaction_list.compactions(reader, hermes_store.session_id)[-1]
    assert (newest.by, newest.run) == ("by Hermes", None)
    assert not service.is_undoable(run)


def test_a_notice_that_no_person_typed_does_not_stand_for_the_last_question(hermes_store: HermesStore) -> None:
    question = hermes_store.append("THE REAL QUESTION")
    for number in range(40):
        hermes_store.append(f"working on part {number}: " + "details " * 60, role="assistant")
    notice = hermes_store.append("Delegation finished.")
    hermes_store.rows("UPDATE messages SET display_kind = 'async_delegation_complete' WHERE id = ?", notice)
    drafted = planning.draft(hermes_store.store, hermes_store.session_id, Options(keep_last=1))
    assert question in drafted.tail_ids
