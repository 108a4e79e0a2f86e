"""The numbers of a line that require reading messages: messages, compactions, and whether it can be compacted."""

from __future__ import annotations

import time
from itertools import pairwise

import compaction
from viewer.catalog import one_session, upsert
from viewer.catalog.models import SessionIndex, StoreState, day_number
from viewer.catalog.upsert import Prepared
from viewer.enforcement import auditing
from viewer.history import index_cache
from viewer.stores.base import ReportedUsage, Session
from viewer.stores.errors import NotFound
from viewer.stores.message import for_model, message_of, row_tokens
from viewer.stores.registry import Reader
from viewer.stores.transcript import NONE, TranscriptIndex
from viewer.usage import counting
from viewer.usage.pricing import Cost, Spending

AT_ONCE = 50  # lines; what was counted is written together
SMALLEST = 1e-6  # US dollars; less is an error of rounding
SHORT = 200  # rows; a session without a compaction that has no more is counted without keeping its History


def is_any_due(state: StoreState) -> bool:
    """Whether lines of this store are waiting to be counted."""
    return SessionIndex.objects.filter(state=state, due=True).exists()


def count_some(reader: Reader, state: StoreState, seconds: float) -> bool:
    """Count waiting lines, the most recent first, for about so many seconds; returns whether any are left."""
    until = time.monotonic() + seconds
    waiting = list(SessionIndex.objects.filter(state=state, due=True).order_by("-last_active")[:AT_ONCE])
    prepared = Prepared(state.edition)
    for line in waiting:
        if _counted(reader, line, max(0.0, until - time.monotonic())):
            prepared.lines[line.session_id] = line
        if time.monotonic() >= until:
            break
    written = upsert.commit(reader.store, state, prepared)
    return not written or len(prepared.lines) < len(waiting) or len(waiting) == AT_ONCE


def _counted(reader: Reader, line: SessionIndex, seconds: float) -> bool:
    """`count_line`; a session at which it fails stays uncounted until it changes, so that others have their turn."""
    try:
        return count_line(reader, line, seconds)
    except one_session.OF_ALL:
        raise
    except Exception as failure:
        one_session.log(reader.store.name, line.session_id, "counted", failure)
        return True


def count_line(reader: Reader, line: SessionIndex, seconds: float) -> bool:
    """Set the line's numbers from its current rows, continuing an earlier count; returns whether all are counted."""
    line.due, line.counted = False, line.mark
    if not line.tip:
        return True
    is_short = reader.rows_are_messages and not line.under and not line.continues and line.live <= SHORT
    if is_short and _count_short(reader, line):
        return True
    try:
        session = reader.session(line.session_id)
        reported = reader.usage(session.id)
        index, done = _index(reader, session, reported, seconds)
        if index.compactions:
            auditing.look(reader, session, index, arm=True)
    except NotFound:
        return True  # the next comparison takes the line away
    line.messages, line.in_context = index.messages, index.in_context
    line.live, line.compactions = len(index.live), len(index.compactions)
    line.tokens = index.tokens_live if reported.tokens is None else reported.tokens
    _note_cost(reader, line, reported)
    line.refusal = _refusal(reader, line.session_id)
    return done


def _refusal(reader: Reader, session_id: str) -> str | None:
    """Why this session alone cannot be compacted, "" if it can; None if no session of its store can be
    at the moment.
    """
    refusal = reader.refusal(session_id)
    if refusal is None:
        return ""
    return None if reader.refusal(None) else upsert.storable(refusal.message)


def _index(reader: Reader, session: Session, reported: ReportedUsage, seconds: float) -> tuple[TranscriptIndex, bool]:
    """The session's index, and whether everything needed of it is counted. If the agent reports the tokens in context,
    those of single messages are needed only for what compactions saved; pages count the others when they are shown.
    """
    if reported.tokens is not None:
        index = index_cache.index_of(reader, session)
        if not index.compactions:
            return index, True
    index = index_cache.count_some(reader, session, seconds)
    return index, NONE not in index.tokens


def _note_cost(reader: Reader, line: SessionIndex, reported: ReportedUsage) -> None:
    cost = reported.cost or Cost(0.0)
    line.cost = cost.dollars if reported.cost else None
    line.cost_is_least, line.cost_inherited = cost.is_least, cost.inherited
    line.spent = _by_day(reader, line, reported.spent) if reported.cost else {}


def _by_day(reader: Reader, line: SessionIndex, spent: Spending) -> dict[int, float]:
    """The line's own cost by the days of its requests. What is not recorded for single requests is divided by the
    replies or, where these are not known either, counts on the day of the last activity.
    """
    rest = (line.cost or 0.0) - line.cost_inherited - sum(dollars for _, dollars in spent)
    times = [] if spent else reader.reply_times(line.session_id)
    days: dict[int, float] = {}
    for at, dollars in (*spent, *((at, rest / len(times)) for at in times)):
        day = day_number(at)
        days[day] = days.get(day, 0.0) + dollars
    if not times and (rest > SMALLEST or not days):
        day = day_number(line.last_active)
        days[day] = days.get(day, 0.0) + rest
    return days


def _count_short(reader: Reader, line: SessionIndex) -> bool:
    """Count a short session without its History; False if a row may not be a message of its own."""
    rows = reader.raw(line.session_id, before=None, limit=SHORT + 1)
    if len(rows) > SHORT or any(row.state != "live" or compaction.is_handoff(message_of(row)) for row in rows):
        return False
    texts = [(row.role, repr(row.content)) for row in rows]
    moments = {(*each, row.timestamp) for each, row in zip(texts, rows, strict=True)}
    if len(moments) < len(rows) or any(one == other for one, other in pairwise(texts)):
        return False  # one may be another one, written twice
    sent, count = for_model(rows), counting.counter_for(line.model)
    line.messages = line.in_context = len(rows)
    line.live, line.compactions = len(sent), 0
    _note_cost(reader, line, reader.usage(line.session_id))
    line.tokens = sum(row_tokens(row, count) for row in sent)
    return True
