"""pi's files that break: torn, too long, of wrong types, in a circle, replaced while somebody reads."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.agents.pi.by_hand import PiByHand, agent, ask, said, session_id
from tests.agents.reading import history, opened, sent, shown, store_of
from tests.agents.talk import talk
from viewer.stores.errors import NotFound
from viewer.stores.jsonl.lines import LONGEST
from viewer.stores.registry import version_of

__all__ = ["agent", "session_id"]  # fixtures


def test_lines_that_are_none(agent: PiByHand, session_id: str) -> None:
    ask(agent, "one")
    path = agent.path("s")
    lone = b'{"type":"message","id":"\\ud800","parentId":7,"message":{"role":"user","content":"lone \\ud83d"}}\n'
    odd = b"not json\n[1]\n" + lone
    nul = b'{"type":"message","id":"n","parentId":null,"message":{"role":"user","content":"a\\u0000b"}}\x00\n'
    path.write_bytes(path.read_bytes() + odd + nul + b'{"type":"message","id":"torn","parentId":')
    with opened(agent) as reader:
        raw = reader.raw(session_id, before=None, limit=50)
        damaged = "damaged, so that the client does not read it"
        said = [row.extra["line"] for row in raw if "line" in row.extra]
        assert said == ["no JSON object", "no JSON object", damaged]
        assert any("not json" in str(row.content) for row in raw)
        assert history(reader, session_id).messages
        reader.session(session_id), reader.usage(session_id), reader.abandoned(session_id)
        assert reader.searchable(session_id, "") is not None


def test_a_torn_line_is_read_when_it_is_whole(agent: PiByHand, session_id: str) -> None:
    whole = json.dumps(agent.append("s", "message", message=said({"role": "user", "content": "at last"})))
    path = agent.path("s")
    data = path.read_bytes()
    path.write_bytes(data[: -len(whole) // 2])
    with opened(agent) as reader:
        assert sent(reader, session_id) == []
    path.write_bytes(data)
    with opened(agent) as reader:
        assert sent(reader, session_id) == [("user", "at last")]


@pytest.mark.slow
def test_a_line_that_is_too_long(agent: PiByHand, session_id: str) -> None:
    ask(agent, "one")
    ask(agent, "x" * LONGEST)
    ask(agent, "two")
    with opened(agent) as reader:
        assert ("user", "two") in sent(reader, session_id)
        raw = reader.raw(session_id, before=None, limit=2)
        assert raw[0].role == "message" and len(str(raw[0].content)) <= 20_000
        one, long, two = sent(reader, session_id)
        assert (one, two) == (("user", "one"), ("user", "two"))
        assert "Too long to show: 32,000,000 bytes" in long[1] and len(long[1]) < 2_000
        assert shown(reader, session_id) == ["one", long[1], "two"]
        assert reader.refusal(session_id) is None
        assert [each.state for each in history(reader, session_id).entries] == ["live"] * 3


def test_a_circle_ends(agent: PiByHand, session_id: str) -> None:
    for name, parent in (("a", "c"), ("b", "a"), ("c", "b")):
        agent.append("s", "message", id=name, parentId=parent, message=said({"role": "user", "content": name}))
    with opened(agent) as reader:
        assert [content for _, content in sent(reader, session_id)] == ["a", "b", "c"]
        names = [
            each.name for each in reader.additions(session_id, [row.id for row in reader.live(session_id)], end=True)
        ]
        assert "entries in a circle" in names


def test_odd_types_everywhere(agent: PiByHand, session_id: str) -> None:
    """Every field of a wrong type, one after the other: nothing raises, and every line is shown."""
    good = agent.append("s", "message", message=said(talk(1)[1]))
    tries: list[Any] = [None, 7, 1e308, "x", [], {}, [None], [[]], {"a": {"b": None}}, True]
    for field in (*good, "summary", "firstKeptEntryId", "targetId", "replacement"):
        for value in tries:
            agent.append("s", good["type"], **({"message": good["message"]} | {field: value}))
    for field in good["message"]:
        for value in tries:
            agent.append("s", "message", message=good["message"] | {field: value})
    lines = len(agent.path("s").read_text().splitlines())
    with opened(agent) as reader:
        assert len(reader.raw(session_id, before=None, limit=10_000)) == lines
        history(reader, session_id), reader.usage(session_id), reader.abandoned(session_id)
        reader.session(session_id), reader.live(session_id), reader.searchable(session_id, "")
        reader.messages(session_id, list(history(reader, session_id).ids))


def test_a_file_that_goes_or_is_replaced(agent: PiByHand, session_id: str) -> None:
    ask(agent, "one")
    store, path = store_of(agent), agent.path("s")
    versions = {version_of(store), version_of(store, session_id)}
    draft = path.with_suffix(".new")
    draft.write_bytes(path.read_bytes().replace(b"one", b"eno"))
    os.replace(draft, path)
    with opened(agent) as reader:
        assert sent(reader, session_id) == [("user", "eno")]
    assert not versions & {version_of(store), version_of(store, session_id)}
    with opened(agent) as reader:
        path.unlink()
        with pytest.raises(NotFound):
            reader.live(session_id)
    with opened(agent) as reader, pytest.raises(NotFound):
        reader.session("../../etc/passwd")
