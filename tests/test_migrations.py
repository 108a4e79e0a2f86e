"""The site's own database of an earlier version: it goes on with the tables that a new one has, or is refused."""

from __future__ import annotations

import os
import random
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from tests.data import before_0_1_0
from tests.processes import PATIENCE, free_port
from viewer.web import own_database

REPLACING = "('0001_initial', '0002_queue')"
OURS = "('catalog', 'enforcement', 'history', 'runs', 'workspaces')"
Ask = Callable[[str], list[Any]]


def manage(data: Path, *command: str, url: str = "") -> subprocess.CompletedProcess[str]:
    own = {"PALIMPSEST_DATA_DIR": str(data), "PALIMPSEST_DATABASE_URL": url, "PORT": str(free_port())}
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=settings.BASE_DIR,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def migrate(data: Path, url: str = "") -> None:
    done = manage(data, "migrate", "-v0", "--skip-checks", url=url)
    assert not done.returncode, done.stderr


def on_sqlite(data: Path) -> Ask:
    def ask(sql: str) -> list[Any]:
        with closing(sqlite3.connect(data / "palimpsest.sqlite3")) as con, con:
            con.row_factory = sqlite3.Row
            return con.execute(sql).fetchall()

    return ask


def on_postgresql(url: str) -> Ask:
    def ask(sql: str) -> list[Any]:
        with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as con:
            return con.execute(sql).fetchall()

    return ask


def contents(ask: Ask, tables: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of each of our tables, without what the migrations of this version are there to change."""
    names = sorted(next(iter(dict(row).values())) for row in ask(tables))
    found = {name: [dict(row) for row in ask(f'SELECT * FROM "{name}"')] for name in names}
    for row in found["runs_run"]:
        row.pop("task_id", None)
        row.pop("queued_at", None)
        row.pop("fallback", None)
    for row in (*found["catalog_line"], *found["catalog_storestate"]):
        for name in ("mark", "signature", "checked", "cursor", "newest_message", "newest_session", "anchor"):
            row.pop(name, None)
    for row in found["runs_event"]:
        row.pop("offered_until", None)
    for name in ("runs_compactionsetting", "catalog_sessionday", "runs_pin", "inside_door", "enforcement_earlynote"):
        found.pop(name, None)
    return {name: sorted(rows, key=str) for name, rows in found.items() if name != "django_migrations"}


SQLITE_TABLES = (
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'virtual' AND name NOT LIKE 'sqlite_%'"
)
POSTGRESQL_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"


def sqlite_schema(ask: Ask) -> dict[str, list[str]]:
    """Tables, indexes and triggers by name, each as the parts of its statement: columns are in no order."""
    made = ask("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {row["name"]: sorted(part.strip() for part in re.split("[(),]", row["sql"])) for row in made}


POSTGRESQL_SCHEMA = (
    "SELECT table_name, column_name, udt_name, character_maximum_length, column_default, is_nullable, is_identity"
    " FROM information_schema.columns WHERE table_schema = 'public'",
    "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), condeferred FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace",
    "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "SELECT extname FROM pg_extension",
    "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal",
)


def postgresql_schema(ask: Ask) -> list[str]:
    """Without casts, of which the server writes more or fewer when an index was made again."""
    found = [str(list(row.values())) for sql in POSTGRESQL_SCHEMA for row in ask(sql)]
    return sorted(re.sub(r"::(character varying|text)(\[\])?|[()]", "", row) for row in found)


def applied(ask: Ask) -> set[tuple[str, str]]:
    return {(row["app"], row["name"]) for row in ask("SELECT app, name FROM django_migrations")}


@pytest.mark.slow
def test_a_database_from_before_0_1_0_goes_on(tmp_path: Path) -> None:
    data, fresh = tmp_path / "data", tmp_path / "fresh"
    data.mkdir()
    before_0_1_0.unpack(data)
    ask = on_sqlite(data)
    before = contents(ask, SQLITE_TABLES)
    assert before.pop("django_tasks_database_dbtaskresult") == [] and all(before.values())
    migrate(data)
    assert contents(ask, SQLITE_TABLES) == before
    names = applied(ask)
    migrate(fresh)
    schema = sqlite_schema(ask)
    assert schema == sqlite_schema(on_sqlite(fresh))
    assert {"catalog_words", "catalog_words_insert", "catalog_words_update", "catalog_text"} <= set(schema)
    assert names == {row for row in applied(on_sqlite(fresh)) if row[0] != "django_tasks_database"}
    # As the last version from before 0.1.0 leaves it, which knew the migration of the queue by another name.
    ask(f"DELETE FROM django_migrations WHERE name IN {REPLACING} AND app IN {OURS}")
    assert ("runs", "0013_queue") in applied(ask) and applied(ask) < names
    migrate(data)
    assert (contents(ask, SQLITE_TABLES), sqlite_schema(ask), applied(ask)) == (before, schema, names)


@pytest.mark.slow
def test_a_database_from_before_0_1_0_goes_on_with_postgresql(postgres: str, tmp_path: Path) -> None:
    urls = [postgres.replace("/postgres?", f"/{name}?") for name in ("from_before_0_1_0", "of_0_1_0")]
    with psycopg.connect(postgres, autocommit=True) as con:
        con.execute("CREATE DATABASE from_before_0_1_0")
        con.execute("CREATE DATABASE of_0_1_0")
    with psycopg.connect(urls[0]) as con:
        con.execute(before_0_1_0.statements().encode())
    old, fresh = map(on_postgresql, urls)
    before = contents(old, POSTGRESQL_TABLES)
    assert before.pop("django_tasks_database_dbtaskresult") == [] and all(before.values())
    for url in urls:
        migrate(tmp_path, url)
    assert contents(old, POSTGRESQL_TABLES) == before
    assert postgresql_schema(old) == postgresql_schema(fresh)


@pytest.mark.slow
def test_long_directories_are_left_out_before_they_are_indexed(postgres: str, tmp_path: Path) -> None:
    url = postgres.replace("/postgres?", "/long_directories?")
    with psycopg.connect(postgres, autocommit=True) as con:
        con.execute("CREATE DATABASE long_directories")
    done = manage(tmp_path, "migrate", "catalog", "0001_initial", "-v0", "--skip-checks", url=url)
    assert not done.returncode, done.stderr
    directory, session_id = (random.Random(1).randbytes(2_000).hex()[:length] for length in (1_200, 2_000))
    values = {"name": "a", "place": "", "file": "", "state_id": 1, "session_id": session_id, "cwd": directory, "row": 1}
    with psycopg.connect(url) as con:
        for table in ("catalog_storestate", "catalog_line"):
            columns = con.execute(COLUMNS, [table]).fetchall()
            row = {name: values.get(name, FILLING[kind]) for name, kind in columns if name != "id"}
            marks = ", ".join(["%s"] * len(row))
            names = ", ".join(f'"{name}"' for name in row)
            con.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})".encode(), list(row.values()))
    migrate(tmp_path, url)
    assert on_postgresql(url)("SELECT cwd FROM catalog_line") == [{"cwd": ""}]


COLUMNS = (
    "SELECT column_name, udt_name FROM information_schema.columns"
    " WHERE table_name = %s AND is_nullable = 'NO' AND column_default IS NULL"
)
NUMBERS = dict.fromkeys(("int2", "int4", "int8", "float8"), 0)
FILLING = NUMBERS | {"text": "", "varchar": "", "bool": False, "timestamptz": "now"}


@pytest.mark.slow
@pytest.mark.parametrize("command", ["up", "migrate", "worker --batch"])
def test_a_database_that_is_older_is_refused(tmp_path: Path, command: str) -> None:
    before_0_1_0.unpack(tmp_path)
    on_sqlite(tmp_path)("DELETE FROM django_migrations WHERE name = '0017_refusals'")
    content = (tmp_path / "palimpsest.sqlite3").read_bytes()
    done = manage(tmp_path, *command.split())
    assert (done.returncode, done.stdout, done.stderr) == (1, "", own_database.TOO_OLD + "\n")
    assert (tmp_path / "palimpsest.sqlite3").read_bytes() == content


@pytest.mark.django_db
@pytest.mark.parametrize(("app", "name"), [("runs", "0012_drafts"), ("catalog", "0001_lines")])
def test_a_database_is_too_old_where_a_replaced_migration_is_missing(app: str, name: str) -> None:
    recorder = MigrationRecorder(connection)
    assert not own_database.is_too_old()
    recorder.record_unapplied(app, name)
    assert own_database.is_too_old()


@pytest.mark.django_db
def test_a_newer_version_is_known_by_a_later_migration() -> None:
    """Names that were replaced are later ones by their number, and this version's own."""
    assert ("runs", "0013_queue") in MigrationRecorder(connection).applied_migrations()
    assert own_database.newer_migrations() == []
    newest = max(name for app, name in MigrationLoader(None).disk_migrations if app == "runs")
    tomorrow = f"{int(newest[:4]) + 1:04}_of_tomorrow"
    MigrationRecorder(connection).record_applied("runs", tomorrow)
    assert own_database.newer_migrations() == [f"runs.{tomorrow}"]
