"""Messages of a session: its rows, its History, windows of it, the live context.

Light rows are what History needs from each row, read without its whole text except for the few that may contain a
handoff.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import compaction
from compaction import messages
from compaction.handoff import (
    COMPACTION_STARTS,
    ENGINE_STARTS,
    HEADERS,
    MERGE_DELIMITER,
    PRIOR_HEADER,
    RESTATED_STARTS,
    SYNTHETIC_USER_STARTS,
    TASK_LIST,
    Part,
    restated,
)
from compaction.messages import RESULT_ROLES
from viewer.stores.batches import chunks
from viewer.stores.hermes.records import ASKED_CHARACTERS, END_CHARACTERS, LightRow, text_limit
from viewer.stores.message import Handoff, HistoryMessage, StoredMessage, parted
from viewer.stores.transcript import Boundary, HistoryEntry, Item, TranscriptIndex

from . import envelopes
from . import history as histories
from .codec import JSON_MARK, decode_calls, decode_content, decode_row, encode_content, number, state_of
from .columns import marks, selection
from .database import OpenStore
from .known import KnownBlock, KnownUndone
from .paths import chain

START_BYTES = 600  # of a row's content, enough to distinguish messages and to see whether it may contain a handoff


ASKED_BYTES = 4 * ASKED_CHARACTERS  # of a user's


END_BYTES = 4 * END_CHARACTERS


def light_rows(reader: OpenStore, session_id: str) -> list[LightRow]:
    """What History needs from every row of the session and the parts it continues; rows of ended parts are under."""
    sessions = chain(reader, session_id)
    return _read(reader, session_id, f"session_id IN ({marks(sessions)}) ORDER BY id", sessions)


def rows_above(reader: OpenStore, session_id: str, sessions: Sequence[str], row_id: int, limit: int) -> list[LightRow]:
    """The next rows above this id, of the session and the parts that it continues (`sessions`)."""
    where = f"session_id IN ({marks(sessions)}) AND id > ? ORDER BY id LIMIT ?"
    return _read(reader, session_id, where, [*sessions, row_id, limit])


def rows_of(reader: OpenStore, session_id: str, ids: Sequence[int]) -> dict[int, LightRow]:
    """These rows, by id, in the order of the ids; those that do not exist are absent."""
    rows = {row.id: row for chunk in chunks(ids) for row in _read(reader, session_id, f"id IN ({marks(chunk)})", chunk)}
    return {row_id: rows[row_id] for row_id in ids if row_id in rows}


def _read(reader: OpenStore, session_id: str, where: str, values: Sequence[Any]) -> list[LightRow]:
    selected = {
        "id": "NULL", "session_id": "NULL", "role": "''", "timestamp": "0", "tool_call_id": "NULL",
        "tool_calls": "NULL", "active": "1", "compacted": "0", "_compressed_summary": "0", "display_kind": "NULL",
        "message_uid": "NULL", "absorbed_message_uids": "NULL",
    }  # fmt: skip
    spelled = reader.columns.dialect
    length = f"(CASE WHEN role = 'user' THEN {ASKED_BYTES} ELSE {START_BYTES} END)"
    in_user_rows = f"CASE WHEN role = 'user' THEN {spelled.place.format('content')} ELSE 0 END"
    rows = reader.con.execute(
        f"SELECT {selection(reader.columns.messages, selected)}, {spelled.start.format('content', length)}, "
        f"{spelled.trimmed.format('content')}, {spelled.place.format('content')}, {in_user_rows}, "
        f"{spelled.end.format('content', END_BYTES)} "
        f"FROM messages WHERE {where}",
        [MERGE_DELIMITER, TASK_LIST, *values],
    ).fetchall()
    contents = _contents(reader, [row[0] for row in rows if row[8] or row[14] or row[15] or _needs_decoding(row[12])])
    return [_light_row(row, contents, session_id) for row in rows]


def _needs_decoding(start: bytes | None) -> bool:
    """Whether the start of a content is not enough for its text: it may contain a handoff, or is a list of parts."""
    return start is not None and (start.startswith(_JSON_MARK) or any(hint in start for hint in _HINTS))


_JSON_MARK = JSON_MARK.encode()


# Every handoff begins with one of these; the dash after them is escaped in stored JSON.
_MARKERS = (*HEADERS, PRIOR_HEADER, *RESTATED_STARTS, *ENGINE_STARTS)


_HINTS = tuple({marker.split("—")[0].strip().encode() for marker in _MARKERS})


_UUID4 = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}")  # uuid4().hex


_CALL_ID = re.compile(r'"(?:call_id|id)":\s*"([^"]*)"')


def _light_row(row: tuple[Any, ...], contents: dict[int, Any], session_id: str) -> LightRow:
    row_id, part, role, time, tool_call_id, calls, active, compacted, flagged, kind, uid, merged, start, size, *_ = row
    state = state_of(active, compacted)
    text, end, summary, is_restated = _folded(start), _folded(row[-1]), None, False
    if row_id in contents:
        live = contents[row_id]
        if role not in RESULT_ROLES:
            summary, live, is_restated = parts_of(live, bool(flagged))
        text = end = " ".join(messages.text(live).split())
        size = len((encode_content(live) or "").strip().encode())
    calls_text = calls if isinstance(calls, str) else ""
    own = text and not is_restated  # a request that is repeated after a summary belongs to another row
    return LightRow(
        id=row_id,
        role=str(role or ""),
        state="under" if state == "live" and part != session_id else state,
        time=number(time),
        tool_call_id=str(tool_call_id or ""),
        calls=" ".join(_CALL_ID.findall(calls_text)),
        text=text[: text_limit(str(role or ""))],
        end=end[-END_CHARACTERS:],
        size=(size or 0) + len(calls_text),
        handoff="" if summary is None else "merged" if own or decode_calls(calls) else "standalone",
        handoff_key=_key(summary),
        uid=str(uid or ""),
        named=_UUID4.fullmatch(str(uid or "")) is not None,
        absorbed=_absorbed(merged),
        restated=is_restated,
        scaffold=role == "user"
        and (kind == "hidden" or is_restated or (kind != "steer" and text.startswith(SYNTHETIC_USER_STARTS))),
        of_compaction=role == "user" and text.startswith(COMPACTION_STARTS),
    )


def _absorbed(stored: Any) -> tuple[str, ...]:
    """The names in a stored `absorbed_message_uids`."""
    try:
        names = json.loads(stored) if stored else None
    except (ValueError, TypeError, RecursionError):
        return ()
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def handoff_key(content: Any) -> str:
    """`LightRow.handoff_key` of a row with this content: the same for the same summary."""
    return _key(parts_of(content, flagged=True)[0])


def _key(summary: str | None) -> str:
    return "" if summary is None else hashlib.blake2b(summary.encode("utf-8", "replace")).hexdigest()


def parts_of(content: Any, flagged: bool) -> tuple[str | None, Any, bool]:
    """The text of the handoff in a content, None for none; the content without it and without the agent's additions;
    and whether that is only a repeated request.
    """
    parts = compaction.split(content, flagged=flagged)
    summaries = [part.text for part in parts if part.kind == "summary"]
    messages_parts = [part for part in parts if part.kind != "summary"]
    own = [part for part in messages_parts if restated(part.text) is None]
    if messages_parts and not own:
        return "\n".join(summaries) if summaries else None, restated(messages_parts[-1].text), True
    live = [_own_words(part) for part in own]
    content = live[0] if len(live) == 1 else "\n\n".join(map(messages.text, live))
    return "\n".join(summaries) if summaries else None, content, False


def _own_words(part: Part) -> Any:
    return envelopes.without_task_list(part.content) if isinstance(part.content, str) else part.content


def _folded(data: bytes | None) -> str:
    """The text of bytes that may be cut within a character, white space folded."""
    return " ".join((data or b"").decode("utf-8", "ignore").split())


def _contents(reader: OpenStore, ids: Sequence[int]) -> dict[int, Any]:
    return {
        row[0]: decode_content(row[1])
        for chunk in chunks(ids)
        for row in reader.con.execute(
            f"SELECT id, content FROM messages WHERE id IN ({marks(chunk)})", chunk
        ).fetchall()
    }


# -- history ---------------------------------------------------------------------------------------------------------


def read_history(
    reader: OpenStore,
    session_id: str,
    known: Iterable[KnownBlock] = (),
    undone: Mapping[int, KnownUndone] | None = None,
) -> TranscriptIndex:
    """The History of a session and the parts it continues. Reads the start of every row's content."""
    return histories.build(light_rows(reader, session_id), known, undone)


def history_messages(reader: OpenStore, items: Iterable[Item]) -> list[HistoryMessage | Handoff]:
    """The rows of a stretch of History, in its order. A row that was deleted since the History was read is left out."""
    listed = list(items)
    rows = read_rows(reader, [item.full_id if isinstance(item, HistoryEntry) else item.handoff_id for item in listed])
    shown: list[HistoryMessage | Handoff] = []
    for item in listed:
        row = rows.get(item.full_id if isinstance(item, HistoryEntry) else item.handoff_id)
        if row is None:
            continue
        shown.append(
            HistoryMessage(item, row, own_words(row)) if isinstance(item, HistoryEntry) else handoff_of(item, row)
        )
    return shown


def own_words(row: StoredMessage) -> Any:
    """The row's live content without the additions of an agent's compaction."""
    content = parts_of(row.content, row.flagged)[1]
    return envelopes.without_marker(content) if isinstance(content, str) else content


def handoff_of(boundary: Boundary, row: StoredMessage) -> Handoff:
    parts = parted(row)
    return Handoff(boundary, row, parts.summary, parts.directive)


# -- rows ------------------------------------------------------------------------------------------------------------


def read_rows(reader: OpenStore, ids: Sequence[int]) -> dict[int, StoredMessage]:
    """The rows of these ids, whole and decoded; ids that do not exist are absent."""
    rows: dict[int, StoredMessage] = {}
    for chunk in chunks([row_id for row_id in ids if abs(row_id) < 2**63]):
        for row in _decoded(reader, f"id IN ({marks(chunk)})", chunk):
            rows[row.id] = row
    return rows


def live_context(reader: OpenStore, session_id: str) -> list[StoredMessage]:
    """The rows the agent reloads, in id order: what the model would be sent, including bookkeeping rows."""
    if "active" not in reader.columns.messages:
        return _decoded(reader, "session_id = ? ORDER BY id", [session_id])
    # In a compacted session few rows are live: the index over sessions and ids would read all of them.
    live = "SELECT id FROM messages WHERE session_id = ? AND active = 1"
    return _decoded(reader, f"id IN ({live}) ORDER BY id", [session_id])


def raw_rows(reader: OpenStore, session_id: str, *, before: int | None, limit: int) -> list[StoredMessage]:
    """At most `limit` rows of the session as stored, the newest or those below `before`, in id order."""
    below = before if before is not None else 2**63 - 1
    return _decoded(reader, "session_id = ? AND id < ? ORDER BY id DESC LIMIT ?", [session_id, below, limit])[::-1]


def next_row(reader: OpenStore, session_id: str, after: int) -> StoredMessage | None:
    """The first row of the session above this id, or None."""
    rows = _decoded(reader, "session_id = ? AND id > ? ORDER BY id LIMIT 1", [session_id, after])
    return rows[0] if rows else None


def _decoded(reader: OpenStore, where: str, values: Sequence[Any]) -> list[StoredMessage]:
    cursor = reader.con.execute(f"SELECT * FROM messages WHERE {where}", values)
    names = [column[0] for column in cursor.description]
    return [decode_row(dict(zip(names, row, strict=True))) for row in cursor.fetchall()]
