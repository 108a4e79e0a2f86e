"""A directory of Claude Code's sessions, written by hand, and the reader of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.claude_code import ClaudeByHand
from viewer.stores.base import Store
from viewer.stores.reader import Reader
from viewer.stores.registry import open_store


@pytest.fixture
def agent(tmp_path: Path) -> ClaudeByHand:
    return ClaudeByHand(tmp_path / "claude")


@pytest.fixture
def reader(agent: ClaudeByHand) -> Iterator[Reader]:
    with open_store(Store("claude", agent.url, "configured")) as found:
        yield found
