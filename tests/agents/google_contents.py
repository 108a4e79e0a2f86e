"""What a model is told, piece by piece, in a form in which our messages and a recorded request are alike."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from viewer.stores.message import StoredMessage

Piece = tuple[str, ...]
_REMINDER = re.compile(r"<system-reminder>[\s\S]*?</system-reminder>\s*")


def of_rows(rows: Iterable[StoredMessage]) -> list[Piece]:
    pieces: list[Piece] = []
    for row in rows:
        for block in row.content if isinstance(row.content, list) else [row.content]:
            if isinstance(block, str):
                pieces.append((row.role, "text", block))
            elif block["type"] == "text":
                pieces.append((row.role, "text", block["text"]))
            else:
                pieces.append(("user", "data", block["image_url"]["url"].partition(",")[2]))
        pieces += [(row.role, "call", each["function"]["name"]) for each in row.tool_calls]
    return _tidy(pieces)


def of_request(path: Path) -> list[Piece]:
    """The last request of a recording, without what the client adds to it, and results that it repeats once."""
    return _tidy(_piece(*each) for each in json.loads((path / "sent.json").read_text()))


def _piece(role: str, kind: str, *said: Any) -> Piece:
    if role == "tool":  # of Qwen Code: the id of the call comes first
        return role, "text", said[0]
    if kind == "result":
        return "tool", "text", next(iter(json.loads(said[1]).values()))
    if kind == "call":
        return "assistant", kind, next(each for each in said if not each.startswith("call_"))
    return "assistant" if role == "model" else role, kind, said[0]


def _tidy(pieces: Iterable[Piece]) -> list[Piece]:
    """Texts in a row as one; each result and picture once; without reminders of the client."""
    tidied: list[Piece] = []
    for role, kind, said in pieces:
        text = _REMINDER.sub("", said) if kind == "text" else said
        if tidied and tidied[-1][:2] == (role, kind) == ("user", "text"):
            tidied[-1] = (role, kind, tidied[-1][2] + text)
        elif text and ((role, kind, text) not in tidied or (role != "tool" and kind != "data")):
            tidied.append((role, kind, text))
    return tidied
