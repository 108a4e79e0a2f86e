"""Entries that hang on one another in any way, of all types, with and without the fields that their types demand."""

from __future__ import annotations

import random
from typing import Any

from tests.agents.pi.by_hand import said
from tests.agents.talk import talk

Value = dict[str, Any]
KINDS = (
    *["message"] * 8, "compaction", "reset", "leaf", "leaf", "custom", "novelty", "label", "custom_message",
    "branch_summary", "session_info", "context_edit",
)  # fmt: skip


def strange_entries(seed: int, length: int = 40) -> list[Value]:
    """So many entries, the same for each seed."""
    dice = random.Random(seed)
    names: list[str | None] = [None, "gone"]
    values = []
    for at in range(length):
        value = _entry(dice, at, names)
        if dice.random() < 0.05:
            del value["parentId"]
        if dice.random() < 0.07:
            value["appendMode"] = "side"
        values.append(value)
        names.append(value["id"])
    return values


def _entry(dice: random.Random, at: int, names: list[str | None]) -> Value:
    kind = dice.choice(KINDS)
    parent = names[-1] if dice.random() < 0.75 else dice.choice(names)
    value: Value = {
        "type": kind, "id": f"e{at}" if dice.random() < 0.97 else str(dice.choice(names)), "parentId": parent,
        "timestamp": f"2026-11-26T10:00:{at:02}.000Z", "summary": "So far.", "tokensBefore": 5, "fromId": "x",
        "firstKeptEntryId": str(dice.choice(names)), "reason": dice.choice(["daily", "new", "whim"]), "customType": "t",
        "display": True, "content": "A note.", "replacement": dice.choice([None, {"content": "x"}]),
    }  # fmt: skip
    if kind in ("leaf", "label", "context_edit"):
        value["targetId"] = dice.choice(names) if kind == "leaf" else str(dice.choice(names))
    if kind == "leaf" and dice.random() < 0.3:
        value["appendParentId"] = dice.choice(names)
    if kind == "compaction" and dice.random() < 0.1:
        del value["tokensBefore"]
    if kind == "message":
        value["message"] = _message(dice)
    return value


def _message(dice: random.Random) -> Value:
    message: Value = said(dice.choice(talk(1)))
    if dice.random() < 0.1:
        message = {"role": "bashExecution", "command": "ls", "output": "x", "exitCode": 0, "timestamp": 1}
    if dice.random() < 0.08:
        message["excludeFromContext"] = True
    if dice.random() < 0.08:
        message["role"] = "narrator"
    if message["role"] == "assistant" and dice.random() < 0.1:
        message["stopReason"] = "aborted"
    return message
