"""Our reader tells of a session what the real pi sends when it resumes it, and what it builds of the file by itself."""

from __future__ import annotations

import pytest

from tests.agents import chat_views
from viewer.stores.base import Store
from viewer.stores.registry import open_store

from .client import NEWEST, OLDER
from .conftest import PiCases
from .scenarios import SCENARIOS

LEAST = 30  # resumes that a run compares

PLAYED = [*((NEWEST, name) for name in SCENARIOS), (OLDER, "compactions"), (OLDER, "branches")]


def test_enough_is_compared() -> None:
    assert sum(scenario.resumes for scenario in SCENARIOS.values()) >= LEAST


@pytest.mark.parametrize(("version", "scenario"), PLAYED)
def test_what_is_sent_on_resume(pi_cases: PiCases, version: str, scenario: str) -> None:
    found = pi_cases(version, scenario)
    assert len(found) == SCENARIOS[scenario].resumes
    for case in found:
        with open_store(Store("work", f"pi://{case.home}", "configured")) as reader:
            read = chat_views.of_rows(reader.live(case.session_id))
        assert read == chat_views.of_request(case.sent), case.name


@pytest.mark.parametrize(("version", "scenario"), PLAYED)
def test_what_the_client_builds_of_the_file(pi_cases: PiCases, version: str, scenario: str) -> None:
    """It does so without a request: nothing that was in memory alone is in it."""
    for case in pi_cases(version, scenario):
        with open_store(Store("work", f"pi://{case.home}", "configured")) as reader:
            read = chat_views.of_rows(reader.live(case.session_id))
        assert read == chat_views.of_context(case.context), case.name
