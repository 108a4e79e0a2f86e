"""Databases that OpenClaw wrote, which are kept in `tests/data/openclaw`."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.agents.openclaw import views
from viewer.stores.base import Store
from viewer.stores.openclaw.database import octet_length
from viewer.stores.registry import open_store

DATA = Path(__file__).resolve().parents[2] / "data" / "openclaw"
SCHEMAS = {"2026.9.4": 19, "2026.9.5": 21}


class Kept:
    """A copy of a database that is kept, in a state directory of its own."""

    def __init__(self, place: Path, version: str) -> None:
        self.store = Store("work", f"openclaw://{place}", "configured")
        self.path = place / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
        self.path.parent.mkdir(parents=True)
        self.path.write_bytes(gzip.decompress((DATA / f"{version}.sqlite.gz").read_bytes()))

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as con:
            con.create_function("octet_length", 1, octet_length, deterministic=True)
            return con.execute(query, values).fetchall()

    def read(self, session_id: str) -> list[Any]:
        with open_store(self.store) as reader:
            return views.read(reader.live(session_id))
