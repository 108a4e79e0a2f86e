"""pi's entries with any field malformed: each is shown as it is, and none stops a reader or hides another session."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from tests.agents.base import Line
from tests.agents.pi.by_hand import HEADER, PiByHand, entry, said
from tests.agents.reading import opened, shown, store_of
from tests.agents.talk import talk
from tests.slow import slow
from tests.store.malformed import ask_everything, variants
from viewer.stores.registry import agent_of

CALL = {"id": "call_1/1", "name": "read", "status": "ok", "arguments": {"path": "AGENTS.md"}, "durationMs": 2.5}
PICTURE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
# In a row, each of another type or role.
ENTRIES: list[Line] = [
    HEADER | {"parentSession": "/home/user/2026-11-26T10-00-00-000Z_old.jsonl"},
    entry("a1", None, "model_change", provider="p", modelId="m"),
    entry("a2", "a1", "thinking_level_change", thinkingLevel="off"),
    entry("a3", "a2", message={"role": "system", "content": "", "sections": [{"id": "role", "text": "You are pi."}]}),
    entry("a4", "a3", message={"role": "user", "content": [{"type": "text", "text": "See"}, PICTURE], "timestamp": 1}),
    entry("a5", "a4", message=said(talk(1)[1]) | {"durationMs": 9, "thinkingLevel": "off"}),
    entry(
        "a6", "a5", message=said({"role": "tool", "content": "Done.", "tool_call_id": "c"})
        | {"nestedCalls": {"calls": [CALL], "complete": True}, "details": {"calls": [CALL]}},
    ),
    entry("a7", "a6", message={"role": "bashExecution", "command": "ls", "output": "x", "exitCode": 1}),
    entry("a8", "a7", message={"role": "custom", "customType": "x", "content": "Mind.", "display": True}),
    entry("a9", "a8", "custom_message", customType="palimpsest.pruned", content="Shorter.", palimpsest={"mark": "m"}),
    entry("b1", "a9", "context_edit", targetId="a4", replacement={"content": [{"type": "text", "text": "shorter"}]}),
    entry("b2", "b1", "branch_summary", fromId="a4", summary="We tried."),
    entry("b3", "b2", "custom", customType="palimpsest.undone", data={"a": 1}),
    entry("b4", "b3", "compaction", summary="So far.", firstKeptEntryId="a8", tokensBefore=9, systemMessage={}),
    entry("b5", "b4", "label", targetId="a4", label="here"),
    entry("b6", "b5", "session_info", name="Beds"),
    entry("b7", "b6", "usage", kind="cache_warm", provider="p", model="m", usage={"input": 5, "cost": {"total": 1}}),
    entry("b8", "b7"),
]  # fmt: skip
EACH, STEP = list(variants(ENTRIES)), 80


def write(path: Path, lines: list[Line]) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8", errors="surrogatepass")


@pytest.mark.parametrize("start", [0, *slow(*range(3, STEP, 11))])
def test_no_entry_stops_a_reader(tmp_path: Path, start: int) -> None:
    """One of so many variants each time, in files of their own beside a whole session."""
    agent = PiByHand(tmp_path / "pi")
    some = list(islice(EACH, start, None, STEP))
    for number, variant in enumerate(some):
        write(agent.directory / f"{number}.jsonl", variant.records)
    write(agent.directory / "whole.jsonl", ENTRIES)
    with opened(agent) as reader:
        assert len(reader.listing.sessions([each.id for each in reader.listing.files()])) == len(some) + 1  # type: ignore[attr-defined]
        for number, variant in enumerate(some):
            try:
                ask_everything(reader, str(number))
                agent_of(store_of(agent)).resume_command(str(number))
                raw = reader.raw(str(number), before=None, limit=100)
            except Exception as problem:
                raise AssertionError(variant.says) from problem
            assert len(raw) == len(ENTRIES), variant.says
        assert shown(reader, "whole")[-1] == "b8"
        assert reader.searchable("whole", "") is not None
