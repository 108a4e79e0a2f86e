"""A writer of ours that is killed while it writes into a session of the real Codex: the client resumes from what there
was before, and so do we.
"""

from __future__ import annotations

import pytest

from .opened import Open, homes, opened
from .work import ours

__all__ = ["homes", "opened"]

# The lines: task_started, compacted, world_state, turn_context, token_count, what is shown of it, task_complete.
# They are written with letters that do not count, and five of these are overwritten then.
CASES = [
    ("paginated", "torn 0.5"), ("legacy", "steps 1"), ("segment", "overwritten 0"),
    ("above encrypted", "overwritten 0.95"),
]  # fmt: skip


@pytest.mark.parametrize(("sort", "moment"), CASES)
def test_a_writer_that_is_killed_while_it_writes(opened: Open, sort: str, moment: str) -> None:
    work = opened(sort)
    work.say("And now?")
    before, stored = work.read(), work.file.read_bytes()
    work.store_api.written(f"codex:///{work.client.home}", work.session, moment)
    assert work.file.read_bytes().startswith(stored) and work.file.read_bytes() != stored
    boundaries = len(work.store_api.compactions(work.session))
    assert work.read() == before
    work.client.turn(work.session, "And in a process of its own?")  # which resumes it from its end
    said = work.read()
    assert said[: len(before)] == before
    assert work.say("Go on.") == said
    run = work.compact()
    assert ours(work.say("And on.")) and len(work.store_api.compactions(work.session)) == boundaries + 1
    work.undo(run)
    assert work.say("And at last?")[: len(said)] == said


def test_a_writer_that_is_killed_when_all_is_written(opened: Open) -> None:
    work = opened("paginated")
    before = work.read()
    work.store_api.written(f"codex:///{work.client.home}", work.session, "steps 6")
    assert ours(work.read()) and work.say("And now?") != before
    said = work.say_much()
    work.compact()
    assert ours(work.say("And on.")) and work.read()[-2:] != said[-2:]
