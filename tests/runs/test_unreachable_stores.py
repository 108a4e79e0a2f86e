"""Stores that are configured and cannot be reached: their runs end, and all others go on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from tests.factories.stores import HermesStore
from viewer.catalog import sync_worker
from viewer.runs import job, queue, recovery, service
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.serve.prepare import CannotStart, check_stores
from viewer.stores.registry import all_stores

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]


@pytest.fixture
def forbidden(tmp_path: Path) -> Iterator[Path]:
    """A directory of another user, with a store in it; whoever runs the tests may not look into it."""
    place = tmp_path / "theirs"
    place.mkdir()
    (place / "state.db").touch()
    place.chmod(0)
    user = os.geteuid()
    os.seteuid(user or 65534)
    yield place
    os.seteuid(user)
    place.chmod(0o700)


def test_a_store_that_may_not_be_looked_at_is_not_here(forbidden: Path, settings: Settings) -> None:
    settings.STORES = {"far": f"sqlite:///{forbidden}/state.db"}
    assert "far" not in queue.stores_here()
    with pytest.raises(CannotStart, match="far"):
        check_stores()


HOMES = ("claude-code", "codex", "openclaw", "pi")


@pytest.mark.parametrize("kind", HOMES)
def test_an_agents_home_without_sessions_stops_neither_the_start_nor_a_page(
    signed_in: Client, tmp_path: Path, settings: Settings, kind: str
) -> None:
    settings.STORES = {"new": f"{kind}://{tmp_path}/home"}
    with pytest.raises(CannotStart, match="new"):
        check_stores()
    (tmp_path / "home").mkdir()
    check_stores()
    sync_worker.sync_all()
    for page in ("/", "/stores", "/search?q=anything"):
        answer = signed_in.get(page)
        assert answer.status_code == 200, page
    assert "has no sessions" in signed_in.get("/stores").content.decode()


def test_a_home_that_may_not_be_looked_at_holds_no_store(forbidden: Path, settings: Settings) -> None:
    settings.STORES, settings.HERMES_HOME = {}, forbidden
    assert [store.name for store in all_stores()] == ["demo"]


@pytest.mark.parametrize("status", ["queued", "waiting"])
def test_a_run_ends_whose_file_is_gone_before_a_worker_had_it(
    status: str, hermes_store: HermesStore, settings: Settings
) -> None:
    settings.AT_ONCE = False
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=status == "queued")
    if status == "waiting":
        job.compact(run.pk)
        run.refresh_from_db()
        service.apply(run)
    hermes_store.path.rename(hermes_store.path.with_suffix(".away"))

    assert recovery.sweep() == []
    away = timezone.now() - timedelta(seconds=recovery.AWAY_LIMITS * recovery.STALE_SECONDS + 1)
    Run.objects.filter(pk=run.pk).update(heartbeat_at=away)

    assert recovery.sweep() == [run]
    run.refresh_from_db()
    assert (run.status, run.error_code) == ({"queued": "failed", "waiting": "ready"}[status], "store_unavailable")
    assert str(hermes_store.path) in run.error_message
    assert run.queued_at is None
