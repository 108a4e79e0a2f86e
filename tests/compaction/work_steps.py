"""What an agent did in a transcript, and the line a summary has for it."""

from __future__ import annotations

import json
from typing import Any

from compaction import Message
from tests.compaction.offline_summaries import sections
from tests.compaction.transcripts import call, reply, result, user


def step(id_: str, name: str, arguments: dict[str, Any], output: str = "ok", **more: Any) -> list[Message]:
    asking = {**reply(""), "tool_calls": [call(id_, name, json.dumps(arguments))], **more}
    return [asking, {**result(id_, output), **more}]


def actions(*turns: list[Message]) -> list[str]:
    return sections([user("Please do the work."), *(row for turn in turns for row in turn)])["Actions done"]
