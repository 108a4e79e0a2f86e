"""A worker that was stopped for longer than the heartbeat limit counts as lost; when it goes on it changes nothing."""

from __future__ import annotations

import pytest

from tests.faults.conftest import RunningSite
from tests.faults.kills import begin_turn, end_turn, holder_of, reach, until_it_has_to_write
from tests.faults.ledger import live
from tests.faults.site import until


@pytest.fixture
def impatient(running_site: RunningSite) -> RunningSite:
    """The same site with two workers that take a run up after three seconds."""
    running_site.workers(0)
    for _ in range(2):
        running_site.site.worker(PALIMPSEST_LOST_AFTER="3")
    return running_site


@pytest.mark.parametrize(
    ("own_database", "wants_to_write"), [("sqlite", True), ("postgres", False)], indirect=["own_database"]
)
def test_stopped_and_continued(impatient: RunningSite, wants_to_write: bool) -> None:
    running_site, session_id = impatient, impatient.take()
    if wants_to_write:
        run_id, first, door = until_it_has_to_write(running_site, session_id)
        first.stop()
        door.close()
    else:
        begin_turn(running_site, session_id)
        run_id = running_site.site.start_run(session_id, "small")
        reach(running_site, run_id, "waiting")
        first = holder_of(running_site, run_id)
        running_site.site.stop(first, running_site.path())
        end_turn(running_site, session_id)
    closed = running_site.site.closed(run_id)
    assert closed["status"] == "applied", f"{closed['error']} {running_site.site.logs()}"
    noted, written = (
        running_site.site.rows(f"SELECT * FROM runs_run WHERE id = {run_id}"),
        live(running_site.path(), session_id),
    )
    assert running_site.site.row(run_id)["attempts"] == 2

    first.go_on()
    another = (
        running_site.take()
    )  # done by whichever worker: the first is through with the old run once it takes a new one
    until(lambda: "was cancelled or has another worker" in first.log.read_text(), first.log.read_text)
    assert running_site.site.closed(running_site.site.start_run(another, "small"))["status"] == "applied"
    assert running_site.site.rows(f"SELECT * FROM runs_run WHERE id = {run_id}") == noted
    assert live(running_site.path(), session_id) == written
    assert running_site.check_session(session_id, [run_id])
    running_site.check()
    assert first.alive
    running_site.workers(0)
