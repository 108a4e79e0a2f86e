"""The rows of a compaction, as the client writes its own: a request, its part, the summary, its part."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from .records import MessageRecord, dict_of, object_of

Row = Sequence[Any]  # the table, then its columns
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM = 14  # digits at the end of an id, which are random in the client's own
COLUMNS = {
    "message": "id, session_id, time_created, time_updated, data",
    "part": "id, message_id, session_id, time_created, time_updated, data",
}
_NO_TOKENS = {"total": 0, "input": 0, "output": 0, "reasoning": 0, "cache": {"write": 0, "read": 0}}


@dataclass(frozen=True, slots=True)
class Speakers:
    """What the newest messages of the session say about agent, model and directory."""

    agent: Any
    model: Any
    path: Any


def speakers(con: sqlite3.Connection, records: Sequence[MessageRecord]) -> Speakers | None:
    """None where the newest messages do not say it."""
    values = {}
    for role in ("user", "assistant"):
        newest = next((record for record in reversed(records) if record.role == role), None)
        rows = con.execute("SELECT data FROM message WHERE id = ?", (newest.id,)).fetchall() if newest else []
        values[role] = object_of(rows[0][0]) or {} if rows else {}
    user, assistant = values["user"], values["assistant"]
    model, path = user.get("model"), assistant.get("path")
    is_named = isinstance(dict_of(model).get("modelID"), str) and isinstance(dict_of(model).get("providerID"), str)
    is_whole = is_named and isinstance(path, dict) and isinstance(user.get("agent"), str)
    return Speakers(user["agent"], model, path) if is_whole else None


def suffix_of(key: str, kind: str) -> str:
    """The last digits of an id, made of the key by which a commit is found again."""
    number = int.from_bytes(blake2b(f"{key} {kind}".encode(), digest_size=16).digest(), "big")
    digits = []
    for _ in range(_RANDOM):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(digits)


def _id(prefix: str, milliseconds: int, key: str, kind: str) -> str:
    """An id as the client makes it of a time: of its count of 4096ths of milliseconds, the last 48 bits."""
    return f"{prefix}_{(milliseconds * 4096 + 1) % 2**48:012x}{suffix_of(key, kind)}"


def rows_of(session_id: str, speaking: Speakers, summary: str, tail: str, key: str, at: int) -> list[Row]:
    """The four rows of a compaction at this time, in milliseconds; `tail` is the first message that is kept."""
    request, answer = _id("msg", at, key, "request"), _id("msg", at + 1, key, "summary")
    asks: dict[str, Any] = {"type": "compaction", "auto": False} | ({"tail_start_id": tail} if tail else {})
    user = {"role": "user", "time": {"created": at}, "agent": speaking.agent, "model": speaking.model}
    assistant = {
        "role": "assistant", "parentID": request, "mode": "compaction", "agent": "compaction", "summary": True,
        "path": speaking.path, "cost": 0, "tokens": _NO_TOKENS, "modelID": speaking.model["modelID"],
        "providerID": speaking.model["providerID"], "time": {"created": at + 1, "completed": at + 2}, "finish": "stop",
    }  # fmt: skip
    text = {"type": "text", "text": summary, "time": {"start": at + 1, "end": at + 2}}
    return [
        ("message", request, session_id, at, at, _json(user)),
        ("part", _id("prt", at, key, "request part"), request, session_id, at, at, _json(asks)),
        ("message", answer, session_id, at + 1, at + 2, _json(assistant)),
        ("part", _id("prt", at + 1, key, "summary part"), answer, session_id, at + 1, at + 2, _json(text)),
    ]


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def insert(con: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Add these rows. Raises sqlite3.IntegrityError where one is there."""
    for table, *values in rows:
        slots = ", ".join("?" * len(values))
        con.execute(f"INSERT INTO {table} ({COLUMNS[table]}) VALUES ({slots})", values)


def messages_of(rows: Iterable[Row]) -> list[str]:
    """The ids of the messages among these rows."""
    return [row[1] for row in rows if row[0] == "message"]


def delete(con: sqlite3.Connection, ids: Sequence[str]) -> int:
    """Remove these messages with their parts; returns how many messages were removed."""
    count = 0
    for each in ids:
        con.execute("DELETE FROM part WHERE message_id = ?", (each,))
        count += con.execute("DELETE FROM message WHERE id = ?", (each,)).rowcount
    return count


def stored(con: sqlite3.Connection, ids: Sequence[str]) -> list[Row]:
    """The rows of these messages with their parts."""
    rows: list[Row] = []
    for each in ids:
        for table, key in (("message", "id"), ("part", "message_id")):
            query = f"SELECT {COLUMNS[table]} FROM {table} WHERE {key} = ? ORDER BY id"
            rows += [(table, *row) for row in con.execute(query, (each,))]
    return rows
