"""One store on PostgreSQL with the rows of a real SQLite one, beside that one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.factories import postgres_stores
from viewer.stores.base import Store


@dataclass(frozen=True)
class BothStores:
    """The same rows in both kinds of store, named `lite` and `pg` on the site."""

    lite: Store
    pg: Store


@pytest.fixture(scope="session")
def filled(
    postgres: str, hermes_databases: Callable[[int], Path], tmp_path_factory: pytest.TempPathFactory
) -> BothStores:
    """Not to be written."""
    path = tmp_path_factory.mktemp("pair") / "lite.db"
    shutil.copyfile(hermes_databases(31), path)
    postgres_stores.add_odd_rows(path)
    return BothStores(Store("lite", f"sqlite:///{path}", "configured"), postgres_stores.filled(postgres, path))


@pytest.fixture
def both_stores(filled: BothStores, settings: Settings, tmp_path: Path) -> BothStores:
    settings.STORES = {store.name: store.url for store in (filled.lite, filled.pg)}
    settings.DEMO_STORE = tmp_path / "no-demo.db"
    return filled
