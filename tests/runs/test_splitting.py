"""`mode=split`: a run whose result goes into a new session, from start to recovery."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from pytest_django import Settings

from tests.factories.histories import history_of, receipt_of
from tests.factories.stores import HermesStore
from viewer.history.models import Compaction
from viewer.runs import branching, compaction_list, job, outcomes, recovery, service
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.runs.run_claim import RunClaim, claim
from viewer.stores.errors import CompactionConflict, NotUndoable, SessionEnded, StoreReadOnly
from viewer.stores.hermes.reader import open_store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
SPLIT = Options(mode="split")
SCHEMAS = {16: "Airline desk, week 30 #4", 21: "Airline desk, week 29", 31: "Airline desk, week 29"}


def all_of(hermes_store: HermesStore, session_id: str) -> list[tuple[Any, ...]]:
    return hermes_store.rows("SELECT * FROM messages WHERE session_id = ? ORDER BY id", session_id)


def part(hermes_store: HermesStore, run: Run) -> HermesStore:
    """The store and the session that goes on."""
    assert run.new_session_id
    return HermesStore(hermes_store.store, hermes_store.path, run.new_session_id)


def split(hermes_store: HermesStore, **options: Any) -> Run:
    run = service.start(hermes_store.store, hermes_store.session_id, Options(mode="split", **options), apply=True)
    assert (run.status, run.error_message) == ("applied", "")
    return run


@pytest.mark.parametrize("version", sorted(SCHEMAS))
def test_the_result_goes_on_in_a_new_session(open_hermes_store: Callable[..., HermesStore], version: int) -> None:
    hermes_store = open_hermes_store(version, SCHEMAS[version])
    before, context = all_of(hermes_store, hermes_store.session_id), hermes_store.live()
    with open_store(hermes_store.store) as reader:
        told = history_of(reader, hermes_store.session_id)
    run = split(hermes_store)
    assert all_of(hermes_store, hermes_store.session_id) == before
    assert hermes_store.rows("SELECT end_reason FROM sessions WHERE id = ?", hermes_store.session_id) == [
        ("compression",)
    ]
    assert run.progress["sentence"] == f"Written into session {run.new_session_id}, which goes on from here."
    assert hermes_store.holders("compression_locks") == [] == hermes_store.holders("session_turn_leases")
    new = part(hermes_store, run).live()
    assert len(new) == run.messages_after
    assert [run.summary.strip() in str(row[1]) for row in new].count(True) == 1
    kept = [context[receipt_of(run)["before"].index(int(row))] for row in receipt_of(run)["copies"]]
    assert [row for row in new if row in kept] == kept
    with open_store(hermes_store.store) as reader:
        history = history_of(reader, run.new_session_id)
        (*_, view) = compaction_list.compactions(reader, run.new_session_id)
    assert [entry.id for entry in history.entries] == [entry.id for entry in told.entries], "each message once"
    assert len(history.boundaries) == len(told.boundaries) + 1
    assert (view.run, view.by, view.handoff_id, view.undoable) == (run.pk, "by you, here", run.handoff_id, False)
    assert (view.messages_before, view.messages_after) == (len(context), len(new))


def test_what_came_meanwhile_goes_along(hermes_store: HermesStore) -> None:
    run = service.start(hermes_store.store, hermes_store.session_id, SPLIT, apply=False)
    assert run.status == "ready"
    hermes_store.append("late one")
    hermes_store.append("late two", role="assistant")
    service.apply(run)
    run.refresh_from_db()
    assert [row[1] for row in part(hermes_store, run).live()][-2:] == ["late one", "late two"]
    with open_store(hermes_store.store) as reader:
        entries = history_of(reader, run.new_session_id).entries
    assert len(entries[-1].rows) == 2 and entries[-1].state == "live"


def test_an_edited_summary_on_a_schema_that_cannot_compact_in_place(
    open_hermes_store: Callable[..., HermesStore],
) -> None:
    hermes_store = open_hermes_store(16, SCHEMAS[16])
    with pytest.raises(StoreReadOnly, match="--mode split"):
        service.start(hermes_store.store, hermes_store.session_id, Options(), apply=False)
    run = service.start(hermes_store.store, hermes_store.session_id, SPLIT, apply=False)
    service.apply(run, "## Goal\nWritten by a person.")
    run.refresh_from_db()
    assert (run.status, run.error_message) == ("applied", "")
    assert ["by a person" in str(row[1]) for row in part(hermes_store, run).live()].count(True) == 1


def test_it_goes_on_from_part_to_part_and_in_place(hermes_store: HermesStore) -> None:
    first = split(hermes_store, keep_last=20)
    second = split(part(hermes_store, first), keep_last=10)
    third = service.start(hermes_store.store, second.new_session_id, Options(keep_last=5), apply=True)
    assert (third.status, third.new_session_id) == ("applied", "")
    with open_store(hermes_store.store) as reader:
        views = compaction_list.compactions(reader, second.new_session_id)
    assert [view.run for view in views][-3:] == [first.pk, second.pk, third.pk]
    assert [view.undoable for view in views][-3:] == [False, False, True]
    service.undo_run(third)
    assert third.status == "undone"


# -- undo --------------------------------------------------------------------------------------------------------------


def test_it_cannot_be_undone_and_says_what_to_do(hermes_store: HermesStore) -> None:
    context = hermes_store.live()
    run = split(hermes_store)
    assert not service.is_undoable(run)
    stored = hermes_store.rows("SELECT * FROM sessions"), hermes_store.rows("SELECT * FROM messages")
    with pytest.raises(NotUndoable, match="split into two sessions here.*branch from here"):
        service.undo_run(run)
    assert run.handoff_id
    with pytest.raises(NotUndoable, match="split into two sessions here.*branch from here"):
        service.undo(hermes_store.store, run.new_session_id, run.handoff_id)
    assert "branch from here" in service.outlook(hermes_store.store, run.new_session_id, run.handoff_id).refusal
    assert (hermes_store.rows("SELECT * FROM sessions"), hermes_store.rows("SELECT * FROM messages")) == stored
    made = branching.branch(hermes_store.store, run.new_session_id, run.handoff_id)
    assert HermesStore(hermes_store.store, hermes_store.path, made).live() == context, "what the sentence advises works"


def test_the_old_part_is_closed(hermes_store: HermesStore) -> None:
    run = split(hermes_store)
    for mode in ("split", "in_place"):
        with pytest.raises(SessionEnded, match=run.new_session_id):
            service.start(hermes_store.store, hermes_store.session_id, Options(mode=mode), apply=True)


def test_a_session_that_was_reset_is_not_split(hermes_store: HermesStore) -> None:
    hermes_store.rows(
        "UPDATE sessions SET ended_at = 5, end_reason = 'session_reset', session_key = 'agent:main:telegram:1' "
        "WHERE id = ?",
        hermes_store.session_id,
    )
    with pytest.raises(SessionEnded, match="join it to what came after"):
        service.start(hermes_store.store, hermes_store.session_id, SPLIT, apply=True)
    assert service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True).status == "applied"


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def test_a_changed_prefix_is_a_conflict(hermes_store: HermesStore) -> None:
    run = service.start(hermes_store.store, hermes_store.session_id, SPLIT, apply=False)
    hermes_store.rows("UPDATE messages SET content = content || '!' WHERE id = ?", run.plan["tail"][-1])
    sessions = hermes_store.rows("SELECT * FROM sessions")
    with pytest.raises(CompactionConflict):
        service.apply(run)
    run.refresh_from_db()
    assert (run.status, run.summary != "", hermes_store.rows("SELECT * FROM sessions")) == ("conflict", True, sessions)


@pytest.mark.parametrize("later", ["nothing", "messages", "in place", "split"])
def test_a_commit_that_was_not_noted_is_found(hermes_store: HermesStore, later: str) -> None:
    """The worker dies between the store's commit and the row's note of it; what came since must not hide it."""
    run = service.start(hermes_store.store, hermes_store.session_id, SPLIT, apply=False)
    planned = {"basis": run.basis, "edits": run.edits}
    hermes_store.append("late one")
    service.apply(run)
    run.refresh_from_db()
    noted = (run.new_session_id, run.handoff_id, receipt_of(run))
    child = part(hermes_store, run)
    if later == "messages":
        child.append("more")
    blank: dict[str, Any] = {"new_session_id": "", "handoff_id": None, **planned}
    Compaction.objects.filter(run=run.pk).delete()
    Run.objects.filter(pk=run.pk).update(
        status="applying", holder="pid=1:agent=palimpsest:nonce=0", heartbeat_at=timezone.now(), **blank
    )
    if later in ("in place", "split"):
        mode = later.replace(" ", "_")
        assert (
            service.start(hermes_store.store, child.session_id, Options(keep_last=5, mode=mode), apply=True).status
            == "applied"
        )
    run.refresh_from_db()
    assert recovery.recover(run)
    run.refresh_from_db()
    assert run.status == "applied"
    assert (run.new_session_id, run.handoff_id, receipt_of(run)) == noted


def test_one_that_was_not_made_is_made_once(hermes_store: HermesStore, settings: Settings) -> None:
    settings.AT_ONCE = False
    run = service.start(hermes_store.store, hermes_store.session_id, SPLIT, apply=True)
    job._make_candidate(held(run))
    Run.objects.filter(pk=run.pk).update(status="applying")
    run.refresh_from_db()
    assert outcomes.find_commit(run) is None
    assert recovery.recover(run)
    job.compact(run.pk)
    run.refresh_from_db()
    assert run.status == "applied"
    assert hermes_store.rows("SELECT COUNT(*) FROM sessions WHERE parent_session_id = ?", hermes_store.session_id) == [
        (1,)
    ]


def held(run: Run) -> RunClaim:
    claimed = claim(run.pk)
    assert claimed
    return RunClaim(claimed)


def test_an_agents_own_split_is_not_taken_for_ours(hermes_store: HermesStore) -> None:
    run = service.start(hermes_store.store, hermes_store.session_id, SPLIT, apply=False)
    other = service.start(hermes_store.store, hermes_store.session_id, Options(mode="split", keep_last=20), apply=True)
    assert other.status == "applied"
    run.refresh_from_db()
    assert run.status == "discarded"
    assert outcomes.find_commit(run) is None


# -- when the agent notices, and the command ---------------------------------------------------------------------------


def test_the_agent_notices_in_the_new_session(hermes_store: HermesStore) -> None:
    run = split(hermes_store)
    with open_store(hermes_store.store) as reader:
        assert service.pick_up(run, reader).noticed_at is None
    part(hermes_store, run).append("hello again")
    with open_store(hermes_store.store) as reader:
        assert service.pick_up(run, reader).noticed_at


def test_a_terminal_is_told_to_resume_the_new_session(hermes_store: HermesStore) -> None:
    hermes_store.rows("UPDATE sessions SET source = 'cli' WHERE id = ?", hermes_store.session_id)
    run = split(hermes_store)
    with open_store(hermes_store.store) as reader:
        assert service.pick_up(run, reader).resume == f"hermes --resume {run.new_session_id}"


def test_the_command(hermes_store: HermesStore) -> None:
    out = StringIO()
    call_command("compact", "hermes", hermes_store.session_id, "--mode", "split", stdout=out)
    run = Run.objects.get()
    assert (run.mode, run.status) == ("split", "applied")
    assert f"It goes on in session {run.new_session_id}" in out.getvalue()
    assert f"hermes --resume {run.new_session_id}" in out.getvalue()
    assert "manage.py undo" not in out.getvalue()
    with pytest.raises(SystemExit, match="There is no mode 'twist'"):
        call_command("compact", "hermes", hermes_store.session_id, "--mode", "twist")
