"""Writing a compaction at a session's end, and finding one again that was written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from viewer.stores.changes import Commit, Edit, Json, KeepMessage, around_handoff, edits_to_json
from viewer.stores.errors import CompactionConflict, StoreReadOnly
from viewer.stores.message import StoredMessage

from . import codec, encode
from .records import with_rows
from .replay import CompactedPair, MessageUnit, OpenCodeMessages

CHANGED = (
    "Messages this summary was made from were changed or taken back since. Nothing was written and the summary is "
    "kept. Plan again."
)
NOT_AN_END = "This plan keeps other messages than an unbroken end of the session, which OpenCode cannot. Plan again."
NOT_AS_MEANT = "What was written did not read back as it was meant, and was taken back. Please report this session."
UNNAMED = "The newest messages of this session do not say which agent, model and directory it has. It is not changed."


def read(
    con: sqlite3.Connection,
    messages: OpenCodeMessages,
    session_id: str,
    units: Iterable[MessageUnit],
    *,
    sent: bool = False,
) -> dict[int, StoredMessage]:
    """These messages by number, as stored, or, with `sent`, as a model is sent them."""
    chosen = list(units)
    rows = codec.rows_of(con, {unit.record.id: unit.record for unit in chosen}.values())
    return {unit.id: codec.message_of(rows, messages, unit, session_id, sent=sent) for unit in chosen}


def token_of(ids: Sequence[int], rows: Sequence[StoredMessage]) -> Json:
    """The token of a basis: the messages in context, and a digest of what a model is sent of them."""
    digest = blake2b(digest_size=16)
    for row in rows:
        sent = (row.id, row.role, row.content, row.tool_calls, row.tool_call_id, row.reasoning, row.notes)
        digest.update(repr(sent).encode())
    return {"ids": list(ids), "digest": digest.hexdigest()}


def planned_ids(con: sqlite3.Connection, messages: OpenCodeMessages, session_id: str, token: Json) -> list[int]:
    """The planned messages, if the context still begins with them, unchanged. Raises CompactionConflict."""
    ids = messages.live[: len(token["ids"])]
    units = [messages.units[each] for each in ids if messages.is_sent(each)]
    rows = read(con, messages, session_id, units, sent=True)
    if ids != token["ids"] or token_of(ids, list(rows.values())) != token:
        raise CompactionConflict(CHANGED)
    return ids


def key_of(token: Json, edits: Sequence[Edit]) -> str:
    """The key by which a commit of these edits is found again."""
    return blake2b(repr([token["digest"], edits_to_json(edits)]).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class PreparedRows:
    """What a commit adds to these messages: its rows, and the first message that stays, "" for none."""

    messages: OpenCodeMessages
    rows: Sequence[encode.Row]
    tail: str


def prepared(
    con: sqlite3.Connection, messages: OpenCodeMessages, session_id: str, token: Json, edits: Sequence[Edit], now: float
) -> PreparedRows:
    """What the edits of a plan mean for the session now. Raises CompactionConflict, StoreReadOnly."""
    planned = planned_ids(con, messages, session_id, token)
    summary, tail = _layout(messages, planned, edits)
    speaking = encode.speakers(con, messages.records)
    if speaking is None:
        raise StoreReadOnly(UNNAMED)
    at = max(int(now * 1000), *(record.made + 1 for record in messages.records))
    key = key_of(token, edits)
    return PreparedRows(messages, encode.rows_of(session_id, speaking, summary, tail, key, at), tail)


def commit(con: sqlite3.Connection, what: PreparedRows) -> Commit:
    """Add the rows of a compaction and read them back. Raises CompactionConflict."""
    encode.insert(con, what.rows)
    after = OpenCodeMessages(with_rows(con, what.messages.records, encode.messages_of(what.rows)))
    written = after.compactions[-1] if after.compactions else None
    kept = _from(what.messages, what.tail)
    if written is None or list(written.before) != what.messages.live or after.live != [written.handoff, *kept]:
        raise CompactionConflict(NOT_AS_MEANT)
    return commit_of(con, written)


def _layout(messages: OpenCodeMessages, planned: Sequence[int], edits: Sequence[Edit]) -> tuple[str, str]:
    """The summary, and the row of the first message that stays, "" for none. Raises CompactionConflict."""
    before, content, after = around_handoff(edits)
    kept = [edit.id for edit in after if isinstance(edit, KeepMessage)]
    sent = [each for each in planned if messages.is_sent(each)]
    if before or len(kept) != len(after) or (kept and kept != sent[-len(kept) :]):
        raise CompactionConflict(NOT_AN_END)
    first = next(iter([*kept, *messages.live[len(planned) :]]), None)
    if first is not None and messages.units[first].part is not None:
        raise CompactionConflict(NOT_AN_END)  # a result cannot stay without its call, which is in the same row
    return _text_of(content), "" if first is None else messages.units[first].record.id


def _text_of(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _from(messages: OpenCodeMessages, tail: str) -> list[int]:
    """The messages from this row on: where the kept end began before an older compaction, its summary, too."""
    at = next((at for at, record in enumerate(messages.records) if record.id == tail), len(messages.records))
    records = {record.id for record in messages.records[at:]}
    return [each for each, unit in messages.units.items() if unit.record.id in records]


def find(
    con: sqlite3.Connection, messages: OpenCodeMessages, session_id: str, token: Json, edits: Sequence[Edit]
) -> Commit | None:
    """The compaction that these edits wrote, if it is in effect."""
    suffix = encode.suffix_of(key_of(token, edits), "summary")
    for each in reversed(messages.compactions):
        if each.summary.id.endswith(suffix):
            return commit_of(con, each, each.time)
    return None


def commit_of(con: sqlite3.Connection, written: CompactedPair, at: float | None = None) -> Commit:
    """A commit as it is in the database."""
    rows = encode.stored(con, (written.request.id, written.summary.id))
    receipt = {
        "handoff": written.handoff,
        "request": written.request.id,
        "summary": written.summary.id,
        "rows": [list(row) for row in rows],
        "before": list(written.before),
        "after": list(written.after),
    }
    return Commit(written.handoff, written.request.number, max(written.handoff, *written.after), receipt, at=at)
