"""Codex' records with any field malformed: each is shown as it is, none stops a reader, and none takes another session
with it.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import pytest

from tests.agents.base import Line
from tests.agents.codex.by_hand import INTERNAL, CodexByHand, agent, fresh, meta, session_id
from tests.agents.reading import sent
from tests.agents.talk import heard, talk
from tests.slow import slow
from tests.store.malformed import ask_everything, variants
from viewer.stores.base import Store
from viewer.stores.codex.items import SUMMARY_PREFIX
from viewer.stores.codex.records import RECORDS
from viewer.stores.registry import agent_of

__all__ = ["agent", "session_id"]

COUNTED = {
    "input_tokens": 900, "cached_input_tokens": 100, "cache_write_input_tokens": 0, "output_tokens": 90,
    "reasoning_output_tokens": 9, "total_tokens": 990,
}  # fmt: skip
PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}
BESIDE = {
    "history_sequence": 3, "sampled_through_sequence": 0, "client_authored": False, "user_input_order": 0,
    "retained_source": {
        "id": {"message_id": "m", "turn_id": "t1", "role": "user"}, "revision": "r", "complete": True,
    },
}  # fmt: skip


def message(role: str, kind: str, *parts: Line) -> Line:
    around = {"turn_id": "t1", "create_time": 1795361048.7, "content_item_kinds": [kind]}
    return {"type": "message", "id": f"msg_{kind}", "role": role, "content": list(parts), INTERNAL: around}


def text(said: str) -> Line:
    return {"type": "input_text", "text": said}


ASKED = message("user", "user.text", text("Look at the harbour."), PICTURE)
ENCRYPTED = {"type": "compaction", "encrypted_content": "e"}
SUMMARY = message("user", "compaction.summary", text(f"{SUMMARY_PREFIX} Boats were counted."))
ITEMS: list[Line] = [
    {"type": "additional_tools", "role": "developer", "tools": [{"name": "exec"}]},
    message("developer", "permissions.instructions", text("Ask first.")),
    ASKED,
    message("developer", "hooks.additional_context", text("Beside it.")),
    {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"},
    message("assistant", "unknown", {"type": "output_text", "text": "I look."}),
    {"type": "function_call", "id": "fc", "name": "exec", "namespace": "n", "arguments": '{"a": 1}', "call_id": "c1"},
    {"type": "custom_tool_call", "id": "ct", "name": "patch", "input": "***", "call_id": "c2", "status": "completed"},
    {"type": "local_shell_call", "call_id": "c3", "status": "completed", "action": {"type": "exec", "command": ["ls"]}},
    {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "boats"}},
    {"type": "function_call_output", "id": "fo", "call_id": "c1", "output": "boats"},
    {"type": "custom_tool_call_output", "id": "co", "call_id": "c2", "output": [text("done"), PICTURE]},
    {"type": "tool_search_output", "call_id": "c4", "tools": [{"name": "mcp"}]},
    {"type": "agent_message", "author": "/root", "recipient": "/root/ada", "content": [text("Go.")]},
    {"type": "ghost_snapshot", "ghost_commit": {"id": "abc"}},
]
BASE = {"thread_id": "x", "end_ordinal_exclusive": 5, "end_byte_offset": 100}
SPAWN = {"parent_thread_id": "p", "depth": 1, "agent_nickname": "Ada"}
AGENT = {"type": "SubAgentActivity", "kind": "started", "id": "c1", "agent_thread_id": "y"}


def records(session_id: str) -> list[Line]:
    """Each kind of line, in a file that the client takes."""
    first = meta(session_id) | {
        "source": {"subagent": {"thread_spawn": SPAWN}}, "parent_thread_id": "p", "forked_from_id": "f",
        "thread_source": "user", "history_base": None, "agent_nickname": "Ada", "dynamic_tools": [],
    }  # fmt: skip
    turn = {"turn_id": "t1", "cwd": "/home/user/work", "model": "gpt-5.5"}
    compacted = {
        "message": "", "replacement_history": [ASKED, ITEMS[3], SUMMARY, ENCRYPTED],
        "replacement_history_metadata": [BESIDE, {}, {}, {}], "window_number": 1, "window_id": "w2",
        "first_window_id": "w1", "previous_window_id": "w1", "resume_metadata": {"dynamic_tools": {"tools": []}},
        "palimpsest": {"id": "mark", "handoff": 2},
    }  # fmt: skip
    told: list[tuple[str, Any]] = [
        ("session_meta", first),
        ("event_msg", {"type": "task_started", "turn_id": "t1", "model_context_window": 9_000, "turn_attribution": {}}),
        ("turn_context", turn),
        ("world_state", {"full": True, "state": {"a": 1}}),
        *(("response_item", item) for item in ITEMS),
        ("event_msg", {"type": "token_count", "info": {"total_token_usage": COUNTED, "last_token_usage": COUNTED}}),
        ("event_msg", {"type": "item_completed", "item": AGENT}),
        ("event_msg", {"type": "sub_agent_activity", "kind": "started", "event_id": "c2", "agent_thread_id": "z"}),
        ("token_usage_record", {"thread_id": session_id, "usage": COUNTED}),
        ("event_msg", {"type": "task_complete", "turn_id": "t1"}),
        ("event_msg", {"type": "task_started", "turn_id": "t2", "root_turn_id": "t2"}),
        ("compacted", compacted),
        ("event_msg", {"type": "task_complete", "turn_id": "t2"}),
        ("response_item", message("user", "user.text", text("And now?"))),
        ("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
        ("response_item", message("user", "user.image", PICTURE, text("Rather this."))),
        ("compacted", {"message": "It was a harbour.", "replacement_history": None}),
    ]
    return [
        {"timestamp": f"2026-11-22T15:25:{at:02}.000Z", "ordinal": at, "type": kind, "payload": payload}
        | ({"metadata": BESIDE} if kind == "response_item" else {})
        for at, (kind, payload) in enumerate(told)
    ]


# The values take turns with the fields: each variant in so many is of another field, and has another of 16 values.
@pytest.mark.parametrize("step", [997, *slow(67)])
def test_every_record_is_read_whatever_a_field_holds(agent: CodexByHand, session_id: str, step: int) -> None:
    agent.write("s", [])
    agent.write("other", talk(1))
    path, failed = agent.path("s"), list[str]()
    owner = agent_of(Store("codex", agent.url, "configured"))
    for variant in islice(variants(records(session_id)), 0, None, step):
        path.write_text("".join(json.dumps(record) + "\n" for record in variant.records))
        try:
            reader = fresh(agent)
            ask_everything(reader, session_id)
            owner.resume_command(session_id)
            owner.untried_version(session_id)
            assert len(reader.listing.sessions([session_id, agent.id_of("other")])) == 2
            reader.children([agent.id_of("other")])
        except Exception as problem:  # all of them are wanted at once
            failed.append(f"{variant.says}: {problem!r}"[:300])
    RECORDS.forget()
    if failed:
        pytest.fail(f"{len(failed)} variants stop it:\n" + "\n".join(failed[:100]))
    assert sent(fresh(agent), agent.id_of("other")) == heard(talk(1))


def test_the_records_are_what_the_client_takes(agent: CodexByHand, session_id: str) -> None:
    """Or else the variants of them would say nothing."""
    agent.write("s", [])
    agent.path("s").write_text("".join(json.dumps(record) + "\n" for record in records(session_id)))
    found = RECORDS.read(agent.path("s")).records
    assert not [record for record in found if record.is_lost or record.unknown]
    assert len({record.subtype for record in found if record.item}) > 10
    assert [record for record in found if record.compacted and record.compacted.mark]
