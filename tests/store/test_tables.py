"""What of an agent's database is a table: neither views nor virtual tables, which may have no end."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.listed import newest_ids
from viewer.stores.base import Store
from viewer.stores.codex import database
from viewer.stores.errors import StoreUnavailable
from viewer.stores.hermes import schema
from viewer.stores.registry import open_store
from viewer.stores.sqlite.tables import table_columns

ENDLESS = "CREATE VIEW {} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"


def test_columns_of_a_table_alone() -> None:
    with closing(sqlite3.connect(":memory:")) as con:
        con.execute("create table if not exists Plain (a, b)")
        con.execute(ENDLESS.format("endless", "i"))
        con.execute("CREATE VIRTUAL TABLE virtual USING fts5(a, content='endless')")
        assert table_columns(con, "plain") == ("a", "b")
        assert [table_columns(con, name) for name in ("endless", "virtual", "nothing")] == [(), (), ()]


@pytest.mark.parametrize("table", ["sessions", "messages"])
def test_a_view_in_a_database_of_hermes(tmp_path: Path, table: str) -> None:
    path = tmp_path / "state.db"
    schema.create(path)
    with closing(sqlite3.connect(path)) as con:
        wanted = ", ".join(f"i AS {name}" for name in table_columns(con, table))
        con.execute(f"ALTER TABLE {table} RENAME TO moved")
        con.execute(ENDLESS.format(table, wanted))
    with (
        pytest.raises(StoreUnavailable, match="not of agent sessions"),
        open_store(Store("s", f"sqlite://{path}", "configured")) as reader,
    ):
        newest_ids(reader)


def test_a_view_in_a_database_of_codex(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "state_5.sqlite")) as con:
        con.execute(ENDLESS.format("threads", "i AS id, i AS rollout_path"))
    assert database.thread_rows(Store("s", f"codex://{tmp_path}", "configured")).threads == {}
