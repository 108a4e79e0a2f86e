"""The catalog where the site's own database is PostgreSQL: the same lists as on SQLite."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

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


def lengthened(store: Path) -> None:
    """Ids and models as long as a store may have them: PostgreSQL refuses what a column has no room for."""
    with closing(sqlite3.connect(store)) as con, con:
        for table, column in (("sessions", "id"), ("sessions", "parent_session_id"), ("messages", "session_id")):
            con.execute(f"UPDATE {table} SET {column} = {column} || printf('%0300d', 0)")
        con.execute("UPDATE sessions SET model = model || printf('%0300d', 0)")


def test_lists_are_the_same_on_postgresql(postgres: str, hermes_copy: Callable[[int], Path], tmp_path: Path) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE catalog")
    store = hermes_copy(31)
    lengthened(store)
    ours = catalog_on(postgres.replace("/postgres?", "/catalog?"), tmp_path / "postgres", store)
    usual = catalog_on("", tmp_path / "sqlite", store)
    assert (ours["vendor"], usual["vendor"]) == ("postgresql", "sqlite")
    for name in ("first", "lists", "numbers", "audits", "sums", "filling"):
        assert ours[name] == usual[name], name
    assert len(ours["first"]) >= 20
    assert ours["audits"] and len(ours["sums"][0]) > 1 and ours["filling"]
    assert any("lines_by_messages" in plan for plan in ours["plans"]), ours["plans"]
    assert any("kinds_by_activity" in plan for plan in ours["plans"]), ours["plans"]
