"""What is read of a session is what the real Codex sends to the model when it resumes it."""

from __future__ import annotations

import pytest

from . import views
from .conftest import Cases
from .playing import Scenario
from .resumed import resumed
from .scenarios import SCENARIOS

LEAST = 60  # resumes that a run compares

PLAYED = [
    pytest.param(name, id=name, marks=[pytest.mark.thorough] if scenario.thorough else [])
    for name, scenario in SCENARIOS.items()
]


def test_enough_is_compared() -> None:
    def resumes(scenario: Scenario) -> int:
        return 0 if scenario.thorough else scenario.resumes

    assert sum(map(resumes, SCENARIOS.values())) >= LEAST


@pytest.mark.parametrize("scenario", PLAYED)
def test_the_rule_in_few_words(cases: Cases, scenario: str) -> None:
    found = cases(scenario)
    assert len(found) == SCENARIOS[scenario].resumes
    for case in found:
        read, sent = views.told(resumed(case.home, case.session_id)), views.told(case.sent)
        assert read == sent[: len(read)], case.name
        assert all(block.is_context for block in sent[len(read) :]), case.name
