"""Workers with different stores on one queue, as on several machines: each takes the runs of the stores it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from tests.faults.conftest import RunningSite
from tests.faults.kills import begin_turn, end_turn, holder_of, reach
from tests.faults.ledger import live
from tests.faults.site import until
from viewer.stores.registry import all_stores

POSTGRES = pytest.mark.parametrize("own_database", ["postgres"], indirect=True)  # which machines can share


@POSTGRES
def test_a_worker_leaves_runs_of_stores_it_has_not(running_site: RunningSite, tmp_path: Path) -> None:
    running_site.workers(0)
    session_id, other = running_site.take(), running_site.take("long")
    run_id = running_site.site.start_run(session_id, "small")
    there = f"small=sqlite:///{tmp_path}/gone.db,long=sqlite:///{running_site.path('long')}"
    running_site.site.worker(PALIMPSEST_STORES=there)  # named for all machines alike, but the file is not here
    run_of_other = running_site.site.start_run(other, "long")
    assert running_site.site.closed(run_of_other)["status"] == "applied"
    assert running_site.site.row(run_id) | {"status": "queued", "attempts": 0, "holder": ""} == running_site.site.row(
        run_id
    )

    running_site.site.worker()
    assert running_site.site.closed(run_id)["status"] == "applied"
    assert running_site.check_session(session_id, [run_id])
    running_site.check()
    running_site.workers(0)


@POSTGRES
def test_a_lost_run_waits_for_a_worker_that_has_its_store(running_site: RunningSite) -> None:
    """A worker elsewhere sees that it is lost, and does not fail it."""
    running_site.workers(0)
    elsewhere = running_site.site.worker(
        PALIMPSEST_LOST_AFTER="2", PALIMPSEST_STORES=f"long=sqlite:///{running_site.path('long')}"
    )
    here = running_site.site.worker(PALIMPSEST_LOST_AFTER="2")
    session_id = running_site.take()
    begin_turn(running_site, session_id)
    run_id = running_site.site.start_run(session_id, "small")
    reach(running_site, run_id, "waiting")
    assert holder_of(running_site, run_id).pid == here.pid
    here.kill()
    end_turn(running_site, session_id)
    silent = f"SELECT 1 FROM runs_run WHERE id = {run_id} AND heartbeat_at < "
    silent += "now() - interval '3 s'" if running_site.site.on_postgres else "datetime('now', '-3 seconds')"
    until(lambda: running_site.site.rows(silent), "the run to be lost")
    assert running_site.site.status(run_id) == "waiting" and elsewhere.alive
    running_site.site.worker(PALIMPSEST_LOST_AFTER="2")
    assert running_site.site.closed(run_id)["status"] == "applied"
    assert running_site.check_session(session_id, [run_id])
    running_site.check()
    running_site.workers(0)
    assert len(live(running_site.path(), session_id)) < 24


@pytest.mark.parametrize(("machine", "names"), [("", ["hermes", "demo"]), ("box1", ["hermes.box1", "demo.box1"])])
def test_stores_that_every_machine_has_carry_its_name(
    settings: Settings, tmp_path: Path, machine: str, names: list[str]
) -> None:
    (tmp_path / "state.db").touch()
    settings.STORES, settings.HERMES_HOME, settings.MACHINE = {}, tmp_path, machine
    assert [store.name for store in all_stores()] == names
