"""Sessions that Hermes writes for these tests: what real ones hold that a careless compactor loses."""

from __future__ import annotations

import json
from typing import Any

from tests.agents.hermes.real import Hermes

Said = tuple[str, str]  # the role and the words a message can be told by

PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
FILLING = " ".join(
    ["The quick brown fox jumps over the lazy dog."] * 25
)  # small transcripts are not worth a summary to Hermes


def write_session(hermes: Hermes, session_id: str, turns: int = 24, distinct_ids: bool = False) -> list[Said]:
    """Let Hermes write a session; its messages in order.

    Every turn asks, thinks, makes two parallel tool calls, and replies in two scripts with stray white space around it;
    some requests carry an image. The ids of tool calls come again every five turns, as they do with some models, unless
    `distinct_ids`: schema 22's agent sends no second result for an id.
    """
    hermes.create_session(session_id, model="test-model")
    hermes.db("set_session_title", session_id, session_id)  # an untitled session makes Hermes ask the model for a title
    said: list[Said] = []
    for turn in range(turns):
        said += _ask(hermes, session_id, turn)
        said += _work(hermes, session_id, turn, turn if distinct_ids else turn % 5)
        reply = f"Finished step {turn}: 完了 ✅ {FILLING[:179]}"
        hermes.append(session_id, "assistant", f"  {reply}\n", finish_reason="stop")
        said.append(("assistant", reply))
    return said


def _ask(hermes: Hermes, session_id: str, turn: int) -> list[Said]:
    text = f"Request {turn}, code word walnut{turn}: {FILLING[:314]}"
    with_image = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": PIXEL}}]
    hermes.append(session_id, "user", with_image if turn % 8 == 3 else text)
    return [("user", text)]


def _work(hermes: Hermes, session_id: str, turn: int, number: int) -> list[Said]:
    calls = [
        {"id": f"call_{number}_{part}", "type": "function", "function": {"name": "terminal", "arguments": arguments}}
        for part in range(2)
        for arguments in [json.dumps({"command": f"step --turn {turn} --part {part} {'a' * 600}"})]
    ]
    thought = f"Turn {turn} needs two looks."
    hermes.append(session_id, "assistant", "", tool_calls=calls, reasoning=thought, finish_reason="tool_calls")
    said: list[Said] = [("assistant", f"calls {turn}")]
    for part, call in enumerate(calls):
        output = json.dumps({"output": f"result {turn}.{part} {FILLING}", "exit_code": 0})
        hermes.append(session_id, "tool", output, tool_call_id=call["id"], tool_name="terminal")
        said.append(("tool", output))
    return said


def words(role: str, content: Any, tool_calls: Any = None) -> Said:
    """How a message read back is told apart from the others of `write_session`."""
    if tool_calls:
        command = json.loads(tool_calls[0]["function"]["arguments"])["command"]
        return role, f"calls {command.split()[2]}"
    if isinstance(content, list):
        content = next(part["text"] for part in content if part["type"] == "text")
    return role, (content or "").strip()
