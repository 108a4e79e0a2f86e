"""A worker that was stopped for longer than the heartbeat limit counts as lost; when it goes on it changes nothing."""

from __future__ import annotations

import pytest

from tests.faults.conftest import Ground
from tests.faults.kills import begin_turn, end_turn, holder_of, reach, until_it_has_to_write
from tests.faults.ledger import live
from tests.faults.site import until
from tests.slow import slow


@pytest.fixture
def impatient(ground: Ground) -> Ground:
    """The same site with two workers that take a run up after three seconds."""
    ground.workers(0)
    for _ in range(2):
        ground.site.worker(PALIMPSEST_LOST_AFTER="3")
    return ground


@pytest.mark.parametrize("wants_to_write", [*slow(False), True])
def test_stopped_and_continued(impatient: Ground, wants_to_write: bool) -> None:
    ground, session_id = impatient, impatient.take()
    if wants_to_write:
        run_id, first, door = until_it_has_to_write(ground, session_id)
        first.stop()
        door.close()
    else:
        begin_turn(ground, session_id)
        run_id = ground.site.start_run(session_id, "small")
        reach(ground, run_id, "waiting")
        first = holder_of(ground, run_id)
        ground.site.stop(first, ground.path())
        end_turn(ground, session_id)
    closed = ground.site.closed(run_id)
    assert closed["status"] == "applied", f"{closed['error']} {ground.site.logs()}"
    noted, written = ground.site.rows(f"SELECT * FROM runs_run WHERE id = {run_id}"), live(ground.path(), session_id)
    assert ground.site.row(run_id)["attempts"] == 2

    first.go_on()
    another = ground.take()  # done by whichever worker: the first is through with the old run once it takes a new one
    until(lambda: "was cancelled or taken up elsewhere" in first.log.read_text(), first.log.read_text)
    assert ground.site.closed(ground.site.start_run(another, "small"))["status"] == "applied"
    assert ground.site.rows(f"SELECT * FROM runs_run WHERE id = {run_id}") == noted
    assert live(ground.path(), session_id) == written
    assert ground.check_session(session_id, [run_id])
    ground.check()
    assert first.alive
    ground.workers(0)
