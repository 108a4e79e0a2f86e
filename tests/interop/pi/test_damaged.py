"""Of files that are damaged at random, what we say that is sent is what the real pi builds of them; where pi does not
open one, it is not compacted. And whatever is said in any line of a file is in History, or was left by going back.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents import chat_views
from tests.agents.base import Json
from tests.agents.pi.by_hand import PiByHand
from tests.agents.reading import history, opened
from tests.interop.chat_service import ChatService
from tests.interop.fetched import NotInstalled
from viewer.stores.jsonl.lines import lines_from
from viewer.stores.message import StoredMessage
from viewer.stores.reader import Reader

from .client import NEWEST, PiClient, program
from .damaged import damaged

COUNT = 120  # files


@pytest.fixture
def client(tmp_path: Path) -> PiClient:
    """An older client does not know the edits that are in these files."""
    try:
        found = program(NEWEST)
    except NotInstalled as missing:
        pytest.skip(f"pi is not here: {missing}")
    with ChatService() as model:
        return PiClient(found, tmp_path / "pi", model)


def test_files_that_are_damaged_at_random(client: PiClient, tmp_path: Path) -> None:
    agent = PiByHand(tmp_path / "ours")
    files, copies = ([place / f"{seed}.jsonl" for seed in range(COUNT)] for place in (agent.directory, client.place))
    for seed in range(COUNT):
        files[seed].write_bytes(damaged(seed))
        copies[seed].write_bytes(damaged(seed))
    compacted = 0
    for seed, built in enumerate(client.contexts(*copies)):
        with opened(agent) as reader:
            refusal = reader.refusal(str(seed))
            compacted += refusal is None
            if "error" in built:
                assert refusal is not None, (seed, built["error"])
            else:
                assert _is_same(built["messages"], reader.live(str(seed))), seed
            assert _said_in(files[seed]) <= _shown(reader, str(seed)), seed
    assert COUNT / 4 < compacted < COUNT, "some of them are refused, and not all"


def _is_same(messages: list[Json], rows: list[StoredMessage]) -> bool:
    """Whether both say the same. Where a cut has left a part of a message that no service takes, they are as many."""
    try:
        theirs, ours = chat_views.of_context(messages, unasked=True), chat_views.of_rows(rows)
    except (KeyError, TypeError):
        return len([each for each in messages if each["role"] != "system"]) == len(rows)
    return theirs == ours


def _said_in(file: Path) -> set[str]:
    """The texts of all messages that can be found in a file."""
    with file.open("rb") as lines:
        objects = [line.object for line in lines_from(lines, 0) if line.is_whole and line.object is not None]
    messages = [each.get("message") for each in objects if each.get("type") == "message"]
    contents = [each.get("content") for each in messages if isinstance(each, dict)]
    parts = [content[0] for content in contents if isinstance(content, list) and content]
    return {part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)}


def _shown(reader: Reader, session_id: str) -> set[str]:
    ids = {entry.full_id for entry in history(reader, session_id).entries}
    ids.update(each for branch in reader.abandoned(session_id) for each in branch.ids)
    contents = [row.content for row in reader.messages(session_id, sorted(ids)).values()]
    texts = [each if isinstance(each, str) else each[0]["text"] for each in contents if each]
    return {str(each) for each in texts}
