"""Every place at which a writer of ours may be killed in a file: a session is as it was before, or as it is after, and
the line that its client writes next is there. What the clients make of it is held in `tests/interop`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.agents.base import Agent
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.codex.by_hand import CodexByHand
from tests.agents.openclaw.by_hand import OpenClawFilesByHand
from tests.agents.pi.by_hand import PiByHand
from tests.agents.reading import history, opened, sent, store_of
from tests.agents.talk import heard, talk
from tests.agents.writing import compacted
from tests.factories.locks import HOLDER, locked
from tests.slow import slow
from viewer.stores.registry import writer_of

KINDS: dict[str, tuple[Callable[[Path], Agent], str]] = {
    "claude-code": (ClaudeByHand, "summary"),
    "claude-code-shortened": (ClaudeByHand, "prune"),
    "codex": (CodexByHand, "summary"),
    "codex-shortened": (CodexByHand, "prune"),
    "openclaw-files": (OpenClawFilesByHand, "summary"),
    "pi": (PiByHand, "summary"),
}
WAYS = ("claude-code", "codex", "pi")
SAID = 5  # turns
STEP = 211  # bytes between two places
NEXT = {"role": "user", "content": "And now?"}


# The others write in the same ways.
@pytest.fixture(params=[*WAYS, *slow(*(kind for kind in KINDS if kind not in WAYS))])
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Agent:
    made = KINDS[request.param][0](tmp_path / "home")
    made.write("s", talk(SAID))
    if isinstance(made, CodexByHand):
        made.append("s", "world_state", {"full": True, "state": {}})
    return made


@pytest.fixture
def strategy(request: pytest.FixtureRequest) -> str:
    return KINDS[request.node.callspec.params["agent"]][1]


def file_of(agent: Agent) -> Path:
    root = Path(agent.url.split("://", 1)[1])
    [path] = [each for each in root.rglob("*.jsonl") if agent.id_of("s") in each.name]
    return path


@contextmanager
def torn(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """What stands in the file whenever whoever writes to it may be killed: before, in the middle of and behind each
    write.
    """
    found: list[bytes] = []

    def watched(plain: Callable[..., int]) -> Callable[..., int]:
        def write(descriptor: int, data: bytes, *where: int) -> int:
            if os.fstat(descriptor).st_ino != path.stat().st_ino:
                return plain(descriptor, data, *where)
            before = path.read_bytes()
            at = where[0] if where else len(before)
            ends = [place + 1 for place, byte in enumerate(data) if byte == 10]
            for cut in sorted({*range(0, len(data), STEP), *ends, *(end - 1 for end in ends)}):
                found.append(before[:at] + data[:cut] + before[at + cut :])
            return plain(descriptor, data, *where)

        return write

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", watched(os.write))
        patched.setattr(os, "pwrite", watched(os.pwrite))
        yield found
    found.append(path.read_bytes())


def context(agent: Agent) -> Sequence[Any]:
    with opened(agent) as reader:
        return sent(reader, agent.id_of("s"))


@pytest.mark.slow
def test_wherever_a_compaction_is_killed(agent: Agent, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, before = file_of(agent), context(agent)
    with torn(path, monkeypatch) as images:
        compacted(agent, strategy=strategy)
    after = context(agent)
    assert before == heard(talk(SAID)) and after != before
    for number, image in enumerate(images):
        path.write_bytes(image)
        found = context(agent)
        expected = after if image == images[-1] else before
        assert found == expected or is_beside(agent, found, before, after), number
        agent.say("s", NEXT)
        assert context(agent) == [*found, *heard([NEXT])], number


def is_beside(agent: Agent, found: Sequence[Any], before: Sequence[Any], after: Sequence[Any]) -> bool:
    """Claude Code sends each result that answers a call: until the boundary is there, copies that are shorter are sent
    beside the whole ones.
    """
    left = iter(found)
    has_all = isinstance(agent, ClaudeByHand) and all(each in left for each in before)
    return has_all and all(each in before or each in after for each in found)


@pytest.mark.slow
def test_what_a_killed_writer_left_is_compacted_and_undone(
    agent: Agent, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, before = file_of(agent), context(agent)
    with torn(path, monkeypatch) as images:
        compacted(agent, strategy=strategy)
    for image in images[:: max(1, len(images) // 6)]:
        if image == images[-1]:
            continue
        path.write_bytes(image)
        before = context(agent)
        if isinstance(agent, PiByHand):
            agent._age("s")
        compacted(agent, strategy=strategy)
        assert context(agent) != before
        undo(agent)
        assert context(agent) == before


def undo(agent: Agent) -> None:
    session = agent.id_of("s")
    with opened(agent) as reader:
        plan = reader.undo_plan(session, history(reader, session).boundaries[-1])
    with locked(writer_of(store_of(agent)), session):
        writer_of(store_of(agent)).undo(plan, holder=HOLDER)


def test_wherever_an_undo_is_killed(agent: Agent, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of lines that were all there before nothing but what it writes is another."""
    path, before = file_of(agent), context(agent)
    compacted(agent, strategy=strategy)
    after = context(agent)
    with torn(path, monkeypatch) as images:
        undo(agent)
    assert context(agent) == before
    for number, image in enumerate(images):
        path.write_bytes(image)
        found = context(agent)
        assert found in (before, after) or is_beside(agent, found, before, after), number
        agent.say("s", NEXT)
        assert context(agent) == [*found, *heard([NEXT])], number
