"""A compaction, split or branch as the site makes one, step by step: a test can let Hermes act between any two."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import compaction
from compaction import pruning
from tests.agents.hermes.model import Model
from tests.agents.hermes.real import Hermes
from tests.factories.locks import turn_lease
from viewer.runs import branching as branching_runs
from viewer.runs import candidate, planning
from viewer.stores import lock_owners
from viewer.stores.base import Store
from viewer.stores.hermes import branch as hermes_branch
from viewer.stores.hermes import commit as hermes_commit
from viewer.stores.hermes import encode, messages, presence
from viewer.stores.hermes import plan as hermes_plan
from viewer.stores.hermes import undo as hermes_undo
from viewer.stores.hermes.known import KnownBlock
from viewer.stores.hermes.reader import open_store
from viewer.stores.hermes.undo import Outlook, Undoing
from viewer.stores.message import message_of
from viewer.stores.transcript import TranscriptIndex

SUMMARY = "## Goal\nFinish every step, says the marmalade note.\n\n## Completed Actions\n1. RAN the earlier steps."
RULES = "## Session Startup\nRead SOUL.md.\n\n## Red Lines\nNever touch the apricot ledger."
POLICY = compaction.Policy(context_window=32_000, rules=RULES, handoff="hermes")  # a tail of some 3,200 tokens


@dataclass(frozen=True)
class Planned:
    """A session as it was planned, with the compression lock held by `holder`."""

    store: Store
    basis: planning.Basis
    plan: compaction.Plan
    holder: str

    @property
    def session_id(self) -> str:
        return self.basis.session.id

    @property
    def snapshot(self) -> hermes_plan.Snapshot:
        return hermes_plan.snapshot_of(self.session_id, self.basis.token)

    def steps(self, result: compaction.Result) -> list[encode.Step]:
        return encode.steps_of(self.basis.token, candidate.edits_of(self.basis, result))


@dataclass(frozen=True)
class Done:
    """A committed compaction: what the model should be sent from now on, and what taking it back needs."""

    store: Store
    messages: list[compaction.Message]
    commit: hermes_commit.BlockCommit
    undoing: Undoing


def store_of(database: Path) -> Store:
    return Store("hermes", f"sqlite:///{database}", "configured")


def plan(
    database: Path, session_id: str, mode: str = "in_place", strategy: str = "summary", window: int = 0
) -> Planned:
    """Take the lock and plan, for a model with this context window. Raises SessionBusy when somebody else has it."""
    store, holder = store_of(database), lock_owners.new_holder()
    presence.take_lock(store, session_id, holder)
    with open_store(store) as reader:
        basis = planning.read_basis(reader, session_id, mode)
    messages = [message_of(row) for row in basis.sent]
    policy = replace(POLICY, context_window=window) if window else POLICY
    make = pruning.plan if strategy == "prune" else compaction.plan
    try:
        return Planned(store, basis, make(messages, policy, compaction.counter_for("gpt-5")), holder)
    except compaction.NothingToCompact:
        presence.release_lock(store, session_id, holder)
        raise


def commit(planned: Planned) -> Done:
    """Commit under the turn lease and let go of the lock, whatever happens."""
    try:
        with turn_lease(planned.store, planned.session_id) as lease:
            return commit_leased(planned, lease)
    finally:
        presence.release_lock(planned.store, planned.session_id, planned.holder)


def commit_leased(planned: Planned, lease: str, now: float = 0.0) -> Done:
    """Commit while `lease` holds the turn lease."""
    plan = planned.plan
    result = pruning.apply(plan) if isinstance(plan, pruning.PrunePlan) else compaction.apply(plan, SUMMARY)
    done = hermes_commit.commit(
        planned.store, planned.snapshot, planned.steps(result),
        lock_holder=planned.holder, lease_holder=lease, now=now or time.time(),
    )  # fmt: skip
    originals = {row_id: done.copies.get(row_id) for row_id, *_ in planned.snapshot.rows} | done.copies
    undoing = Undoing(planned.session_id, done.handoff_id, done.block_ids, originals)
    return Done(planned.store, result.messages, done, undoing)


def compact(database: Path, session_id: str) -> Done:
    return commit(plan(database, session_id))


def compact_at(database: Path, session_id: str, now: float, strategy: str, window: int) -> Done:
    """Compact with a handoff of this time. Raises compaction.NothingToCompact and what a commit raises."""
    planned = plan(database, session_id, strategy=strategy, window=window)
    try:
        with turn_lease(planned.store, session_id) as lease:
            return commit_leased(planned, lease, now)
    finally:
        presence.release_lock(planned.store, session_id, planned.holder)


def known_of(done: Done) -> KnownBlock:
    """What this site notes of the compaction."""
    with open_store(done.store) as reader:
        row = messages.read_rows(reader, [done.commit.handoff_id])[done.commit.handoff_id]
    copies = {copy: source for source, copy in done.commit.copies.items()}
    key, before = messages.handoff_key(row.content), [*done.undoing.originals]
    return KnownBlock(1, done.commit.handoff_id, key, copies, undone=False, before=before)


def undo(store: Store, undoing: Undoing) -> Outlook:
    """Take a compaction back under lock and lease."""
    holder = lock_owners.new_holder()
    presence.take_lock(store, undoing.session_id, holder)
    try:
        with turn_lease(store, undoing.session_id) as lease:
            return hermes_undo.undo(store, undoing, lock_holder=holder, lease_holder=lease)
    finally:
        presence.release_lock(store, undoing.session_id, holder)


def history_of(database: Path, session_id: str) -> TranscriptIndex:
    with open_store(store_of(database)) as reader:
        return messages.read_history(reader, session_id)


PROMPT = "You are the careful clerk of a walnut shop."


@dataclass(frozen=True)
class Split:
    """A session that was split: the messages that the new one should hold, and what was committed."""

    messages: list[compaction.Message]
    commit: hermes_commit.BlockCommit

    @property
    def part(self) -> str:
        return self.commit.new_session_id


def split(database: Path, session_id: str, planned: Planned | None = None) -> Split:
    planned = planned or plan(database, session_id, "split")
    result = compaction.apply(planned.plan, SUMMARY)
    try:
        with turn_lease(planned.store, session_id) as lease:
            commit = hermes_branch.split(
                planned.store, planned.snapshot, planned.steps(result),
                lock_holder=planned.holder, lease_holder=lease, now=time.time(),
            )  # fmt: skip
    finally:
        presence.release_lock(planned.store, session_id, planned.holder)
    return Split(result.messages, commit)


def compact_on_top(hermes: Hermes, model: Model, done: Split) -> None:
    """Have the agent go on in the new session and compact it: it carries our summary on."""
    hermes.resume(done.part)
    for number in range(3):
        hermes.turn(f"Question {number}: {'more to say ' * 60}")
    model.reply = "## Goal\nAll of it, by the second summary."
    hermes.compact()
    asked = model.requests[-1]["messages"][-1]["content"]
    assert SUMMARY in asked[asked.index("PREVIOUS SUMMARY:") :]


def branch(database: Path, session_id: str) -> str:
    return branching_runs.branch(store_of(database), session_id, None)
