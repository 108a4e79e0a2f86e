"""Stores that are configured and cannot be reached: their runs end, and all others go on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from viewer.runs import queues
from viewer.store.stores import all_stores
from viewer.up.prepare import CannotStart, check_stores


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
    assert "far" not in queues.stores_here()
    with pytest.raises(CannotStart, match="far"):
        check_stores()


def test_a_home_that_may_not_be_looked_at_holds_no_store(forbidden: Path, settings: Settings) -> None:
    settings.STORES, settings.HERMES_HOME = {}, forbidden
    assert [store.name for store in all_stores()] == ["demo"]
