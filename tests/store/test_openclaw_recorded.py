"""Databases that OpenClaw 2026.9.4 and 2026.9.5 wrote (schemas 19 and 21): what they sent of each session is what our
reader says, and a compaction fits into their tables. `tests/interop/openclaw/recording.py` made them.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import compaction
from tests.agents.openclaw import views
from tests.agents.openclaw.recorded import DATA, SCHEMAS, Kept
from viewer.runs import candidate, planning
from viewer.stores.lock_owners import new_holder
from viewer.stores.message import message_of
from viewer.stores.registry import open_store, writer_of

LEAST = 30  # turns that are compared
RECORDED = {version: json.loads((DATA / f"{version}.json").read_text()) for version in SCHEMAS}
CASES = [
    pytest.param(version, each, id=f"{version}-{each['name']}") for version in SCHEMAS for each in RECORDED[version]
]


def test_enough_is_compared() -> None:
    assert len(CASES) >= LEAST


@pytest.mark.parametrize(("version", "case"), CASES)
def test_what_was_sent(tmp_path: Path, version: str, case: dict[str, Any]) -> None:
    kept = Kept(tmp_path, version)
    later = "DELETE FROM transcript_events WHERE session_id = ? AND seq >= ?"
    kept.sql(later, case["session"], case["entries"])
    assert kept.read(case["session"]) == views.sent(case["sent"])


@pytest.mark.parametrize("version", SCHEMAS)
def test_the_list(tmp_path: Path, version: str) -> None:
    with open_store(Kept(tmp_path, version).store) as reader:
        assert reader.capabilities().schema == SCHEMAS[version] and reader.refusal(None) is None
        listed = [each for each in reader.listing.all() if each.is_listed]  # type: ignore[attr-defined]
        assert len(listed) == 4 and sum(bool(each.branched_from) for each in listed) == 1
        assert all(reader.session(each.id).model == "model-1" for each in listed)


@pytest.mark.parametrize("version", SCHEMAS)
def test_a_compaction_and_its_undo(tmp_path: Path, version: str) -> None:
    kept = Kept(tmp_path, version)
    ((session,),) = kept.sql("SELECT current_session_id FROM session_nodes WHERE session_key = 'agent:main:tools'")
    before, writer, holder = kept.read(session), writer_of(kept.store), new_holder()
    with open_store(kept.store) as reader:
        basis = planning.read_basis(reader, session)
    policy = compaction.Policy(keep_last=3, tail_only=True, handoff="hermes")
    plan = compaction.plan(list(map(message_of, basis.sent)), policy, compaction.counter_for(""))
    edits = candidate.edits_of(basis, compaction.apply(plan, "## Goal\nFinish."))
    commit = writer.apply(session, basis.token, edits, mode="in_place", holder=holder, now=time.time())
    short = kept.read(session)
    assert "## Goal\nFinish." in short[0].said and short[1:] == before[-len(short) + 1 :]
    with open_store(kept.store) as reader:
        undoing = reader.undo_plan(session, commit.receipt)
    writer.undo(undoing, holder=holder)
    assert kept.read(session) == before
    writer.redo(session, commit.receipt, holder=holder)
    assert kept.read(session) == short
    assert kept.sql("PRAGMA quick_check") == [("ok",)] and kept.sql("PRAGMA foreign_key_check") == []
    assert kept.sql("SELECT min(entry_valid) FROM session_nodes") == [(1,)]
