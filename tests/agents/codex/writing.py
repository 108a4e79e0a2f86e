"""Compactions of Codex' sessions, made and undone without runs."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import compaction
from compaction.strategy import STRATEGIES
from tests.agents.base import Line, objects
from tests.agents.codex.by_hand import CodexByHand, fresh
from tests.factories.locks import HOLDER, locked
from viewer.runs import candidate, planning
from viewer.stores.base import Store
from viewer.stores.changes import Commit, Edit, Json
from viewer.stores.errors import NotUndoable
from viewer.stores.message import message_of
from viewer.stores.registry import writer_of
from viewer.stores.writer import Writer

SUMMARY = "## Goal\nFinish the garden."


@pytest.fixture
def writer(agent: CodexByHand) -> Writer:
    return writer_of(Store("codex", agent.url, "configured"))


def planned(
    agent: CodexByHand, session_id: str, strategy: str = "summary", summary: str = SUMMARY
) -> tuple[Json, list[Edit]]:
    """Token and edits of a plan."""
    basis = planning.read_basis(fresh(agent), session_id)
    policy, messages = compaction.Policy(keep_last=6, handoff="hermes"), list(map(message_of, basis.sent))
    chosen = STRATEGIES[strategy]
    plan = chosen.plan(messages, policy, compaction.counter_for(""))
    return basis.token, candidate.edits_of(basis, chosen.apply(plan, summary))


def compacted(
    agent: CodexByHand, writer: Writer, session_id: str, strategy: str = "summary", summary: str = SUMMARY
) -> Commit:
    token, edits = planned(agent, session_id, strategy, summary)
    with locked(writer, session_id):
        return writer.apply(session_id, token, edits, mode="in_place", holder=HOLDER, now=time.time())


def undo(agent: CodexByHand, writer: Writer, session_id: str, commit: Commit) -> None:
    plan = fresh(agent).undo_plan(session_id, commit.receipt)
    if plan.refusal:
        raise NotUndoable(plan.refusal)
    with locked(writer, session_id):
        writer.undo(plan, holder=HOLDER)


def lines_of(path: Path) -> list[Line]:
    return objects(path.read_bytes())


def written(path: Path, before: bytes) -> list[Line]:
    """The lines behind what was there before."""
    return objects(path.read_bytes()[len(before) :])


def with_meta(agent: CodexByHand, name: str, more: Line) -> None:
    """Say more in the first line of a session."""
    path = agent.path(name)
    first, *others = lines_of(path)
    first["payload"] |= more
    path.write_text("".join(json.dumps(each) + "\n" for each in (first, *others)))
