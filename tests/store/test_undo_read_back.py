"""An undo in a session's file is read back: what is not what was meant is not left there."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agents.base import Agent
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.codex.by_hand import CodexByHand
from tests.agents.openclaw.by_hand import OpenClawFilesByHand
from tests.agents.pi.by_hand import PiByHand
from tests.agents.reading import history, opened, sent, store_of
from tests.agents.talk import talk
from tests.agents.writing import compacted
from tests.factories.locks import HOLDER, locked
from tests.slow import slow
from viewer.stores.changes import UndoPlan
from viewer.stores.errors import NotUndoable, StoreUnavailable
from viewer.stores.jsonl.append import UNDO_NOT_AS_MEANT, Appending
from viewer.stores.registry import writer_of

KINDS: dict[str, Callable[[Path], Agent]] = {
    "claude-code": ClaudeByHand, "codex": CodexByHand, "openclaw-files": OpenClawFilesByHand, "pi": PiByHand,
}  # fmt: skip
SINCE = [{"role": "user", "content": "And now?"}, {"role": "assistant", "content": "Now it is done."}]


@pytest.fixture(params=KINDS)
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Agent:
    """An agent with a session that was compacted and went on."""
    made = KINDS[request.param](tmp_path / "home")
    made.write("s", talk(8))
    compacted(made)
    for message in SINCE:
        made.say("s", message)
    return made


def planned(agent: Agent) -> UndoPlan:
    with opened(agent) as reader:
        session = agent.id_of("s")
        return reader.undo_plan(session, history(reader, session).boundaries[-1])


def undo(agent: Agent, plan: UndoPlan) -> None:
    writer = writer_of(store_of(agent))
    with locked(writer, agent.id_of("s")):
        writer.undo(plan, holder=HOLDER)


def context(agent: Agent) -> Sequence[Any]:
    with opened(agent) as reader:
        return sent(reader, agent.id_of("s"))


def files(agent: Agent) -> dict[Path, bytes]:
    """The lines of its files, with none that are blank."""
    root = Path(agent.url.split("://", 1)[1])
    return {path: path.read_bytes().rstrip(b" \n") for path in root.rglob("*.jsonl")}


def test_what_does_not_read_back_is_put_in_effect_again(agent: Agent) -> None:
    plan, before, bytes_before = planned(agent), context(agent), files(agent)
    assert len(plan.what.live) > len(before)
    meant = replace(plan, what=replace(plan.what, live=plan.what.live[1:]))
    with pytest.raises(NotUndoable, match=UNDO_NOT_AS_MEANT[:40]):
        undo(agent, meant)
    assert (context(agent), files(agent)) == (before, bytes_before)


def reading(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Something happens when an undo is about to be read back."""
    real = Appending.read_back

    def read_back(opened: Appending, live: Callable[[], Sequence[int]], meant: Sequence[int]) -> None:
        def late() -> Sequence[int]:
            act()
            return live()

        real(opened, late, meant)

    monkeypatch.setattr(Appending, "read_back", read_back)


def test_what_cannot_be_read_back_is_put_in_effect_again(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise StoreUnavailable("It is away.")

    plan, before, bytes_before = planned(agent), context(agent), files(agent)
    reading(monkeypatch, fail)
    with pytest.raises(StoreUnavailable, match="It is away"):
        undo(agent, plan)
    assert (context(agent), files(agent)) == (before, bytes_before)


def test_what_the_agent_writes_meanwhile_is_its_own_matter(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(agent)
    reading(monkeypatch, lambda: agent.say("s", SINCE[0]))
    undo(agent, plan)
    assert len(context(agent)) == len(plan.what.live) + 1


@pytest.mark.parametrize("nanoseconds", [1_000_000, *slow(2_000_000_000)])
def test_where_times_of_files_are_coarse(agent: Agent, monkeypatch: pytest.MonkeyPatch, nanoseconds: int) -> None:
    real = os.utime

    def utime(path: Any, *, ns: tuple[int, int]) -> None:
        real(path, ns=(ns[0], ns[1] // nanoseconds * nanoseconds))

    for path in files(agent):
        os.utime(path, ns=(0, path.stat().st_mtime_ns // nanoseconds * nanoseconds))
    monkeypatch.setattr(os, "utime", utime)
    plan = planned(agent)
    undo(agent, plan)
    assert len(context(agent)) == len(plan.what.live)
