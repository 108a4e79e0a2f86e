"""The entries that are written: a compaction in the clients' form, and the inert entry that an undo turns it into."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from viewer.stores.changes import Json

from .plan import PlannedEnd
from .records import COMPACTION, CUSTOM, CUSTOM_MESSAGE, EDIT, MARK, NOTE, UNDONE

_OWN = ("id", "parentId", "timestamp")


def compaction(
    end: PlannedEnd, entry_id: str, parent: str | None, mark: str, *, before: int, after: int, now: float
) -> Json:
    """A compaction with this id and `parent`; `before` and `after` are the tokens of the context.

    `fromHook` keeps the client from replacing our details; with `customType` it is a complete entry of another type
    once only its type is overwritten.
    """
    return _base(COMPACTION, entry_id, parent, now) | {
        "summary": end.summary,
        "firstKeptEntryId": end.first_kept or entry_id,
        "tokensBefore": before,
        "tokensAfter": after,
        "details": {"readFiles": [], "modifiedFiles": []},
        "fromHook": True,
        "customType": UNDONE,
        MARK: {"mark": mark},
    }


def note(text: str, entry_id: str, parent: str | None, mark: str, now: float) -> Json:
    """A message of the client's own with this text, which comes before edits."""
    return _base(CUSTOM_MESSAGE, entry_id, parent, now) | {
        "customType": NOTE,
        "content": text,
        "display": True,
        MARK: {"mark": mark},
    }


def edit(target: str, content: Any, entry_id: str, parent: str | None, mark: str, now: float) -> Json:
    """A new content for the message of an entry; None leaves the message out."""
    return _base(EDIT, entry_id, parent, now) | {
        "targetId": target,
        "replacement": None if content is None else {"content": content},
        "customType": UNDONE,
        MARK: {"mark": mark},
    }


def _base(kind: str, entry_id: str, parent: str | None, now: float) -> Json:
    return {"type": kind, "id": entry_id, "parentId": parent, "timestamp": timestamp(now)}


def undone(value: Mapping[str, Any]) -> Json:
    """The same entry without a meaning to a model: its id, parent and time stay, everything else moves under `data`."""
    data = {name: each for name, each in value.items() if name not in ("type", *_OWN)}
    return {"type": CUSTOM, **_own(value), "customType": UNDONE, "data": data}


def redone(value: Mapping[str, Any]) -> Json:
    """The compaction that `undone` made this entry from."""
    data = value.get("data")
    return {"type": COMPACTION, **_own(value), **(data if isinstance(data, dict) else {})}


def _own(value: Mapping[str, Any]) -> Json:
    return {name: value.get(name) for name in _OWN}


def header(session_id: str, now: float) -> Json:
    """The first entry's fields that a new session changes."""
    return {"id": session_id, "timestamp": timestamp(now)}


def tokens_before(value: Mapping[str, Any] | None) -> int:
    """The tokens before it that a compaction recorded, 0 for none."""
    tokens = (value or {}).get("tokensBefore")
    return tokens if isinstance(tokens, int) else 0


def mark_in(value: Mapping[str, Any] | None) -> str:
    """The mark of a compaction of ours, "" where it has none."""
    mark_object = (value or {}).get(MARK)
    mark = mark_object.get("mark") if isinstance(mark_object, dict) else None
    return mark if isinstance(mark, str) else ""


def encoded(value: Mapping[str, Any]) -> bytes:
    """An entry as the clients write it, on one line without a line end."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def timestamp(now: float) -> str:
    """A time (epoch seconds) in milliseconds, as the clients write it."""
    iso_time = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
    return iso_time.replace("+00:00", "Z")
