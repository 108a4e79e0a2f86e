"""Compactions of sessions of OpenClaw and pi that were written by hand, and databases that OpenClaw wrote."""

from __future__ import annotations

import gzip
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import compaction
from compaction.strategy import STRATEGIES
from tests.contract.agents import Agent
from tests.contract.openclaw import OpenClawByHand
from tests.interop.openclaw import views
from viewer.holders import new_holder
from viewer.runs import candidate, planning
from viewer.stores.base import Store
from viewer.stores.changes import Commit
from viewer.stores.message import message_of
from viewer.stores.openclaw.database import octet_length
from viewer.stores.registry import open_store, writer_of

from .locks import HOLDER, locked
from .tree_stores import opened, store_of

SUMMARY = "## Goal\nFinish."
DATA = Path(__file__).resolve().parent.parent / "data" / "openclaw"
SCHEMAS = {"2026.9.4": 19, "2026.9.5": 21}


def compacted(agent: Agent, meanwhile: Callable[[], object] = str, strategy: str = "summary") -> Commit:
    """A compaction of the session; `meanwhile` happens between its plan and its commit."""
    session = agent.id_of("s")
    with opened(agent) as reader:
        basis = planning.read_basis(reader, session)
    policy = compaction.Policy(keep_last=4, tail_only=basis.tail_only)
    chosen = STRATEGIES[strategy]
    plan = chosen.plan(list(map(message_of, basis.sent)), policy, compaction.counter_for(""))
    edits = candidate.edits_of(basis, chosen.apply(plan, SUMMARY))
    meanwhile()
    writer = writer_of(store_of(agent))
    with locked(writer, session):
        return writer.apply(session, basis.token, edits, mode="in_place", holder=HOLDER, now=time.time())


def undo(agent: Agent, commit: Commit) -> None:
    with opened(agent) as reader:
        plan = reader.undo_plan(agent.id_of("s"), commit.receipt)
    writer_of(store_of(agent)).undo(plan, holder=new_holder())


def tables(agent: OpenClawByHand) -> dict[str, list[tuple[Any, ...]]]:
    names = [row[0] for row in agent.sql("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return {name: agent.sql(f"SELECT * FROM {name}") for name in names}


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
