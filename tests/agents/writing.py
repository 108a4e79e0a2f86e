"""Compactions of sessions that an agent wrote by hand, made and undone without runs."""

from __future__ import annotations

import time
from collections.abc import Callable

import compaction
from compaction.strategy import STRATEGIES
from tests.agents.base import Agent
from tests.agents.reading import opened, store_of
from tests.factories.locks import HOLDER, locked
from viewer.runs import candidate, planning
from viewer.stores.changes import Commit
from viewer.stores.lock_owners import new_holder
from viewer.stores.message import message_of
from viewer.stores.registry import writer_of

SUMMARY = "## Goal\nFinish."


def compacted(agent: Agent, meanwhile: Callable[[], object] = str, strategy: str = "summary") -> Commit:
    """A compaction of the session; `meanwhile` happens between its plan and its commit."""
    session = agent.id_of("s")
    with opened(agent) as reader:
        basis = planning.read_basis(reader, session)
    policy = compaction.Policy(keep_last=4, tail_only=basis.tail_only, handoff="hermes")
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
