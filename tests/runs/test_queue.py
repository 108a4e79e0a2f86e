"""The queue of runs: in which order they are taken, and that each is taken once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from tests.factories import many_sessions
from viewer.runs import job, queue, recovery, service
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.runs.run_claim import claim
from viewer.stores.registry import get_store

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sessions(tmp_path: Path, settings: Settings) -> list[str]:
    """Three small sessions of the store `many`."""
    settings.STORES = {"many": f"sqlite:///{tmp_path / 'many.db'}"}
    return many_sessions.make(tmp_path / "many.db", 3, 24)


def asked(session_id: str, apply: bool = True) -> Run:
    return service.start(get_store("many"), session_id, Options(), apply=apply)


def taken() -> Iterator[int]:
    """The runs in the order in which a worker takes them."""
    while (run_id := queue.next_run()) is not None:
        assert claim(run_id)
        yield run_id


def test_they_are_taken_in_the_order_in_which_they_were_given_to_the_workers(sessions: list[str]) -> None:
    previewed = asked(sessions[0], apply=False)
    job.compact(previewed.pk)
    second, third = asked(sessions[1]), asked(sessions[2])
    service.apply(service.get_run(previewed.pk))
    claimed = claim(second.pk)
    assert claimed and recovery.recover(claimed)  # its worker died
    assert list(taken()) == [third.pk, previewed.pk, second.pk]


def test_what_is_closed_or_done_by_a_command_is_not_in_the_queue(sessions: list[str]) -> None:
    service.cancel(asked(sessions[0]))
    own = service.prepare(get_store("many"), sessions[1], Options(), apply=True)
    assert queue.next_run() is None
    job.compact(own.pk)
    assert [run.status for run in Run.objects.order_by("pk")] == ["cancelled", "applied"]
    assert not Run.objects.filter(queued_at__isnull=False).exists()


def test_of_many_that_claim_a_run_one_has_it(sessions: list[str]) -> None:
    run, together, claimed = asked(sessions[0]), threading.Barrier(8), list[Run]()

    def worker() -> None:
        found = queue.next_run()
        assert found == run.pk
        together.wait(60)
        if (mine := claim(found)) is not None:
            claimed.append(mine)
        connection.close()

    threads = [threading.Thread(target=worker) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run.refresh_from_db()
    assert [mine.holder for mine in claimed] == [run.holder] and run.attempts == 1


def test_a_look_into_the_queue_reads_no_other_runs(sessions: list[str]) -> None:
    """It is looked into twice a second, and a table of runs grows for years."""
    with CaptureQueriesContext(connection) as queries:
        queue.next_run()
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {queries[0]['sql']}")
        step = cursor.fetchone()
    assert step[-1] == "SEARCH runs_run USING INDEX queue_of_a_store (store=? AND queued_at>?)"
