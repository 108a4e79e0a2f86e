"""The catalog where the site's own database is PostgreSQL: the same lists as on SQLite."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def catalog_on(database: str, place: Path, store: Path) -> dict[str, Any]:
    surroundings = {
        **os.environ,
        "PALIMPSEST_DATABASE_URL": database,
        "PALIMPSEST_DATA_DIR": str(place),
        "PALIMPSEST_STORES": f"own=sqlite:///{store}",
    }
    command = [sys.executable, "-m", "tests.catalog.on_postgres"]
    done = subprocess.run(command, cwd=ROOT, env=surroundings, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3_000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("version", [16, 31])
def test_lists_are_the_same_on_postgresql(
    postgres: str, hermes_copy: Callable[[int], Path], tmp_path: Path, version: int
) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE catalog{version}")
    store = hermes_copy(version)
    ours = catalog_on(postgres.replace("/postgres?", f"/catalog{version}?"), tmp_path / "postgres", store)
    usual = catalog_on("", tmp_path / "sqlite", store)
    assert (ours["vendor"], usual["vendor"]) == ("postgresql", "sqlite")
    for name in ("first", "lists", "numbers"):
        assert ours[name] == usual[name], name
    assert len(ours["first"]) >= 20
    assert any("lines_by_messages" in plan for plan in ours["plans"]), ours["plans"]
    assert any("kinds_by_activity" in plan for plan in ours["plans"]), ours["plans"]
