"""OpenCode's rows with any field malformed: each is shown as it is, and none stops a reader."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.agents.opencode.by_hand import MODEL, TOKENS, OpenCodeByHand
from tests.agents.reading import opened, sent
from tests.agents.talk import heard, talk
from tests.slow import slow
from tests.store.malformed import ask_everything, variants
from viewer.stores.opencode.reader import forget

STATE = {"status": "completed", "input": {"a": 1}, "output": "x", "title": "t", "time": {"start": 1, "end": 2},
         "metadata": {"exit": 0, "sessionId": "ses_x", "diff": "+a"},
         "attachments": [{"type": "file", "mime": "image/png", "url": "data:image/png;base64,AA=="}]}  # fmt: skip
PARTS: list[dict[str, Any]] = [
    {"type": "text", "text": "a", "synthetic": False, "ignored": False, "time": {"start": 1}},
    {"type": "reasoning", "text": "b", "metadata": {}},
    {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64,AA=="},
    {"type": "tool", "tool": "task", "callID": "c", "state": STATE},
    {"type": "tool", "tool": "bash", "callID": "d", "state": {"status": "error", "input": {}, "error": "no"}},
    {"type": "compaction", "auto": False, "tail_start_id": "msg_x"},
    {"type": "subtask", "prompt": "p", "description": "d", "agent": "a"},
    {"type": "step-finish", "reason": "stop", "tokens": TOKENS, "cost": 0.5},
]
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "time": {"created": 1}, "agent": "build", "model": MODEL, "summary": {"diffs": []}},
    {"role": "assistant", "parentID": "x", "mode": "compaction", "agent": "compaction", "summary": True, "cost": 0.5,
     "path": {"cwd": "/w", "root": "/w"}, "tokens": TOKENS, "modelID": "m", "providerID": "p", "finish": "stop",
     "time": {"created": 1, "completed": 2}, "error": {"name": "APIError", "data": {}}},
]  # fmt: skip
ROWS = [*PARTS, *MESSAGES]


@pytest.fixture
def agent(tmp_path: Path) -> OpenCodeByHand:
    made = OpenCodeByHand(tmp_path / "opencode")
    made.write("s", talk(1))
    made.compaction("s", "So far.")
    made.write("other", talk(1))
    made.message("s", MESSAGES[0] | {}, [])
    made.reply("s", PARTS)
    return made


def put(agent: OpenCodeByHand, at: int, data: Any) -> None:
    """Write it into one of the newest rows."""
    table, later = ("part", len(PARTS) - at) if at < len(PARTS) else ("message", len(ROWS) - 1 - at)
    forget()
    agent.sql(f"UPDATE {table} SET data = ? WHERE rowid = (SELECT max(rowid) FROM {table}) - {later}", data)


@pytest.mark.parametrize("step", [61, *slow(7)])
def test_rows_with_any_field_malformed(agent: OpenCodeByHand, step: int) -> None:
    failed: list[str] = []
    for variant in islice(variants(ROWS), 0, None, step):
        put(agent, variant.at, json.dumps(variant.records[variant.at]))
        try:
            with opened(agent) as reader:
                ask_everything(reader, "s")
        except Exception as problem:  # all of them are wanted at once
            failed.append(f"{variant.says}: {problem!r}"[:300])
        put(agent, variant.at, json.dumps(ROWS[variant.at]))
    assert not failed, "\n".join(failed[:40])
    with opened(agent) as reader:
        assert sent(reader, "other") == heard(list(talk(1)))


@pytest.mark.parametrize("data", ["", "{broken", "[]", "null", b"\xff\xfe", b"{}", "{}\0", "x" * 1_000_000, 5])
@pytest.mark.parametrize("at", [0, len(PARTS)])
def test_rows_that_are_no_object(agent: OpenCodeByHand, data: Any, at: int) -> None:
    put(agent, at, data)
    with opened(agent) as reader:
        ask_everything(reader, "s")
        refusal = reader.refusal("s")
        assert refusal is not None and "not known here" in refusal.message


@pytest.mark.parametrize("column", ["title", "model", "revert", "directory", "version", "time_created", "time_updated"])
def test_columns_of_a_session(agent: OpenCodeByHand, column: str) -> None:
    for value in ("", "{", b"\xed\xa0\x80", b"\xff", -1, 2**62, 1e300, "a\0b", "[1]", '{"id": 5}'):
        agent.sql(f"UPDATE session SET {column} = ? WHERE id = 's'", value)
        with opened(agent) as reader:
            ask_everything(reader, "s")
