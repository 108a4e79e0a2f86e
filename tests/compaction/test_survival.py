"""What a summary of 2,000 tokens made without a model keeps of long conversations that went on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean

import pytest

import compaction
from compaction import Message, counter_for
from tests.compaction.survival import (
    BUDGET,
    CUTS,
    DATABASES,
    WINDOWS,
    Measured,
    long_transcripts,
    measure,
    visible_text,
)
from tests.compaction.transcripts import reply, user
from tests.slow import slow

Transcripts = list[tuple[str, list[Message]]]


@pytest.fixture(scope="module", params=["ours", *slow("real")])
def long_ones(
    request: pytest.FixtureRequest, own_databases: Callable[[int], Path], hermes_databases: Callable[[int], Path]
) -> Transcripts:
    """Of a database of ours; of real ones, where those are."""
    versions, databases = ((31,), own_databases) if request.param == "ours" else ((16, 21, 31), hermes_databases)
    paths = [databases(version) for version in versions]
    return [(title, rows if paths[0] in DATABASES else _richer(rows)) for title, rows in long_transcripts(paths)]


def _richer(messages: list[Message]) -> list[Message]:
    """People of ours say now and then what binds the agent, and come back to it much later."""
    found: list[Message] = []
    for at, row in enumerate(messages):
        if at % 60 == 0:
            found += [user(f"Never refund ticket TK-{at}-B without asking its owner."), reply("Understood.")]
        if at % 60 == 30 and at > 300:
            found += [user(f"What became of TK-{at - 270}-B?"), reply("It is as it was.")]
        found.append(row)
    return found


@pytest.fixture(scope="module")
def measured(long_ones: Transcripts) -> list[Measured]:
    count = counter_for("gpt-5")
    places = [(title, rows, cut, window) for title, rows in long_ones for cut in CUTS[::2] for window in WINDOWS]
    found = [measure(title, rows, cut, window, count) for title, rows, cut, window in places]
    return [one for one in found if one is not None]


def test_the_summaries_are_of_long_middles_and_within_the_budget(measured: list[Measured]) -> None:
    assert len(measured) >= 10 and max(one.messages for one in measured) > 1_000
    assert all(one.tokens <= BUDGET for one in measured)


def test_what_later_turns_used_again_is_still_there(measured: list[Measured]) -> None:
    assert mean(one.hindsight.share for one in measured) >= 0.98
    assert sum(one.hindsight.share >= 0.93 for one in measured) >= len(measured) - 1
    assert min(one.hindsight.share for one in measured) >= 0.91  # of 1,100 messages next to nothing is kept


def test_what_people_and_replies_named_is_still_there(measured: list[Measured], request: pytest.FixtureRequest) -> None:
    """Of real sessions birth dates alone are lost; of ours, tickets that are asked about once."""
    is_real = DATABASES and request.node.callspec.params["long_ones"] == "real"
    assert min(one.spoken.share for one in measured) >= (0.935 if is_real else 0.8)


def test_every_constraint_is_still_there(measured: list[Measured]) -> None:
    assert [(one.title, one.cut, one.constraints.lost) for one in measured if one.constraints.lost] == []
    assert max(one.constraints.total for one in measured) > 15


def test_it_is_no_accident_of_the_measure(long_ones: Transcripts) -> None:
    """Without the summary, the kept messages alone would do far worse."""
    title, rows = max(long_ones, key=lambda pair: len(pair[1]))
    split = int(len(rows) * 0.5)
    plan = compaction.plan(rows[:split], compaction.Policy(context_window=40_000), counter_for("gpt-5"))
    kept: list[Message] = [plan.messages[i] for i in (*plan.head, *plan.tail)]
    left = visible_text(kept)
    middle = [plan.messages[i] for i in plan.middle]
    assert compaction.hindsight(middle, left, rows[split:]).share < 0.5, title
