"""A few rounds of the campaign (`campaign`): `python -m tests.faults` has as many as wanted, and prints figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from .campaign import campaign
from .conftest import fresh_database


@pytest.mark.parametrize(
    ("schema", "journal", "own", "rounds"),
    [(31, "delete", "sqlite", 10), (31, "wal", "postgres", 6), (22, "wal", "sqlite", 8), (21, "wal", "sqlite", 6)],
)
def test_nothing_is_lost_doubled_hidden_or_orphaned(
    tmp_path: Path, request: pytest.FixtureRequest, schema: int, journal: str, own: str, rounds: int
) -> None:
    address = fresh_database(request.getfixturevalue("postgres"), "campaign") if own == "postgres" else ""
    with campaign(tmp_path, schema, journal, address) as made:
        for seed in range(rounds):
            made.round(seed, steps=3)
        made.check_sound()
    assert made.faults == {}
