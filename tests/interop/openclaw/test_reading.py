"""Our reader tells of a session what the real OpenClaw sends of it, and what it builds of its database by itself."""

from __future__ import annotations

import pytest

from tests.agents.openclaw import views
from viewer.stores.base import Store
from viewer.stores.registry import open_store

from .conftest import OpenClawCases
from .playing import OpenClawStage, key_of
from .scenarios import SCENARIOS


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_is_sent(openclaw_cases: OpenClawCases, scenario: str) -> None:
    found = openclaw_cases(scenario)
    assert len(found) == SCENARIOS[scenario].turns
    for case in found:
        with open_store(Store("work", f"openclaw://{case.state}", "configured")) as reader:
            read = views.read(reader.live(case.session_id))
        assert read == views.sent(case.sent), case.name


def test_what_the_client_builds(openclaw_cases: OpenClawCases, gateway: OpenClawStage) -> None:
    """It does so without a turn: of the tree of entries, not of its index."""
    for name in SCENARIOS:
        openclaw_cases(name)
    names = [
        name for name in SCENARIOS if gateway.sql("SELECT 1 FROM session_nodes WHERE session_key = ?", key_of(name))
    ]
    keys = {key_of(name): gateway.session_of(key_of(name)) for name in names}
    for key, context in zip(keys, gateway.contexts(gateway.state, keys), strict=True):
        with open_store(Store("work", f"openclaw://{gateway.state}", "configured")) as reader:
            read = views.read(reader.live(keys[key]))
        assert read == views.built(context["messages"]), key
