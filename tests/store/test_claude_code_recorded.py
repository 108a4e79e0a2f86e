"""Sessions that the real Claude Code wrote are read as it sent them when it resumed them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.claude_code import record, views
from viewer.stores.base import Store
from viewer.stores.registry import open_store

# `python -m tests.interop.claude_code.record` writes them.
SESSIONS = sorted(path for path in record.RECORDED.iterdir() if path.is_dir())


@pytest.mark.parametrize("recorded", SESSIONS, ids=lambda path: path.name)
def test_a_recorded_session(recorded: Path) -> None:
    sent = record.sent_of(recorded)
    (session,) = [path.stem for path in recorded.glob("projects/*/*.jsonl")]
    with open_store(Store("work", f"claude-code:///{recorded}", "configured")) as reader:
        assert views.conversation(views.told(reader.live(session))) == sent
