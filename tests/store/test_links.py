"""Links in stores that are directories of files: whose are followed, and what is said of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.base import Agent
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.codex.by_hand import CodexByHand
from tests.agents.openclaw.by_hand import stored, talked
from tests.agents.pi.by_hand import PiByHand
from tests.agents.reading import opened, store_of
from tests.agents.talk import talk
from tests.listed import all_ids
from viewer.stores.errors import NotFound
from viewer.stores.jsonl import links
from viewer.stores.registry import remarks

Made = tuple[Agent, Path]  # and a session's file


def claude_code(root: Path) -> Made:
    agent = ClaudeByHand(root)
    agent.write("11111111-1111-4111-8111-111111111111", talk(1))
    return agent, next((root / "projects").rglob("*.jsonl"))


def codex(root: Path) -> Made:
    agent = CodexByHand(root)
    agent.write("11111111-1111-4111-8111-111111111111", talk(1))
    return agent, next((root / "sessions").rglob("*.jsonl"))


def pi(root: Path) -> Made:
    agent = PiByHand(root)
    agent.write("s", talk(1))
    return agent, next((root / "sessions").rglob("*.jsonl"))


def openclaw(root: Path) -> Made:
    agent = stored(root, "file", talked(4))
    return agent, next((root / "agents").rglob("*.jsonl"))


@pytest.fixture(params=[claude_code, codex, pi, openclaw], ids=lambda kind: kind.__name__)
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    links._said.clear()
    build: Callable[[Path], Made] = request.param
    return build(tmp_path / "home")


def ids(agent: Agent) -> list[str]:
    with opened(agent) as reader:
        return all_ids(reader)


def test_nothing_is_said_of_a_store_without_links(made: Made) -> None:
    assert remarks(store_of(made[0])) == [] and len(ids(made[0])) == 1


def test_a_file_that_leads_elsewhere_is_not_read(made: Made, tmp_path: Path) -> None:
    agent, file = made
    (session,) = ids(agent)
    target = tmp_path / "elsewhere.jsonl"
    shutil.move(file, target)
    file.symlink_to(target)
    assert ids(agent) == []
    with opened(agent) as reader, pytest.raises(NotFound):
        reader.live(session)
    (said,) = remarks(store_of(agent))
    assert said == f"{file} is a link to a file elsewhere ({target}), and is not read."


def test_a_file_that_leads_to_one_beside_it_is_read(made: Made) -> None:
    agent, file = made
    target = file.with_name("kept-for-later")
    file.rename(target)
    file.symlink_to(target.name)
    assert len(ids(agent)) == 1 and remarks(store_of(agent)) == []


def test_a_directory_that_its_owner_linked_is_read_and_said(made: Made, tmp_path: Path) -> None:
    agent, file = made
    (session,) = ids(agent)
    home, target = file.parent, tmp_path / "moved"
    shutil.move(home, target)
    home.symlink_to(target)
    assert ids(agent) == [session]
    with opened(agent) as reader:
        assert len(reader.live(session)) >= 4
    assert remarks(store_of(agent)) == [f"{home} is a link: what lies in {target} is read as if it lay there."]


def test_a_link_back_ends(made: Made) -> None:
    agent, file = made
    (file.parent / "back").symlink_to(file.parent)
    os.utime(file.parent, (1, 1))
    assert len(ids(agent)) == 1
