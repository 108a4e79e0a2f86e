"""A session being written: messages with the flags, copies and counters that a real agent would leave.

Times are seconds on the conversation's own clock; only `write` knows the real time, and sets the last message `ago`
seconds before it. Compactions leave the rows that `docs/hermes.md` sections 2 and 5 describe.
"""

import hashlib
import json
import random
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from viewer.demo import handoffs
from viewer.stores.hermes import codec
from viewer.stores.hermes.schema import Row, insert, store_prompt

By = Literal["hermes", "hermes-august", "palimpsest"]
SUPERSEDED = {"active": 0, "compacted": 0}
UNDER = {"active": 0, "compacted": 1}
LIVE = {"active": 1, "compacted": 0}
SECONDS_BEFORE = {"user": (15, 90), "assistant": (2, 9), "tool": (0.2, 2.5)}


class ScriptedCall(NamedTuple):
    """One tool call of an assistant message, with its result."""

    name: str
    arguments: dict[str, Any]
    result: Any


@dataclass
class Clock:
    """The time of one conversation, shared by the parts of a split one. `ago`: seconds since its last message."""

    ago: float
    seconds: float = 0.0

    def start(self, now: float) -> float:
        return now - self.ago - self.seconds


@dataclass
class Script:
    """One session. `columns` are further columns of its `sessions` row; `prompt` is its system prompt."""

    title: str | None
    clock: Clock
    prompt: str = ""
    columns: dict[str, Any] = field(default_factory=dict)
    parent: "Script | None" = None
    rows: list[Row] = field(default_factory=list)
    repeats_ids: bool = False  # some providers count tool calls from 0 in every message

    def __post_init__(self) -> None:
        self.started = self.clock.seconds
        self.last_block: tuple[list[Row], list[Row]] = ([], [])
        self._random = random.Random(f"{self.title} {self.started}")

    # -- what is said ------------------------------------------------------------------------------------------------

    def add(self, role: str, content: Any, **columns: Any) -> None:
        """Add a row at the end; `content` is text, None, or a list or object of any shape."""
        self.clock.seconds += round(self._random.uniform(*SECONDS_BEFORE.get(role, (1, 5))), 3)
        self.rows.append(self._row(role, content) | columns)

    def user(self, content: Any, **columns: Any) -> None:
        self.add("user", content, **columns)

    def assistant(self, content: Any, calls: Sequence[ScriptedCall] = (), **columns: Any) -> None:
        """An assistant message, directly followed by one result for each call."""
        ids = [f"call_{i if self.repeats_ids else f'{self._random.getrandbits(48):012x}'}" for i in range(len(calls))]
        if calls:
            columns["tool_calls"] = json.dumps([_openai(call, at) for call, at in zip(calls, ids, strict=True)])
        self.add("assistant", content, **{"finish_reason": "tool_calls" if calls else "stop"} | columns)
        for call, at in zip(calls, ids, strict=True):
            self.add("tool", call.result, tool_call_id=at, tool_name=call.name)

    def _row(self, role: str, content: Any) -> Row:
        uid = f"{self._random.getrandbits(128):032x}"
        return {"role": role, "content": content, "timestamp": self.clock.seconds, "message_uid": uid, **LIVE}

    # -- what happens to it --------------------------------------------------------------------------------------------

    @property
    def live(self) -> list[Row]:
        return [row for row in self.rows if row["active"]]

    def compact(
        self,
        summary: str,
        *,
        head: int,
        tail: int,
        form: handoffs.Form,
        layout: handoffs.Layout = "standalone",
        by: By = "hermes",
        shorten: bool = False,
    ) -> None:
        """Replace the live rows by a block: copies of the first `head`, a handoff, copies of the last `tail`.

        `by` decides the flags. `shorten` leaves stubs of older tool results in the tail.
        """
        live = self.live
        kept_head, middle, kept_tail = live[:head], live[head : len(live) - tail], live[len(live) - tail :]
        handoffs.check_cuts(kept_head, kept_tail)
        block = [row | LIVE for row in kept_head + (_shortened(kept_tail) if shorten else kept_tail)]
        self.clock.seconds += 45
        text = handoffs.text(form, summary)
        if layout == "standalone":
            block.insert(head, self._row(handoffs.role(kept_head, kept_tail), text))
        else:
            block[head] |= {"content": handoffs.merged(layout, text, block[head]["content"]), "api_content": None}
        block[head]["_compressed_summary"] = int(by != "hermes-august")  # its schema 21 has no such column
        _put_down(by, kept_head, middle, kept_tail)
        self.rows += block
        self.last_block = (live, block)

    def undo_compaction(self) -> None:
        """Take the newest compaction back: its block leaves the context, the originals return."""
        originals, block = self.last_block
        for row in block:
            row.update(SUPERSEDED)
        for row in originals:
            row.update(LIVE)

    def take_back(self, count: int) -> None:
        """The person went back `count` messages."""
        for row in self.live[-count:]:
            row.update(SUPERSEDED)
        self.columns["rewind_count"] = self.columns.get("rewind_count", 0) + 1

    def split(self, summary: str, *, head: int, tail: int) -> "Script":
        """Compact the old way: this session ends, and a new one starts with a handoff between copies of its rows."""
        self.clock.seconds += 45
        child = Script(_next_title(self.title), self.clock, self.prompt, dict(self.columns), self)
        self.columns |= {"end_reason": "compression", "ended_at": self.clock.seconds}
        live = self.live
        kept_head, kept_tail = live[:head], live[len(live) - tail :]
        child.rows = [row | LIVE for row in kept_head]
        child.add(handoffs.role(kept_head, kept_tail), handoffs.text("em-dash", summary))
        child.rows += [row | LIVE for row in kept_tail]
        return child

    # -- into a store --------------------------------------------------------------------------------------------------

    def session_id(self, now: float) -> str:
        """In Hermes' form: YYYYMMDD_HHMMSS_<6 hex digits>."""
        moment = datetime.fromtimestamp(self.clock.start(now) + self.started, UTC)
        return f"{moment:%Y%m%d_%H%M%S}_{hashlib.sha256(repr(self.title).encode()).hexdigest()[:6]}"

    def write(self, connection: sqlite3.Connection, now: float) -> str:
        """Insert the session and its rows; returns the session's id."""
        start, session_id = self.clock.start(now), self.session_id(now)
        insert(connection, "sessions", self._session_row(connection, session_id, start, now))
        for row in self.rows:
            content, timestamp = codec.encode_content(row["content"]), start + row["timestamp"]
            insert(connection, "messages", row | {"session_id": session_id, "content": content, "timestamp": timestamp})
        return session_id

    def _session_row(self, connection: sqlite3.Connection, session_id: str, start: float, now: float) -> Row:
        live = self.live
        characters = sum(len(row["content"]) for row in self.rows if isinstance(row["content"], str))
        columns = self.columns | {"id": session_id, "title": self.title, "started_at": start + self.started}
        parent = self.parent.session_id(now) if self.parent else None
        if parent and columns["source"] == "subagent":
            columns["model_config"] = json.dumps({"_delegate_from": parent})
        if "end_reason" in columns:
            columns["ended_at"] = start + columns.get("ended_at", self.clock.seconds)
        return columns | {
            "created_source": columns["source"],
            "title_source": "user" if self.title else None,
            "system_prompt_hash": store_prompt(connection, self.prompt),
            "parent_session_id": parent,
            "last_activity_at": start + self.rows[-1]["timestamp"] if self.rows else None,
            "message_count": len(live),
            "tool_call_count": sum(len(codec.decode_calls(row.get("tool_calls"))) for row in live),
            "api_call_count": sum(row["role"] == "assistant" for row in self.rows),
            "input_tokens": characters,
            "output_tokens": characters // 12,
        }


_FLAGS: dict[By, tuple[dict[str, int], dict[str, int], dict[str, int]]] = {  # of the originals: head, middle, tail
    "hermes": (UNDER, UNDER, SUPERSEDED),
    "hermes-august": (UNDER, UNDER, UNDER),
    "palimpsest": (SUPERSEDED, UNDER, SUPERSEDED),
}


def _openai(call: ScriptedCall, call_id: str) -> dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _put_down(by: By, *originals: list[Row]) -> None:
    for rows, flags in zip(originals, _FLAGS[by], strict=True):
        for row in rows:
            row.update(flags)


def _shortened(tail: list[Row]) -> list[Row]:
    """The rows of a tail, the long tool results before its last two rows as stubs."""
    return [
        row | {"content": handoffs.stub(row["tool_name"], row["content"])}
        if row["role"] == "tool" and len(row["content"]) > 200 and row not in tail[-2:]
        else row
        for row in tail
    ]


def _next_title(title: str | None) -> str:
    name, _, number = (title or "").partition(" #")
    return f"{name} #{int(number or 1) + 1}"
