"""Random stories of the real agent class, each message in History once and every undo exact (`python -m tests.interop`
tells many more).
"""

from __future__ import annotations

import pytest

from tests.agents.hermes.real import Hermes, environment
from tests.agents.hermes.stories import NOBODY, REQUIREMENTS, VERSIONS, Teller, in_memory

STEPS = 14
SEEDS = {21: range(1), 22: range(1), 31: range(4)}


@pytest.mark.parametrize("schema", VERSIONS, ids=lambda schema: f"schema{schema}")
def test_stories(schema: int) -> None:
    with in_memory() as home:
        hermes = Hermes(environment(REQUIREMENTS[schema]), home / "home", NOBODY)
        teller = Teller(hermes, home, schema)
        faults = {seed: str(faults[0]) for seed in SEEDS[schema] if (faults := teller.tell(seed, STEPS).faults)}
        hermes.stop()
    assert faults == {}
