"""The three shared databases, where they are: every session plans and compacts, none needs a repair."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import compaction
from compaction import Message, NothingToCompact, Policy, offline, protocol
from compaction import messages as m
from compaction.pairs import loose_ends
from tests.compaction.survival import DATA, message
from tests.compaction.transcripts import count
from tests.slow import slow

STORES = [name for name in ("hermes-v16", "hermes-v21", "hermes-v31") if (DATA / f"{name}.db").exists()]
pytestmark = pytest.mark.skipif(not STORES, reason="the shared databases are not here")


def sessions(store: str, tmp_path: Path) -> Iterator[tuple[str, list[Message]]]:
    """Title and live messages of each session, read from a copy."""
    copy = tmp_path / "state.db"
    copy.write_bytes((DATA / f"{store}.db").read_bytes())
    connection = sqlite3.connect(copy)
    connection.row_factory = sqlite3.Row
    for session_id, title in connection.execute("SELECT id, title FROM sessions").fetchall():
        rows = connection.execute(
            "SELECT * FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", [session_id]
        )
        yield title, [message(row) for row in rows]
    connection.close()


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("window", [10_000, *slow(200_000)])
def test_every_session_compacts_or_says_why_not(store: str, window: int, tmp_path: Path) -> None:
    done = 0
    for title, messages in sessions(store, tmp_path):
        try:
            plan = compaction.plan(messages, Policy(context_window=window), count)
        except NothingToCompact as refusal:
            assert refusal.code in ("too_few", "turn_in_progress", "too_small"), title
            continue
        result = compaction.apply(plan, compaction.summarize(plan, offline.summarize))
        done += 1
        assert result.report.repairs == (), title
        assert result.tokens_after < result.tokens_before
        assert count(result.summary) <= plan.summary_budget
        loose = loose_ends(result.messages)
        assert not loose.calls and not loose.results
        assert sum(map(protocol.is_handoff, result.messages)) == 1
    assert done >= 20


@pytest.mark.parametrize("store", [name for name in STORES if name != "hermes-v16"])
def test_week_29_is_compacted_on_top_of_hermes_own_handoff(store: str, tmp_path: Path) -> None:
    messages = dict(sessions(store, tmp_path))["Airline desk, week 29"]
    plan = compaction.plan(messages, Policy(), count)
    assert plan.recompaction and plan.head == () and plan.role == "user"
    assert messages[plan.tail[0]]["role"] == "assistant"
    assert plan.previous_summary.startswith("## Historical Task Snapshot\nUser asked:")
    last = max(i for i, row in enumerate(messages) if m.is_typed(row))
    assert last in plan.tail


@pytest.mark.parametrize("store", [name for name in STORES if name != "hermes-v16"])
def test_merged_carriers_are_read_as_two(store: str, tmp_path: Path) -> None:
    carriers = {t: rows for t, rows in sessions(store, tmp_path) if t and t.startswith("Merged carrier")}
    assert len(carriers) == 2
    for title, rows in carriers.items():
        [row] = [row for row in rows if protocol.is_handoff(row)]
        kinds = [part.kind for part in compaction.split(row["content"])]
        stubbed = bool(row.get("tool_calls"))
        assert kinds == (["summary"] if stubbed else ["prior", "summary"]), title
        assert not m.is_standalone_handoff(row)
