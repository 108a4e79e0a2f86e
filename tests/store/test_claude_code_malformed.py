"""Claude Code's records with any field malformed: each is shown as it is, and none stops a reader."""

from __future__ import annotations

import json
import os
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude_code.by_hand import ClaudeByHand, agent, reader
from tests.agents.talk import talk
from tests.slow import slow
from tests.store.malformed import ask_everything, variants
from viewer.stores.reader import Reader
from viewer.stores.registry import agent_of

__all__ = ["agent", "reader"]

Line = dict[str, Any]
USAGE = {
    "input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20,
    "cache_creation": {"ephemeral_1h_input_tokens": 5}, "speed": "fast", "service_tier": "batch",
    "server_tool_use": {"web_search_requests": 1},
}  # fmt: skip
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
KEPT = ["u1", "a1"]


def said(role: str, content: Any, **more: Any) -> Line:
    return {"type": role, "message": {"role": role, "content": content, **more}}


def reply(*blocks: Any) -> Line:
    return said("assistant", list(blocks), id="msg_1", model="claude-opus-4-8", stop_reason="end_turn", usage=USAGE)


def result(content: Any, **more: Any) -> Line:
    return said("user", [{"type": "tool_result", "tool_use_id": "t1", "content": content}]) | more


# In a row, each behind the one before that has an id.
RECORDS: list[Line] = [
    {"type": "ai-title", "aiTitle": "Harbour"},
    said("user", "Look at the harbour.") | {"uuid": "u0", "isMeta": False, "isSidechain": False},
    reply({"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"}, {"type": "text", "text": "I look."})
    | {"uuid": "a0"},
    reply({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}) | {"uuid": "a0t"},
    result(
        [{"type": "text", "text": "boats"}, PICTURE], toolUseResult={"agentId": "a1b2", "stdout": "boats"}, uuid="r0"
    ),
    said("user", [{"type": "text", "text": "And the pier?"}, PICTURE]) | {"uuid": "u1"},
    reply({"type": "text", "text": "It stands."}) | {"uuid": "a1"},
    {
        "type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "logicalParentUuid": "a1",
        "content": "Conversation compacted", "timestamp": "2026-11-22T15:25:51.749Z",
        "compactMetadata": {
            "trigger": "auto", "preTokens": 100, "postTokens": 20,
            "preservedMessages": {"anchorUuid": "s", "uuids": KEPT, "allUuids": KEPT},
            "preservedSegment": {"headUuid": "u1", "anchorUuid": "s", "tailUuid": "a1"},
            "palimpsest": {"id": "m", "copies": ["c"]},
        },
    },
    said("user", "This session is being continued. Summary: boats.")
    | {"uuid": "s", "isCompactSummary": True, "summarizeMetadata": {"direction": "up_to", "messagesSummarized": 4}},
    {"type": "attachment", "uuid": "q", "attachment": {"type": "queued_command", "prompt": "Hurry."}},
    {
        "type": "attachment", "uuid": "d", "renderedRole": "system", "attachment": {"type": "date", "date": "today"},
        "rendered": [{"role": "system", "content": [{"type": "text", "text": "Today is Friday."}]}],
    },
    {"type": "system", "subtype": "microcompact_boundary", "uuid": "m", "microcompactMetadata": {"preTokens": 9}},
    {"type": "progress", "uuid": "p", "data": {"type": "hook_progress"}},
    said("user", "And now?") | {"uuid": "u2", "cwd": "/home/user/work", "gitBranch": "main", "version": "2.1.330"},
    {"type": "queue-operation", "operation": "enqueue", "content": "Also this."},
    {"type": "last-prompt", "leafUuid": "u2", "lastPrompt": "And now?"},
]  # fmt: skip


def in_a_row() -> list[Line]:
    found: list[Line] = []
    last = None
    for at, record in enumerate(RECORDS):
        around = {"timestamp": f"2026-11-22T15:25:{at:02}.000Z", "sessionId": "id"}
        hangs = {"parentUuid": last} if "uuid" in record else {}
        found.append({**around, **hangs, **record})
        last = record.get("uuid", last)
    return found


# The values take turns with the fields: each nineteenth variant is of another field, and has another of 16 values.
@pytest.mark.parametrize("step", [263, *slow(43)])
def test_every_record_is_read_whatever_a_field_holds(agent: ClaudeByHand, reader: Reader, step: int) -> None:
    session_id = agent.id_of("s")
    path: Path = agent.project / f"{session_id}.jsonl"
    failed: list[str] = []
    for variant in islice(variants(in_a_row()), 0, None, step):
        path.write_text("".join(json.dumps(record) + "\n" for record in variant.records))
        try:
            ask_everything(reader, session_id)
        except Exception as problem:  # all of them are wanted at once
            failed.append(f"{variant.says}: {problem!r}"[:300])
    if failed:
        pytest.fail(f"{len(failed)} variants stop it:\n" + "\n".join(failed[:100]))


NOTE = {
    "pid": os.getpid(), "sessionId": "x", "startedAt": 1795361952485, "updatedAt": 1795361952720, "status": "busy",
    "procStart": "1", "pidDomain": "linux:machine:pid:[4026531836]",
}  # fmt: skip


def test_a_client_is_seen_or_not_whatever_its_note_says(agent: ClaudeByHand, reader: Reader) -> None:
    agent.write("s", talk(1))
    directory = agent.root / "sessions"
    directory.mkdir()
    os.mkfifo(directory / "1.json")  # nobody writes to it: whoever waits for that waits for ever
    (directory / "2.json").mkdir()
    with agent.compacting("s"):
        for variant in variants([NOTE]):
            (directory / "3.json").write_text(json.dumps(variant.records[0]))
            lock = reader.presence(agent.id_of("s")).holder
            assert lock is not None and lock.says
            assert agent.id_of("s") in (agent_of(reader.store).open_sessions() or ()), variant.says


def test_a_pipe_beside_a_sub_agent_is_not_waited_for(agent: ClaudeByHand, reader: Reader) -> None:
    agent.write("s", talk(1))
    directory = agent.project / agent.id_of("s") / "subagents"
    directory.mkdir(parents=True)
    (directory / "agent-a1.jsonl").write_text(json.dumps(RECORDS[1]) + "\n")
    os.mkfifo(directory / "agent-a1.meta.json")
    assert [child.title for child in reader.children([agent.id_of("s")])] == ["Look at the harbour."]
