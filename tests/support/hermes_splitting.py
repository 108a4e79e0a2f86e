"""A compaction of the mode “split” in a store of the real agent's old version."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import compaction
from tests.agents.hermes.real import Hermes
from tests.factories.locks import turn_lease
from tests.interop import ours
from tests.interop.model import Model
from viewer.stores.hermes import branching, guards, writing

PROMPT = "You are the careful clerk of a walnut shop."


@dataclass(frozen=True)
class Split:
    """A session that was split: the messages that the new one should hold, and what was committed."""

    messages: list[compaction.Message]
    commit: writing.BlockCommit

    @property
    def part(self) -> str:
        return self.commit.new_session_id


def split(database: Path, session_id: str, planned: ours.Planned | None = None) -> Split:
    planned = planned or ours.plan(database, session_id, "split")
    result = compaction.apply(planned.plan, ours.SUMMARY)
    try:
        with turn_lease(planned.store, session_id) as lease:
            commit = branching.split(
                planned.store, planned.snapshot, planned.steps(result),
                lock_holder=planned.holder, lease_holder=lease, now=time.time(),
            )  # fmt: skip
    finally:
        guards.release_lock(planned.store, session_id, planned.holder)
    return Split(result.messages, commit)


def compact_on_top(hermes: Hermes, model: Model, done: Split) -> None:
    """Have the agent go on in the new session and compact it: it carries our summary on."""
    hermes.resume(done.part)
    for number in range(3):
        hermes.turn(f"Question {number}: {'more to say ' * 60}")
    model.reply = "## Goal\nAll of it, by the second summary."
    hermes.compact()
    asked = model.requests[-1]["messages"][-1]["content"]
    assert ours.SUMMARY in asked[asked.index("PREVIOUS SUMMARY:") :]
