"""Databases as Hermes makes them: every session plans and compacts, none needs a repair."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import compaction
from compaction import Message, NothingToCompact, Policy, offline
from compaction import messages as m
from compaction.handoff import is_handoff
from compaction.tool_groups import loose_ends
from tests.compaction.shared_data import message
from tests.compaction.transcripts import count
from tests.slow import slow

WITH_HANDOFFS = ("small-31", "small-21", *slow("21", "31"))


@pytest.fixture(params=[*WITH_HANDOFFS, *slow("16")])
def database(
    request: pytest.FixtureRequest,
    own_databases: Callable[..., Path],
    hermes_databases: Callable[[int], Path],
) -> Path:
    """A small one of ours; a real one, where those are."""
    kind, _, version = request.param.rpartition("-")
    return own_databases(int(version), small=True) if kind else hermes_databases(int(version))


def sessions(database: Path) -> Iterator[tuple[str, list[Message]]]:
    """Title and live messages of each session."""
    with closing(sqlite3.connect(f"file:{database}?immutable=1", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        for session_id, title in connection.execute("SELECT id, title FROM sessions").fetchall():
            rows = connection.execute(
                "SELECT * FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", [session_id]
            )
            yield title, [message(row) for row in rows]


@pytest.mark.parametrize("window", [10_000, *slow(200_000)])
def test_every_session_compacts_or_says_why_not(database: Path, window: int) -> None:
    asked = done = 0
    for title, messages in sessions(database):
        asked += 1
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
        assert sum(map(is_handoff, result.messages)) == 1
    assert done >= 0.7 * asked > 5


@pytest.mark.parametrize("database", WITH_HANDOFFS, indirect=True)
def test_week_29_is_compacted_on_top_of_hermes_own_handoff(database: Path) -> None:
    messages = dict(sessions(database))["Airline desk, week 29"]
    plan = compaction.plan(messages, Policy(context_window=16_000), count)
    assert plan.recompaction and plan.head == () and plan.role == "user"
    assert messages[plan.tail[0]]["role"] == "assistant"
    assert plan.previous_summary.startswith("## ")
    last = max(i for i, row in enumerate(messages) if m.is_typed(row))
    assert last in plan.tail


@pytest.mark.parametrize("database", WITH_HANDOFFS, indirect=True)
def test_merged_carriers_are_read_as_two(database: Path) -> None:
    carriers = {t: rows for t, rows in sessions(database) if t and t.startswith("Merged carrier")}
    assert len(carriers) == 2
    for title, rows in carriers.items():
        [row] = [row for row in rows if is_handoff(row)]
        kinds = [part.kind for part in compaction.split(row["content"])]
        stubbed = bool(row.get("tool_calls"))
        assert kinds == (["summary"] if stubbed else ["prior", "summary"]), title
        assert not m.is_standalone_handoff(row)
