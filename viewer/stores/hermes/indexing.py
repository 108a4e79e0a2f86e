"""The index of a session's History: made from all its rows, or extended by appended ones."""

from __future__ import annotations

from viewer.stores import packing
from viewer.stores.base import NOTHING, ChangeToken
from viewer.stores.recorded import Recorded
from viewer.stores.transcript import TranscriptIndex

from . import history, messages, repeats
from .change_tokens import appended, counted_rows, read_marks
from .commit import blocks_of, undone_of
from .database import OpenStore
from .paths import chain

EXTENDED = 500  # appended rows up to which an index is extended


def token_of(reader: OpenStore, session_id: str) -> ChangeToken:
    """A token that changes when rows of the session, or of its earlier parts, are added, removed or
    change their state.
    """
    parts = chain(reader, session_id)
    digests_by_part = read_marks(reader, parts)
    digests = tuple((part, digests_by_part.get(part, NOTHING).digest) for part in parts)
    return ChangeToken(digests, max(mark.newest for mark in (*digests_by_part.values(), NOTHING)))


def build_index(reader: OpenStore, session_id: str, recorded: Recorded, newest: int) -> TranscriptIndex:
    """The index of all rows up to `newest`."""
    rows = [row for row in messages.light_rows(reader, session_id) if row.id <= newest]
    return history.build(rows, blocks_of(recorded), undone_of(recorded))


def extended(
    reader: OpenStore, session_id: str, index: TranscriptIndex, before: ChangeToken, now: ChangeToken
) -> TranscriptIndex | None:
    """The index with the rows that were appended since; None if anything else has changed or might have."""
    if [part for part, _ in before.parts] != [part for part, _ in now.parts] or before.parts[:-1] != now.parts[:-1]:
        return None
    digests = before.parts[-1][1], now.parts[-1][1]
    more, last = counted_rows(digests[1]) - counted_rows(digests[0]), max(index.ids[-1:], default=0)
    if not 0 < more <= EXTENDED:
        return None
    rows = messages.rows_above(reader, session_id, [part for part, _ in now.parts], last, more)
    if not appended(*digests, [(row.id, row.time) for row in rows]):
        return None
    if repeats.written_again(rows) or repeats.is_near(rows[0], index.newest_time):
        return None
    return packing.extended(index, rows)
