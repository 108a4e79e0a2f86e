"""Our reader tells of a session what the real Codex sends to the model when it resumes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress

import pytest

from tests.agents.base import Block, Json
from tests.agents.codex import views
from viewer.stores.base import Store
from viewer.stores.registry import open_store

from .client import GPT_5
from .conftest import Cases
from .resumed import resumed
from .scenarios import SCENARIOS
from .service import text_of

LEAST = 110  # resumes that a run compares
# What an older model is sent of the other scenarios is recorded (`record`), and read in `tests/store`.
OF_OLDER = ("tools-gpt-5.5", "all-sorts-gpt-5.5", "oldest-gpt-5.5", "older-remote-gpt-5.5")
LIVE = [name for name in SCENARIOS if name in OF_OLDER or not name.endswith(GPT_5)]


def test_enough_is_compared() -> None:
    assert sum(SCENARIOS[name].resumes for name in LIVE) >= LEAST


@pytest.mark.parametrize("scenario", LIVE)
def test_what_is_sent_on_resume(cases: Cases, scenario: str) -> None:
    found = cases(scenario)
    assert len(found) == SCENARIOS[scenario].resumes
    for case in found:
        with open_store(Store("work", f"codex:///{case.home}", "configured")) as reader:
            read = views.of_rows(reader.live(case.session_id))
        assert read == views.conversation(views.told(case.sent)), case.name


@pytest.mark.parametrize("scenario", LIVE)
def test_what_the_client_says_of_itself(cases: Cases, scenario: str) -> None:
    """It stands where it was sent, but for what is new since."""
    for case in cases(scenario):
        with open_store(Store("work", f"codex:///{case.home}", "configured")) as reader:
            rows = reader.live(case.session_id)
            added = reader.additions(case.session_id, [row.id for row in rows], end=True)
        read: list[Block | str] = []
        for row in [*rows, None]:
            before = None if row is None else row.id
            read += [_squeezed(each.text) for each in added if each.is_sent and each.before == before]
            read += [] if row is None else views.of_rows([row])
        sent = [each for item in case.sent for each in _told(item)]
        assert read == sent[: len(read)], case.name
        assert all(isinstance(each, str) for each in sent[len(read) :]), case.name


def _told(item: Json) -> Sequence[Block | str]:
    blocks = views.told([item])
    if not blocks or not views.is_context(blocks[0]):
        return blocks
    return [_squeezed(json.dumps(item["tools"]) if "tools" in item else text_of(item))]


def _squeezed(text: str) -> str:
    with suppress(ValueError):
        text = json.dumps(json.loads(text), sort_keys=True)
    return "".join(text.split())


@pytest.mark.parametrize("scenario", LIVE)
def test_the_rule_in_few_words(cases: Cases, scenario: str) -> None:
    """It gives all items, also what the client says of itself, but for what is new since."""
    for case in cases(scenario):
        items, sent = views.told(resumed(case.home, case.session_id)), views.told(case.sent)
        assert items == sent[: len(items)], case.name
        assert all(views.is_context(block) for block in sent[len(items) :]), case.name
