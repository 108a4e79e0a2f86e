"""What a summary of 2,000 tokens made without a model keeps of two long real coding sessions that went on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import mean

import pytest

import compaction
from compaction import NothingToCompact, Policy, counter_for, offline
from compaction.anchors import hindsight
from compaction.folders import spelled_out
from tests.compaction.coding import HELD_OUT, SESSIONS, TUNED, all_text, plain_share, session
from tests.compaction.survival import BUDGET, CUTS, WINDOWS, visible_text

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SESSIONS.exists(), reason="the shared sessions are not here"),
]


@dataclass(frozen=True)
class Kept:
    """Of what was used later, by the engine's own measure and by the plain one: the mean shares of all cuts."""

    own: float
    plain: float


@cache
def kept(path: Path, budget: int) -> Kept:
    rows, count = session(path), counter_for("gpt-5")
    own, plain = [], []
    for split in (int(len(rows) * cut) for cut in CUTS[1::2]):
        for window in WINDOWS:
            try:
                plan = compaction.plan(rows[:split], Policy(context_window=window), count)
            except NothingToCompact:
                continue
            summary = offline.summarize(replace(compaction.request_of(plan), budget_tokens=budget))
            assert count(summary) <= budget
            middle, stay = ([plan.messages[i] for i in part] for part in (plan.middle, (*plan.head, *plan.tail)))
            text = spelled_out(summary)
            own.append(hindsight(middle, f"{text}\n{visible_text(stay)}", rows[split:]).share)
            plain.append(plain_share(middle, f"{text}\n{all_text(stay)}", rows[split:]))
    assert len(own) == len(WINDOWS) * len(CUTS[1::2])
    return Kept(mean(own), mean(plain))


@pytest.mark.parametrize(
    ("path", "budget", "own", "plain"),
    [
        (TUNED, BUDGET, 0.96, 0.97),
        (HELD_OUT, BUDGET, 0.945, 0.885),
        (TUNED, 6_000, 0.99, 0.99),
        (HELD_OUT, 6_000, 0.99, 0.95),
    ],
    ids=["tuned", "held out", "tuned, roomy", "held out, roomy"],
)
def test_what_later_work_used_again_is_still_there(path: Path, budget: int, own: float, plain: float) -> None:
    found = kept(path, budget)
    assert (found.own >= own, found.plain >= plain) == (True, True), found
