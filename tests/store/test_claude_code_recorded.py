"""Sessions that the real Claude Code wrote are read as it sent them when it resumed them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.claude_code import views
from tests.agents.claude_code.recorded import RECORDED, sent_of
from viewer.stores.base import Store
from viewer.stores.registry import open_store

SESSIONS = sorted(path for path in RECORDED.iterdir() if path.is_dir())


@pytest.mark.parametrize("recorded", SESSIONS, ids=lambda path: path.name)
def test_a_recorded_session(recorded: Path) -> None:
    sent = sent_of(recorded)
    (session,) = [path.stem for path in recorded.glob("projects/*/*.jsonl")]
    with open_store(Store("work", f"claude-code:///{recorded}", "configured")) as reader:
        assert views.conversation(views.told(reader.live(session))) == sent
