"""A few rounds of the campaign (`campaign`): `python -m tests.faults` has as many as wanted, and prints figures."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from .campaign import campaign
from .conftest import fresh_database
from .raced import Live, Raced

STEPS = 5
# Chosen so that these stories have every kind of step, most an undo after a compaction, and each site a killed agent.
SITES = [
    (31, "delete", "sqlite", (296, 136, 184)),
    (22, "wal", "postgres", (105, 369)),
]


@pytest.mark.parametrize(("schema", "journal", "own", "seeds"), SITES)
def test_nothing_is_lost_doubled_hidden_or_orphaned(
    tmp_path: Path, request: pytest.FixtureRequest, schema: int, journal: str, own: str, seeds: tuple[int, ...]
) -> None:
    address = fresh_database(request.getfixturevalue("postgres"), "campaign") if own == "postgres" else ""
    with campaign(tmp_path, schema, journal, address) as made:
        for seed in seeds:
            made.round(seed, STEPS)
        made.check_sound()
    assert made.faults == {}
    assert made.live.kills


def test_the_stories_have_every_kind_of_step() -> None:
    nobody = cast(Live, SimpleNamespace(agent=None, path=Path()))

    def steps(seed: int) -> set[str]:
        return {name for _, name in Raced(nobody, seed).plan(STEPS)}

    told = set[str]().union(*(steps(seed) for *_, seeds in SITES for seed in seeds))
    assert told == set[str]().union(*map(steps, range(200)))
