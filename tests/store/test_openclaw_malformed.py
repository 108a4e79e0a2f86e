"""Entries of OpenClaw and of pi, and what OpenClaw notes of sessions, with any field malformed: each is shown as it is,
none stops a reader, and none takes another session with it.
"""

from __future__ import annotations

import json
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.agents.base import Agent
from tests.agents.openclaw.by_hand import HEADER, stored
from tests.agents.pi.by_hand import PiByHand
from tests.agents.reading import opened, sent
from tests.agents.talk import heard, talk
from tests.slow import slow
from tests.store.malformed import ask_everything, variants
from viewer.stores.openclaw import database, records
from viewer.stores.trees import sources

Value = dict[str, Any]
TIME = "2026-07-01T10:00:00.000Z"
PICTURE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
USAGE = {"input": 5, "output": 6, "cacheRead": 7, "cacheWrite": 8, "totalTokens": 26, "cost": {"total": 0.5}}
MESSAGES: list[Value] = [
    {"role": "user", "content": [{"type": "text", "text": "Look."}, PICTURE], "timestamp": 1},
    {"role": "assistant", "provider": "p", "model": "m", "usage": USAGE, "stopReason": "toolUse", "content": [
        {"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "I look."},
        {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "a"}},
    ]},
    {"role": "toolResult", "toolCallId": "c", "toolName": "read", "isError": False,
     "content": [{"type": "text", "text": "boats"}, PICTURE]},
    {"role": "bashExecution", "command": "ls", "output": "x", "exitCode": 1, "cancelled": False},
    {"role": "custom", "customType": "t", "content": "Beside it."},
    {"role": "system", "sections": [{"id": "a", "text": "You are."}]},
    {"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "no"},
]  # fmt: skip


def entries() -> list[Value]:
    """Each type of entry, each of which hangs on the one before it."""
    told: list[Value] = [
        {"type": "model_change", "provider": "p", "modelId": "m"},
        *({"type": "message", "message": message} for message in MESSAGES),
        {"type": "custom", "customType": "model-snapshot", "data": {}},
        {"type": "custom_message", "customType": "t", "content": [{"type": "text", "text": "A."}], "display": True},
        {"type": "branch_summary", "fromId": "e1", "summary": "So far."},
        {"type": "label", "targetId": "e1", "label": "kept"},
        {"type": "session_info", "name": "Garden"},
        {"type": "context_edit", "targetId": "e2", "replacement": {"content": "shorter"}},
        {"type": "compaction", "summary": "One.", "firstKeptEntryId": "e2", "tokensBefore": 90,
         "details": {"readFiles": ["a"], "modifiedFiles": []}, "fromHook": True, "palimpsest": "mark"},
        {"type": "message", "message": {"role": "user", "content": "Go on."}, "appendMode": "side"},
        {"type": "reset", "reason": "daily", "firstKeptEntryId": "e3"},
        {"type": "message", "message": {"role": "user", "content": "Anew."}},
        {"type": "leaf", "targetId": "e18", "appendParentId": "e18"},
    ]  # fmt: skip
    ids = {"parentId": None, "timestamp": TIME}
    return [
        {**ids, "id": f"e{at}", **({"parentId": f"e{at - 1}"} if at else {}), **each} for at, each in enumerate(told)
    ]


def asked(agent: Agent, session_id: str, says: str, failed: list[str]) -> None:
    """Ask everything of a session, and whether another one is still there."""
    sources.RECORDS.forget()
    records.forget()
    try:
        with opened(agent) as reader:
            ask_everything(reader, session_id)
            assert len(reader.listing.sessions([session_id, agent.id_of("other")])) == 2
    except Exception as problem:  # all of them are wanted at once
        failed.append(f"{says}: {problem!r}"[:300])


def verdict(failed: list[str]) -> None:
    if failed:
        pytest.fail(f"{len(failed)} variants stop it:\n" + "\n".join(failed[:60]))


@pytest.mark.parametrize("step", [307, *slow(43)])
def test_entries_of_pi(tmp_path: Path, step: int) -> None:
    agent, failed = PiByHand(tmp_path / "home"), list[str]()
    agent.write("s", [])
    agent.write("other", talk(1))
    path = next(path for path in (tmp_path / "home").rglob("*.jsonl") if agent.id_of("s") in path.name)
    for variant in islice(variants([HEADER, *entries()]), 0, None, step):
        path.write_text("".join(json.dumps(each) + "\n" for each in variant.records))
        asked(agent, agent.id_of("s"), variant.says, failed)
    verdict(failed)
    with opened(agent) as reader:
        assert sent(reader, agent.id_of("other")) == heard(talk(1))


@pytest.mark.parametrize("form", ["file", "database"])
@pytest.mark.parametrize("step", [307, *slow(43)])
def test_entries_of_openclaw(tmp_path: Path, form: str, step: int) -> None:
    agent, failed = stored(tmp_path / "home", form, entries()), list[str]()
    agent.write("other", talk(1))
    path = tmp_path / "home" / "agents" / "main" / "sessions" / "s.jsonl"
    with closing(agent.connected()) as con:
        for variant in islice(variants([HEADER, *entries()]), 0, None, step):
            if form == "file":
                path.write_text("".join(json.dumps(each) + "\n" for each in variant.records))
            else:
                text = json.dumps(variant.records[variant.at])
                con.execute("UPDATE transcript_events SET event_json = ? WHERE session_id = 's' AND seq = ?",
                            (text, variant.at))  # fmt: skip
            asked(agent, "s", variant.says, failed)
            if form == "database":
                told = json.dumps([HEADER, *entries()][variant.at])
                con.execute("UPDATE transcript_events SET event_json = ? WHERE session_id = 's' AND seq = ?",
                            (told, variant.at))  # fmt: skip
    verdict(failed)
    with opened(agent) as reader:
        assert sent(reader, agent.id_of("other")) == heard(talk(1))


NOTED: Value = {
    "sessionId": "s", "sessionFile": "/w/s.jsonl", "usageFamilySessionIds": ["old", "s"], "displayName": "Garden",
    "label": "L", "subject": "S", "model": "m", "modelProvider": "p", "contextTokens": 9, "totalTokens": 8,
    "totalTokensFresh": True, "estimatedCostUsd": 0.5, "spawnedBy": "k", "parentSessionKey": "k", "archivedAt": 1,
    "pinnedAt": 1, "sessionStartedAt": 1, "updatedAt": 1, "spawnedCwd": "/w", "cwd": "/w",
}  # fmt: skip


@pytest.mark.parametrize("form", ["file", "database"])
@pytest.mark.parametrize("step", [17, *slow(5)])
def test_what_is_noted_of_a_session(tmp_path: Path, form: str, step: int) -> None:
    agent, failed = stored(tmp_path / "home", form, entries()), list[str]()
    agent.write("other", talk(1))
    index = tmp_path / "home" / "agents" / "main" / "sessions" / "sessions.json"
    with closing(agent.connected()) as con:
        for variant in islice(variants([NOTED]), 0, None, step):
            text = json.dumps(variant.records[0])
            if form == "file":
                index.write_text(f'{{"agent:main:s": {text}}}')
            else:
                con.execute("UPDATE session_nodes SET entry_json = ? WHERE session_key = 'agent:main:s'", (text,))
            database._noted.clear()
            asked(agent, "s", variant.says, failed)
    verdict(failed)
