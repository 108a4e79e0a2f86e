"""When a session of files was active last: by what was written in it, not by when somebody copied its file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.codex.by_hand import CodexByHand
from tests.agents.openclaw.by_hand import OpenClawByHand
from tests.agents.pi.by_hand import PiByHand
from tests.agents.talk import talk
from tests.listed import activity_of
from viewer.stores.base import Session, Store
from viewer.stores.registry import open_store

THEN = "2026-02-03T04:05:06.000Z"
AT = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC).timestamp()
KINDS = [ClaudeByHand, CodexByHand, PiByHand]


def seen(agent: ClaudeByHand | CodexByHand | PiByHand | OpenClawByHand) -> tuple[Session, float]:
    """The session, and when the list says that it was active."""
    with open_store(Store("s", agent.url, "configured")) as reader:
        session_id = agent.id_of("s")
        return reader.session(session_id), activity_of(reader, session_id).last_active


def file_of(agent: ClaudeByHand | CodexByHand | PiByHand) -> Path:
    return agent._path("s") if isinstance(agent, ClaudeByHand) else agent.path(agent.id_of("s"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_copied_file_is_as_old_as_its_newest_entry(
    kind: Callable[[Path], ClaudeByHand | CodexByHand | PiByHand], tmp_path: Path
) -> None:
    agent = kind(tmp_path / "home")
    agent.write("s", talk(2))
    session, listed = seen(agent)
    assert session.active and session.last_active == listed  # just written
    path = file_of(agent)
    path.write_text(re.sub(r'"timestamp": ?"[^"]+"', f'"timestamp": "{THEN}"', path.read_text()))
    session, listed = seen(agent)
    assert not session.active and session.last_active == listed == AT


def test_the_time_is_found_before_a_long_line_without_one(tmp_path: Path) -> None:
    agent = ClaudeByHand(tmp_path / "home")
    agent.write("s", talk(1))
    path = agent._path("s")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[-1]["timestamp"] = THEN
    lines.append({"type": "last-prompt", "lastPrompt": "x" * 200_000})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    session, listed = seen(agent)
    assert session.last_active == listed == AT


def test_a_session_that_went_elsewhere_is_of_the_directory_where_it_began(tmp_path: Path) -> None:
    agent = ClaudeByHand(tmp_path / "home")
    agent.write("s", talk(1))
    path, lines = agent._path("s"), agent.lines("s")
    lines[-1]["cwd"] = "/home/user/work/deep/inside"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert seen(agent)[0].cwd == "/home/user/work"
    for line in lines:
        line["cwd"] = "/srv/moved"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert seen(agent)[0].cwd == "/srv/moved", "where the directory's own name says nothing"


def test_a_row_of_a_database_has_its_own_time(tmp_path: Path) -> None:
    agent = OpenClawByHand(tmp_path / "home")
    agent.write("s", talk(1))
    agent.sql(
        "UPDATE transcript_events SET event_json = json_set(event_json, '$.timestamp', ?) WHERE event_json IS NOT NULL",
        THEN,
    )
    session, listed = seen(agent)
    assert session.last_active == listed == AT
