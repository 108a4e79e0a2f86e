"""JSON and JSON lines: the same objects, as one document or one per line. `docs/export.md` describes them.

The document is written while it is read, so its result is at the end: `complete`, `note`, `masked_places` (the names of
version 1 of the format).
"""

from __future__ import annotations

import base64
import json
from datetime import datetime
from typing import Any

from viewer.stores.clean_text import sanitized
from viewer.stores.transcript import Boundary

from .facts import ExportFacts, moment
from .source import ExportedMessage, ExportOutcome, ExportPlan

FORMAT, VERSION = "palimpsest-session", 2  # 1: `by` was "agent" or "palimpsest"


class JsonExport:
    """One document."""

    def __init__(self, planned: ExportPlan, facts: ExportFacts) -> None:
        self.planned, self.facts = planned, facts
        self.first = True

    def start(self) -> str:
        head = _json(_head(self.facts))[:-1]
        boundaries = ",\n".join(_json(_boundary(boundary, self.planned)) for boundary in self.planned.index.boundaries)
        return f'{head},\n"boundaries": [{boundaries}],\n"messages": ['

    def message(self, message: ExportedMessage) -> str:
        before, self.first = ("\n" if self.first else ",\n"), False
        return before + _json(_message(message))

    def end(self, outcome: ExportOutcome) -> str:
        return f"\n],\n{_json(_tail(outcome))[1:]}\n"


class JsonLinesExport:
    """One object per line: the session, its boundaries, its messages, the end. `type` distinguishes them."""

    def __init__(self, planned: ExportPlan, facts: ExportFacts) -> None:
        self.planned, self.facts = planned, facts

    def start(self) -> str:
        return _json({"type": "session", **_head(self.facts)}) + "\n"

    def message(self, message: ExportedMessage) -> str:
        boundary = {"boundary": _boundary(message.boundary, self.planned)} if message.boundary else {}
        return _json({"type": message.kind, **_message(message), **boundary}) + "\n"

    def end(self, outcome: ExportOutcome) -> str:
        return _json({"type": "end", **_tail(outcome)}) + "\n"


def _head(facts: ExportFacts) -> dict[str, Any]:
    session = {
        "id": facts.id, "store": facts.store, "title": facts.title, "name": facts.name, "source": facts.source,
        "model": facts.model, "cwd": facts.cwd, "started_at": _time(facts.started_at),
        "last_active": _time(facts.last_active),
        "ended_at": _time(facts.ended_at) if facts.ended_at is not None else None, "end_reason": facts.end_reason,
        "parent": facts.parent or None, "parts": facts.parts, "messages_total": facts.messages,
        "messages_in_context": facts.in_context, "compactions": facts.compactions,
    }  # fmt: skip
    return {
        "format": FORMAT, "version": VERSION, "exported_at": facts.exported_at.isoformat(timespec="seconds"),
        "view": facts.view, "masked": facts.redacted, "system_prompt": facts.system_prompt or None, "session": session,
    }  # fmt: skip


def _message(message: ExportedMessage) -> dict[str, Any]:
    row = message.row
    value: dict[str, Any] = {
        "id": message.id, "kind": message.kind, "role": row.role, "content": row.content,
        "tool_calls": row.tool_calls, "tool_call_id": row.tool_call_id or None,
        "tool_name": row.tool_name or None, "reasoning": row.reasoning or None,
        "finish_reason": row.finish_reason or None, "timestamp": _time(row.timestamp), "state": row.state,
        "shortened": message.shortened, "rows": message.rows,
    }  # fmt: skip
    if message.kind == "handoff":
        value |= {"summary": message.summary, "rules": message.rules or None}
    return value | ({"extra": row.extra} if row.extra else {})


def _boundary(boundary: Boundary, planned: ExportPlan) -> dict[str, Any]:
    return {
        "handoff_id": boundary.handoff_id, "at": _time(boundary.time) if boundary.time else None,
        "by": planned.by[boundary.handoff_id], "run": boundary.run, "inherited": boundary.inherited,
        "before_message_id": boundary.cut_id,
        "messages_before": boundary.messages_before, "messages_after": boundary.messages_after,
        "summarised_ids": boundary.summarised_ids, "kept_ids": boundary.kept_ids,
        "shortened_ids": boundary.shortened_ids,
    }  # fmt: skip


def _tail(outcome: ExportOutcome) -> dict[str, Any]:
    return {
        "complete": outcome.complete, "missing": outcome.missing, "note": outcome.note,
        "masked_places": outcome.redacted,
    }  # fmt: skip


def _time(epoch: float) -> str | None:
    at: datetime | None = moment(epoch)
    return at.isoformat() if at else None


def _json(value: dict[str, Any]) -> str:
    """The value on one line. Values that JSON cannot express are written as text, so that every reader accepts the
    file.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_other)
    except (ValueError, RecursionError):
        text = json.dumps(_sayable(value), ensure_ascii=False, default=_other)
    return sanitized(text) if text.isascii() else sanitized(text).translate(_LINES)


# Lawful in JSON, but some programs end a line there.
_LINES = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def _other(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else repr(value)


_DEEPEST = 100


def _sayable(value: Any, depth: int = 0) -> Any:
    """The value with invalid numbers as text, and without what is nested too deeply to be written."""
    if isinstance(value, float):
        return value if value - value == 0 else repr(value)
    if not isinstance(value, (list, tuple, dict)):
        return value
    if depth == _DEEPEST:
        return "(nested too deeply to be exported)"
    if isinstance(value, dict):
        return {key: _sayable(item, depth + 1) for key, item in value.items()}
    return [_sayable(item, depth + 1) for item in value]
