"""A session's file that was converted to another encoding is listed, and says why nothing of it is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.base import Agent
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.codex.by_hand import CodexByHand
from tests.agents.openclaw.by_hand import stored, talked
from tests.agents.pi.by_hand import PiByHand
from tests.agents.reading import opened
from tests.agents.talk import talk
from tests.listed import all_ids
from viewer.stores.errors import StoreUnavailable


def by_hand(kind: Callable[[Path], Agent]) -> Callable[[Path], Agent]:
    def made(root: Path) -> Agent:
        agent = kind(root)
        agent.write("s", talk(1))
        return agent

    return made


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize(
    "made", [*map(by_hand, (ClaudeByHand, CodexByHand, PiByHand)), lambda root: stored(root, "file", talked(4))]
)
def test_a_file_in_another_encoding_says_so(tmp_path: Path, made: Callable[[Path], Agent], encoding: str) -> None:
    agent = made(tmp_path / "home")
    with opened(agent) as reader:
        (session_id,) = all_ids(reader)
        assert reader.live(session_id)
    (file,) = (tmp_path / "home").rglob("*.jsonl")
    file.write_bytes(file.read_text().encode(encoding))
    with opened(agent) as reader:
        assert all_ids(reader) == [session_id]
        for question in (reader.live, reader.refusal):
            with pytest.raises(StoreUnavailable, match="not UTF-8"):
                question(session_id)
