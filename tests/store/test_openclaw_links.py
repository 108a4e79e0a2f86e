"""Entries of OpenClaw's that nothing links to, and entries that are not known: shown, and not written to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.base import Line
from tests.agents.openclaw.by_hand import HEADER, OpenClawByHand, stored, talked
from tests.agents.reading import history, opened, store_of
from viewer.stores.errors import StoreReadOnly
from viewer.stores.registry import writer_of


@pytest.fixture(params=["file", "database"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def refusal(agent: OpenClawByHand) -> str:
    with opened(agent) as reader:
        found = reader.refusal("s")
        return found.message if found else ""


def states(agent: OpenClawByHand) -> dict[str, str]:
    """Of each message that History shows, its words and its state."""
    with opened(agent) as reader:
        index = history(reader, "s")
        items = reader.shown("s", index.stretch(0, index.messages).items)
        return {str(getattr(item, "content", "|")): item.entry.state for item in items}  # type: ignore[union-attr]


@pytest.mark.parametrize("parent", ["gone", "e9", 7])
def test_a_link_to_nothing(tmp_path: Path, form: str, parent: Any) -> None:
    entries = talked(10)
    entries[6]["parentId"] = parent
    agent = stored(tmp_path / "home", form, entries)
    reason = refusal(agent)
    assert reason and "It is not compacted." in reason or "is not changed" in reason
    if parent == "gone":
        assert states(agent) == {f"words{at}": "live" if at > 5 else "lost" for at in range(10)}
        assert "6 of its messages are not reached" in reason and "OpenClaw does not send them" in reason
        with opened(agent) as reader:
            assert reader.abandoned("s") == [], "nobody went back"
            found = reader.searchable("s", "")
            assert found is not None and [each.text for each in found.messages] == [f"words{at}" for at in range(10)]
            assert reader.refusal("s", "branch") is None, "of what is there"
    with pytest.raises(StoreReadOnly):
        writer_of(store_of(agent)).apply("s", {"ids": [], "digest": ""}, (), mode="in_place", holder="h", now=1.0)


@pytest.mark.parametrize("parent", ["e5", "e0"])
def test_entries_in_a_circle(tmp_path: Path, form: str, parent: str) -> None:
    entries = talked(6)
    entries[0]["parentId"] = parent
    agent = stored(tmp_path / "home", form, entries)
    assert "have no beginning" in refusal(agent)
    assert len(states(agent)) == 6


def test_a_damaged_entry_cuts(tmp_path: Path, form: str) -> None:
    agent = stored(tmp_path / "home", form, talked(8))
    if form == "database":
        agent.sql("UPDATE transcript_events SET event_json = substr(event_json, 1, 40) WHERE seq = 4")
    else:
        path = tmp_path / "home" / "agents" / "main" / "sessions" / "s.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join([*lines[:4], lines[4][:40] + "\n", *lines[5:]]))
    assert states(agent) == {f"words{at}": "live" if at > 3 else "lost" for at in range(8) if at != 3}
    said = "its entry number 4 is no JSON object" if form == "database" else "3 of its messages are not reached"
    assert said in refusal(agent)


NOVEL = {"type": "context_reset", "timestamp": "2026-07-01T10:01:00.000Z"}


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        (NOVEL | {"id": "n", "parentId": "e3"}, "an entry of the type “context_reset”"),
        (NOVEL | {"id": "n", "parentId": None}, "an entry of the type “context_reset”"),
        (NOVEL, "an entry of the type “context_reset”"),
        ({**talked(5)[4], "message": {"role": "narrator", "content": "x"}}, "a message of the role “narrator”"),
        ({"type": "compaction", "id": "n", "parentId": "e3"}, "an entry of the type “compaction” without all"),
        ({"type": 7, "id": "n", "parentId": "e3"}, "an entry of the type “7”"),
        (NOVEL | {"id": "n", "parentId": "left1"}, ""),
    ],
)
def test_what_is_not_known_is_not_written_to(tmp_path: Path, form: str, entry: Line, what: str) -> None:
    left = [{**talked(2)[at], "id": f"left{at}", "parentId": f"left{at - 1}" if at else "e1"} for at in (0, 1)]
    agent = stored(tmp_path / "home", form, [*talked(2), *left, entry, *talked(4)[2:]])
    reason = refusal(agent)
    assert reason.startswith(f"This session has {what}" if what else "") and bool(reason) == bool(what)
    with opened(agent) as reader:
        assert bool(reader.refusal("s", "branch")) == bool(what)
        assert len(reader.live("s")) >= 4 and reader.raw("s", before=None, limit=100)


def test_a_newer_form(tmp_path: Path, form: str) -> None:
    agent = stored(tmp_path / "home", form, talked(4), HEADER | {"version": 5})
    assert "newer than those that are known" in refusal(agent)
