"""What a summary of 2,000 tokens made without a model keeps of long real conversations that went on."""

from __future__ import annotations

from statistics import mean

import pytest

import compaction
from compaction import Message, counter_for
from tests.compaction.survival import BUDGET, CUTS, DATA, WINDOWS, Measured, long_transcripts, measure, visible_text
from tests.slow import slow

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the shared databases are not here")


@pytest.fixture(scope="module", params=[4, *slow(1)], ids="one cut in {}".format)
def measured(request: pytest.FixtureRequest) -> list[Measured]:
    count = counter_for("gpt-5")
    cuts = CUTS[:: request.param]
    places = [(title, rows, cut, window) for title, rows in long_transcripts() for cut in cuts for window in WINDOWS]
    found = [measure(title, rows, cut, window, count) for title, rows, cut, window in places]
    return [one for one in found if one is not None]


def test_the_summaries_are_of_long_middles_and_within_the_budget(measured: list[Measured]) -> None:
    assert len(measured) >= 20 and max(one.messages for one in measured) > 1_000
    assert all(one.tokens <= BUDGET for one in measured)


def test_what_later_turns_used_again_is_still_there(measured: list[Measured]) -> None:
    assert mean(one.hindsight.share for one in measured) >= 0.98
    assert sum(one.hindsight.share >= 0.93 for one in measured) >= len(measured) - 1
    assert min(one.hindsight.share for one in measured) >= 0.91  # of 1,100 messages next to nothing is kept


def test_what_people_and_replies_named_is_still_there(measured: list[Measured]) -> None:
    assert min(one.spoken.share for one in measured) >= 0.935  # lost are birth dates alone


def test_every_constraint_is_still_there(measured: list[Measured]) -> None:
    assert [(one.title, one.cut, one.constraints.lost) for one in measured if one.constraints.lost] == []
    assert max(one.constraints.total for one in measured) > 15


def test_it_is_no_accident_of_the_measure(measured: list[Measured]) -> None:
    """Without the summary, the kept messages alone would do far worse."""
    title, rows = max(long_transcripts(), key=lambda pair: len(pair[1]))
    split = int(len(rows) * 0.5)
    plan = compaction.plan(rows[:split], compaction.Policy(context_window=40_000), counter_for("gpt-5"))
    kept: list[Message] = [plan.messages[i] for i in (*plan.head, *plan.tail)]
    left = visible_text(kept)
    middle = [plan.messages[i] for i in plan.middle]
    assert compaction.hindsight(middle, left, rows[split:]).share < 0.5, title
