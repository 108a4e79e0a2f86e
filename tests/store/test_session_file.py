"""A session's file on its own gives the messages that its agent's store gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.claude_code.recorded import RECORDED as CLAUDE
from tests.agents.codex.recorded import RECORDED as CODEX
from tests.agents.gemini.by_hand import RECORDED as GEMINI
from tests.agents.pi.by_hand import PiByHand
from tests.agents.qwen.by_hand import RECORDED as QWEN
from tests.agents.talk import talk
from tests.listed import newest_ids
from viewer.stores.base import Store
from viewer.stores.message import message_of
from viewer.stores.registry import open_store
from viewer.stores.session_file import messages_of

ROOTS = {"claude-code": CLAUDE, "codex": CODEX}
FILES = sorted((kind, path) for kind, root in ROOTS.items() for path in root.rglob("*.jsonl"))
IN_TWO = {path for _, path in FILES if b'"history_base"' in path.read_bytes()}
# One of Codex was cut off by an undo, which the file behind it says.
WHOLE = [(kind, path) for kind, path in FILES if path not in IN_TWO and "reverted" not in str(path)]


def home_of(kind: str, path: Path) -> Path:
    room = "projects" if kind == "claude-code" else "sessions"
    return next(each.parent for each in path.parents if each.name == room)


@pytest.mark.parametrize(("kind", "path"), WHOLE, ids=lambda each: getattr(each, "stem", each))
def test_a_recorded_file(kind: str, path: Path) -> None:
    found = messages_of(path.read_bytes())
    with open_store(Store("work", f"{kind}://{home_of(kind, path)}", "configured")) as reader:
        assert found in [list(map(message_of, reader.live(each.id))) for each in reader.listing.all()]  # type: ignore[attr-defined]
    assert found


@pytest.mark.parametrize("path", sorted(IN_TWO), ids=lambda path: path.name)
def test_a_file_that_goes_on_from_another_one_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="goes on from another one"):
        messages_of(path.read_bytes())


@pytest.mark.parametrize("kind", ["pi", "openclaw"])
def test_a_file_of_entries(tmp_path: Path, kind: str) -> None:
    agent = PiByHand(tmp_path / "pi")
    agent.write("s", talk(4))
    path, session = agent.path("s"), agent.id_of("s")
    if kind == "openclaw":
        directory = tmp_path / "openclaw" / "agents" / "main" / "sessions"
        directory.mkdir(parents=True)
        path = path.rename(directory / f"{session}.jsonl")
    with open_store(Store("work", f"{kind}://{tmp_path / kind}", "configured")) as reader:
        assert messages_of(path.read_bytes()) == list(map(message_of, reader.live(session))) != []


@pytest.mark.parametrize(
    "lines",
    [
        [], [{}], [{"type": "session"}], [{"type": "session", "id": "../x", "version": 3}], [{"role": "user"}],
        [{"sessionId": "s"}], [{"type": "session_meta", "payload": {"id": 7}}], [[1]],
    ],
)  # fmt: skip
def test_what_no_agent_wrote_is_refused(lines: list[object]) -> None:
    for data in ("\n".join(map(json.dumps, lines)), "\n".join(map(json.dumps, lines)) + "\n{"):
        with pytest.raises(ValueError, match="no session of an agent"):
            messages_of(data.encode())


@pytest.mark.parametrize(("kind", "home"), [("gemini", GEMINI), ("qwen", QWEN)])
@pytest.mark.parametrize("scenario", ["auto", "compressed", "rewound"])
def test_a_file_that_is_parsed_whole(kind: str, home: Path, scenario: str) -> None:
    path = max((home / scenario).rglob("chats/*.jsonl"), key=lambda each: each.stat().st_size)
    with open_store(Store("work", f"{kind}://{home / scenario}", "configured")) as reader:
        (session_id,) = newest_ids(reader)
        assert messages_of(path.read_bytes()) == list(map(message_of, reader.live(session_id)))
