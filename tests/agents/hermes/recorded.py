"""A told story as JSON, and the database it stands for: for tests that need no Hermes."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.agents.hermes.author import FILLING
from tests.agents.hermes.told import Ledger, Said

TABLES = ("schema_version", "sessions", "messages", "state_meta", "compression_locks", "session_turn_leases")
WITHOUT = {"display_identity", "system_prompt"}  # bytes and long texts that nothing here asks for


def record(database: Path, ledger: Mapping[str, Any]) -> dict[str, Any]:
    """The rows of a story's file, by table, with what was said in it."""
    with closing(sqlite3.connect(database)) as con:
        con.row_factory = sqlite3.Row
        tables = {name: _columns(con, name) for name in TABLES if _columns(con, name)}
        rows = {name: [_told(row) for row in con.execute(f"SELECT * FROM {name}")] for name in TABLES[:3]}
    return {"columns": tables, "rows": rows, **ledger}


def shortened(text: str) -> str:
    """The text without most of what only makes rows long."""
    return re.sub("a{40,}", "a" * 40, text.replace(FILLING * 4, FILLING).replace(FILLING * 3, FILLING))


def _columns(con: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in con.execute(f"PRAGMA table_info({table})") if row[1] not in WITHOUT]


def _told(row: sqlite3.Row) -> dict[str, Any]:
    told = {name: row[name] for name in row.keys() if row[name] is not None and name not in WITHOUT}  # noqa: SIM118
    return told | ({"cwd": "/srv/agent"} if "cwd" in told else {})  # not where the story was told


def restore(story: Mapping[str, Any], database: Path) -> None:
    """Write the file of a recorded story; without triggers and full-text search."""
    with closing(sqlite3.connect(database)) as con:
        for table, columns in story["columns"].items():
            con.execute(f"CREATE TABLE {table} ({columns[0]} {_key(table)}, {', '.join([*columns[1:], '_rest'])})")
        for table, rows in story["rows"].items():
            for row in rows:
                marks = ", ".join("?" * len(row))
                con.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))
        con.commit()


def _key(table: str) -> str:
    return "INTEGER PRIMARY KEY AUTOINCREMENT" if table == "messages" else "PRIMARY KEY"


def ledger_of(story: Mapping[str, Any]) -> Ledger:
    said = [Said(each["role"], each["text"], _pairs(each["calls"]), each["answers"]) for each in story["said"]]
    back = {at for at, each in enumerate(story["said"]) if each["back"]}
    return Ledger(
        said,
        back,
        set(story["lost"]),
        set(story.get("untold", ())),
        set(story.get("undone_rows", ())),
        story.get("names", {}),
        story.get("times", {}),
    )


def _pairs(calls: Iterable[Iterable[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((call_id, arguments) for call_id, arguments in calls)


def load(path: Path) -> dict[str, Any]:
    story: dict[str, Any] = json.loads(path.read_text())
    return story
