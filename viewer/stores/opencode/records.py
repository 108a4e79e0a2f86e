"""Rows of messages and parts as records: what the client's rules ask of them. The texts stay in the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from viewer.stores.jsonl.lines import decoded

from .paths import whole

STEP = 4_096  # numbers that each millisecond has for a message and its parts
EPOCH = 1_577_836_800_000  # 2020 in milliseconds: the numbers stay below 2**53, which JavaScript reads exactly
COMPACTION = "compaction"
UNKNOWN = "unknown"  # the role and type of a row that is no JSON object, or has none
ANSWERED = ("completed", "error")  # of a call: it has a result
WAITING = ("pending", "running")
# Parts that a model is sent nothing of.
_SILENT = ("step-start", "step-finish", "snapshot", "patch", "agent", "retry", COMPACTION)
_KNOWN = (*_SILENT, "text", "reasoning", "file", "tool", "subtask")
_AS_TEXT = ("text/plain", "application/x-directory")  # files whose content is in a text next to them


@dataclass(frozen=True, slots=True)
class PartRecord:
    """One part. `is_content` says that its message says it to a model, `is_typed` that a person typed it; `tail` is the
    first message that a compaction keeps, `ended` when a call had its result, in milliseconds, 0 for unknown.
    """

    id: str
    type: str
    size: int
    is_content: bool = False
    is_typed: bool = False
    status: str = ""
    call: str = ""
    tail: str = ""
    ended: int = 0
    is_cleared: bool = False
    is_auto: bool = False  # a compaction that nobody asked for
    is_known: bool = True

    @property
    def is_answered(self) -> bool:
        return self.type == "tool" and self.status in ANSWERED


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """One message. `time` in epoch seconds, `made` in milliseconds; `parent` is the message that it answers; `error` is
    the name of what broke it off; `tokens` are those of its whole request and answer, 0 for unknown.
    """

    id: str
    number: int
    role: str
    made: int
    parts: tuple[PartRecord, ...]
    parent: str
    finish: str
    error: str
    is_flagged: bool  # as a summary
    is_completed: bool
    tokens: int
    cost: Any
    is_known: bool
    is_dated: bool  # the time in its data is that of its row: the client orders by both

    @property
    def time(self) -> float:
        return self.made / 1000

    @property
    def results(self) -> Iterator[tuple[int, PartRecord]]:
        """The calls that have a result, each with the number of the result's message."""
        return ((self.number + at, part) for at, part in enumerate(self.parts, start=1) if part.is_answered)

    @property
    def asks_summary(self) -> bool:
        """Whether it is a request for a compaction."""
        return self.role == "user" and any(part.type == COMPACTION for part in self.parts)

    @property
    def tail(self) -> str:
        """The first message that its compaction keeps, "" for none."""
        return next((part.tail for part in self.parts if part.type == COMPACTION and part.tail), "")

    @property
    def is_summary(self) -> bool:
        """Whether the client takes it for the end of a compaction, if it answers a request for one."""
        return self.role == "assistant" and self.is_flagged and bool(self.finish) and not self.error

    @property
    def is_added(self) -> bool:
        """Whether it is a user's message of which a person typed nothing."""
        return self.role == "user" and not any(part.is_typed for part in self.parts)

    @property
    def is_message(self) -> bool:
        """Whether anything of it can be shown as a message."""
        return not self.is_known or any(part.is_content or part.type == "tool" for part in self.parts)

    @property
    def is_sent(self) -> bool:
        """Whether a model is sent it, while it is in context: not an unknown role, nor an answer that broke off; of one
        that a person stopped, what is more than a thought.
        """
        if not self.is_known:
            return False
        if not self.error:
            return True
        is_more = any(part.type not in ("step-start", "reasoning") for part in self.parts)
        return self.error == "MessageAbortedError" and is_more

    @property
    def is_open(self) -> bool:
        """Whether, as the newest message, it belongs to a turn that has not ended."""
        if self.role == "user":
            return True
        more = self.finish in ("tool-calls", "unknown") and not self.error
        waits = any(part.type == "tool" and part.status in WAITING for part in self.parts)
        return not self.is_completed or more or waits


def records_of(con: sqlite3.Connection, session_id: str, limit: int = -1) -> list[MessageRecord]:
    """All messages of a session with their parts, in the client's order, or its first ones."""
    chosen = "FROM message WHERE session_id = ? ORDER BY time_created, id LIMIT ?"
    return list(_numbered(_read(con, chosen, (session_id, limit))))


def with_rows(con: sqlite3.Connection, records: Sequence[MessageRecord], ids: Sequence[str]) -> list[MessageRecord]:
    """These records, and those of further messages, in the client's order."""
    slots = ", ".join("?" * len(ids))
    added = _read(con, f"FROM message WHERE id IN ({slots})", ids)
    return list(_numbered(sorted([*records, *added], key=lambda record: (record.made, record.id))))


def _read(con: sqlite3.Connection, chosen: str, values: Sequence[Any]) -> Iterator[MessageRecord]:
    """The messages that a query chooses, without their numbers."""
    query = f"SELECT message_id, id, data FROM part WHERE message_id IN (SELECT id {chosen}) ORDER BY message_id, id"
    parts: dict[str, list[PartRecord]] = {}
    for message_id, part_id, data in con.execute(query, values):
        parts.setdefault(message_id, []).append(_part(part_id, data))
    for message_id, made, data in con.execute(f"SELECT id, time_created, data {chosen}", values):
        yield _message(message_id, whole(made), tuple(parts.get(message_id, ())), object_of(data))


def _numbered(records: Iterable[MessageRecord]) -> Iterator[MessageRecord]:
    """A message's number is made from its time: it stays when others come and go, and grows in the client's order."""
    last = 0
    for record in records:
        number = max((record.made - EPOCH) * STEP, last + 1)
        last = number + len(record.parts)
        yield record if record.number == number else replace(record, number=number)


def object_of(data: Any) -> dict[str, Any] | None:
    """The object in a row's `data`; None where there is none."""
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    return decoded(data) if isinstance(data, bytes) else None


def _message(message_id: str, made: int, parts: tuple[PartRecord, ...], value: dict[str, Any] | None) -> MessageRecord:
    data = value or {}
    role = text_of(data.get("role")) or UNKNOWN
    tokens, error = dict_of(data.get("tokens")), data.get("error")
    cache = dict_of(tokens.get("cache"))
    counts = [tokens.get("input"), tokens.get("output"), cache.get("read"), cache.get("write")]
    return MessageRecord(
        id=message_id,
        number=0,
        role=role,
        made=made,
        parts=parts,
        parent=text_of(data.get("parentID")),
        finish=text_of(data.get("finish")),
        error=(text_of(dict_of(error).get("name")) or UNKNOWN) if error else "",
        is_flagged=data.get("summary") is True,
        is_completed=bool(dict_of(data.get("time")).get("completed")),
        tokens=whole(tokens.get("total")) or sum(map(whole, counts)),
        cost=data.get("cost"),
        is_known=role in ("user", "assistant"),
        is_dated=dict_of(data.get("time")).get("created") == made,
    )


def _part(part_id: str, data: Any) -> PartRecord:
    value, size = object_of(data), len(data) if isinstance(data, (str, bytes)) else 0
    if value is None:
        return PartRecord(part_id, UNKNOWN, size, is_known=False)
    kind, state = text_of(value.get("type")) or UNKNOWN, dict_of(value.get("state"))
    status, text, times = text_of(state.get("status")), text_of(value.get("text")), dict_of(state.get("time"))
    is_content = kind in ("reasoning", "subtask") or (kind == "text" and bool(text) and not value.get("ignored"))
    is_content = is_content or (kind == "file" and value.get("mime") not in _AS_TEXT)
    is_known = kind in _KNOWN and (kind != "tool" or (status in (*ANSWERED, *WAITING) and "input" in state))
    return PartRecord(
        part_id,
        kind,
        size,
        is_content=is_content,
        is_typed=is_content and kind in ("text", "file") and not value.get("synthetic"),
        status=status,
        call=text_of(value.get("callID")),
        tail=text_of(value.get("tail_start_id")),
        ended=whole(times.get("end")),
        is_cleared=bool(times.get("compacted")),
        is_auto=value.get("auto") is True,
        is_known=is_known,
    )


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def dict_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
