"""Pictures and marks of files that OpenClaw sends for some turns and no longer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.openclaw.by_hand import OpenClawByHand, stored, talked
from tests.agents.reading import history, opened
from viewer.stores.openclaw.codec import FILE, PICTURE

SEEN = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}


def words_of(content: Any) -> list[str]:
    """The parts of a content in words."""
    if isinstance(content, str):
        return [content]
    return [part.get("text", part["type"]) for part in content]


def with_pictures(root: Path, turns: int, **of_last: Any) -> OpenClawByHand:
    """So many turns, each with a picture in the request; the last entry is changed."""
    entries = talked(2 * turns)
    for at in range(0, 2 * turns, 2):
        entries[at]["message"]["content"] = [{"type": "text", "text": f"words{at}"}, SEEN]
    entries[-1]["message"].update(of_last)
    return stored(root, "file", entries)


@pytest.mark.parametrize(("turns", "removed"), [(1, 0), (3, 0), (4, 1), (5, 2), (9, 6)])
def test_pictures_of_all_but_three_completed_turns(tmp_path: Path, turns: int, removed: int) -> None:
    agent = with_pictures(tmp_path / "home", turns)
    with opened(agent) as reader:
        live = [row for row in reader.live("s") if row.role == "user"]
        assert [words_of(row.content)[1] for row in live] == [PICTURE] * removed + ["image"] * (turns - removed)
        assert reader.basis("s").messages == reader.live("s"), "a plan counts what is sent"
        index = history(reader, "s")
        shown = reader.shown("s", index.stretch(0, index.messages).items)
        assert all("image" in words_of(item.row.content) for item in shown[::2]), "History has all of them"


def test_within_a_turn_nothing_moves(tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "c", "name": "read", "arguments": {}}
    agent = with_pictures(tmp_path / "home", 5, content=[call], stopReason="toolUse")
    with opened(agent) as reader:
        live = [row for row in reader.live("s") if row.role == "user"]
        assert [words_of(row.content)[1] for row in live] == [PICTURE, *["image"] * 4]


def test_marks_of_files_and_pictures_of_tools(tmp_path: Path) -> None:
    entries = talked(12)
    entries[0]["message"]["content"] = "[media attached 1/2: /w/a.png (image/png)] look, [image: source: /w/b.png]"
    call = {"type": "toolCall", "id": "c", "name": "read", "arguments": {}}
    entries[1]["message"] |= {"content": [call], "stopReason": "toolUse"}
    entries[2]["message"] = {"role": "toolResult", "toolCallId": "c", "toolName": "read", "isError": False,
                             "content": [{"type": "text", "text": "see media://inbound/x.jpg"}, SEEN]}  # fmt: skip
    agent = stored(tmp_path / "home", "file", entries)
    with opened(agent) as reader:
        live = reader.live("s")
        assert live[0].content == f"{FILE} look, {FILE}"
        assert words_of(live[2].content) == [f"see {FILE}", PICTURE]
        assert [row.content for row in live[3:]] == [f"words{at}" for at in range(3, 12)]
