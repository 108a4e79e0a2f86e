"""A session's first words and the time of its last message, from a few rows that an index finds.

Every schema has an index over (session_id, active, timestamp); rows of each state are read separately, because only
then the index gives an order.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import compaction
from compaction import messages
from compaction.handoff import ENGINE_STARTS, LEGACY_HEADER, restated
from viewer import times
from viewer.stores.base import LONGEST_FIRST_WORDS
from viewer.stores.envelopes import split

from .codec import JSON_MARK, decode_content
from .database import OpenStore
from .envelopes import ENVELOPES

READ = 20_000  # bytes of a first request that are read
EARLIEST, NEWEST = 12, 3  # rows of each state that are searched for the first request, and for the last activity


def last_active(reader: OpenStore, session_id: str) -> float:
    """The time of the newest message, 0.0 for none, or where no row has a plausible time. A handoff of ours is not
    activity of the agent: it must not make an idle session look active.
    """
    header = LEGACY_HEADER
    latest = time.time() + times.AHEAD
    for most in (latest, 1000 * latest):  # a number above the latest time in seconds may be milliseconds
        rows = _by_state(
            reader,
            session_id,
            f"SELECT timestamp, substr(COALESCE(content, ''), 1, ?) FROM messages WHERE timestamp <= {most!r} "
            "AND session_id = ?{state} ORDER BY timestamp DESC LIMIT ?",
            [len(header)],
            NEWEST,
        )
        if newest_time := max((times.known(at) for at, start in rows if start != header), default=0.0):
            return newest_time
    return 0.0


def first_words(reader: OpenStore, session_id: str) -> str:
    """The beginning of the conversation; a handoff does not count."""
    rows = _by_state(
        reader,
        session_id,
        "SELECT id, role FROM messages WHERE session_id = ?{state} ORDER BY timestamp LIMIT ?",
        [],
        EARLIEST,
    )
    for row_id in sorted(row_id for row_id, role in rows if role == "user")[:2]:
        if text := _own_words(_text_start(reader, row_id)):
            return " ".join(text.split())[:LONGEST_FIRST_WORDS]
    return ""


def _by_state(reader: OpenStore, session_id: str, sql: str, before: Sequence[Any], limit: int) -> list[tuple[Any, Any]]:
    """Rows of one session by time, separately for each state."""
    if "active" not in reader.columns.messages:
        return reader.con.execute(sql.format(state=""), [*before, session_id, limit]).fetchall()
    return [
        row
        for state in ("= 1", "= 0", "IS NULL")
        for row in reader.con.execute(sql.format(state=f" AND active {state}"), [*before, session_id, limit]).fetchall()
    ]


def _own_words(text: str) -> str:
    """The text without a handoff, which may be cut, and without what an agent put around a request."""
    if not compaction.is_handoff({"content": text}) and text.lstrip().startswith(ENGINE_STARTS):
        return ""
    words = messages.said(messages.live_content({"content": text}))
    parts = split(restated(words) or words, ENVELOPES)
    return "" if parts.kind else parts.words


def _text_start(reader: OpenStore, row_id: int) -> str:
    """The beginning of a row's text; "" for a list of parts that is too long to be read here."""
    start = reader.columns.dialect.start.format("content", READ)
    stored = reader.con.execute(f"SELECT {start} FROM messages WHERE id = ?", [row_id]).fetchone()
    content = decode_content(stored[0]) if stored else None
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = next((text for text in texts if isinstance(text, str)), None)
    return content if isinstance(content, str) and not content.startswith(JSON_MARK) else ""
