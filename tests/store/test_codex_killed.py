"""Every place at which a writer of a compaction may be killed: a session of Codex is as it was before, or as after.
What the client makes of it is held in `tests/interop/codex/test_killed.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.contract.codex import CodexByHand
from tests.contract.talk import heard, talk
from tests.support.codex_home import agent, fresh, said, session_id
from tests.support.codex_writer import compacted, planned, undo, writer
from viewer.stores.jsonl.append import Appending
from viewer.stores.recorded import Recorded
from viewer.stores.writer import Writer

__all__ = ["agent", "session_id", "writer"]

STEP = 97  # bytes between two places


class Overwritten:
    """What stands in a file before its bytes are overwritten, and what is written over them, in this order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.before, self.changes = b"", dict[int, bytes]()
        plain = Appending.overwrite

        def overwrite(opened: Appending, changes: Mapping[int, bytes], *more: Any) -> None:
            self.before, self.changes = opened.path.read_bytes(), dict(changes)
            plain(opened, changes, *more)

        monkeypatch.setattr(Appending, "overwrite", overwrite)


@pytest.mark.parametrize("strategy", ["summary", "prune"])
def test_wherever_a_writer_is_killed(
    agent: CodexByHand, writer: Writer, session_id: str, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.write("s", talk(8))
    agent.append("s", "world_state", {"full": True, "state": {}})
    path = agent.path("s")
    before, (token, edits) = path.read_bytes(), planned(agent, session_id, strategy)
    seen = Overwritten(monkeypatch)
    compacted(agent, writer, session_id, strategy)
    after = said(fresh(agent), session_id)
    ends = [at + 1 for at, byte in enumerate(seen.before) if byte == 10 and at >= len(before)]
    for cut in sorted({*range(len(before) + 1, len(seen.before), STEP), *ends, *(end - 1 for end in ends)}):
        path.write_bytes(seen.before[:cut])
        assert said(fresh(agent), session_id) == heard(talk(8)), cut
        assert fresh(agent).find_commit(session_id, token, edits, Recorded()) is None
    made = bytearray(seen.before)
    for at, letter in seen.changes.items():
        path.write_bytes(made)
        assert said(fresh(agent), session_id) == heard(talk(8)), at
        made[at : at + 1] = letter
    path.write_bytes(made)
    assert said(fresh(agent), session_id) == after
    found = fresh(agent).find_commit(session_id, token, edits, Recorded())
    assert found is not None and not fresh(agent).undo_plan(session_id, found.receipt).refusal


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 1])
def test_behind_what_a_killed_writer_left(
    agent: CodexByHand, writer: Writer, session_id: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one begins on a line of its own, and is undone without a trace of the first."""
    agent.write("s", talk(8))
    path, size = agent.path("s"), len(agent.path("s").read_bytes())
    seen = Overwritten(monkeypatch)
    compacted(agent, writer, session_id)
    path.write_bytes(seen.before[: size + int(share * (len(seen.before) - size))])
    commit = compacted(agent, writer, session_id)
    assert len(said(fresh(agent), session_id)) < len(heard(talk(8)))
    undo(agent, writer, session_id, commit)
    assert said(fresh(agent), session_id) == heard(talk(8))
