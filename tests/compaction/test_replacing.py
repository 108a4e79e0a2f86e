"""Which instructions no longer hold since the same person gave a newer one."""

from __future__ import annotations

from pathlib import Path

import pytest

from compaction.replacing import replaced

MARKED = Path(__file__).resolve().parents[1] / "data" / "replacements.tsv"


@pytest.mark.parametrize(("half", "recall"), [("tuned", 0.95), ("held", 0.5)])
def test_what_replaces_is_told_from_what_may_hold_beside(half: str, recall: float) -> None:
    rows = [line.split("\t") for line in MARKED.read_text("utf-8").splitlines() if line.startswith(f"{half}\t")]
    found = [(wanted == "1", older, newer) for _, wanted, older, newer in rows if replaced(older, newer)]
    right = sum(wanted for wanted, *_ in found)
    assert len(rows) > 30
    assert [pair for wanted, *pair in found if not wanted] == []
    assert right / sum(wanted == "1" for _, wanted, *_ in rows) >= recall


@pytest.mark.parametrize(
    ("older", "newer", "wanted"),
    [
        ("This is an important constraint: for the rest of this session. use tabs.", "Use spaces.", True),
        ("Use tabs.", "From now on, use spaces.", True),
        ("Use tabs, and never push to main.", "Use spaces.", False),  # the other half still holds
        ("Use tabs.", "Use tabs.", False),
        ("The budget is 1,000 EUR.", "The budget is 1000 €.", False),
        ("Deploy before 8am.", "Deploy before 8 a.m.", False),
        ("Never call me before 9 on Mondays.", "Never call me before 10 on Fridays.", False),
        ("Flights after 8 am and before 9 pm.", "Flights after 10 am.", False),
        ("Never drop table t12 before I agree.", "Never drop table t13 before I agree.", False),
        ("12: Never drop table 12 before I agree.", "13: Never drop table 13 before I agree.", False),
        ("", "", False),
        ("?!", "Use spaces instead.", False),
    ],
)
def test_frames_repetitions_and_what_says_nothing(older: str, newer: str, wanted: bool) -> None:
    assert replaced(older, newer) is wanted
