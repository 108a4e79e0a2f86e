"""A few rounds of the campaign (`campaign`): `python -m tests.faults` has as many as wanted, and prints figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from .campaign import campaign

ROUNDS = {(31, "delete"): 6, (22, "wal"): 4}


@pytest.mark.parametrize(("schema", "journal"), ROUNDS, ids=lambda value: str(value))
def test_nothing_is_lost_doubled_hidden_or_orphaned(tmp_path: Path, schema: int, journal: str) -> None:
    with campaign(tmp_path, schema, journal) as made:
        for seed in range(ROUNDS[schema, journal]):
            made.round(seed, steps=4)
        made.check_sound()
    assert made.faults == {}
