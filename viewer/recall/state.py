"""What a session's context is now: what its newest compaction lost, and what the model sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from compaction import redaction
from viewer.history import index_cache
from viewer.runs import compaction_list
from viewer.runs.detail_loss import is_needed, losses, lost_detail, ranked
from viewer.stores.base import Session
from viewer.stores.clean_text import clean
from viewer.stores.message import Handoff
from viewer.stores.registry import Reader
from viewer.usage import counting

COUNTING_SECONDS = 2.0  # that an answer waits for tokens nobody has counted yet
NEEDED, OTHERS = 20, 25  # lost lines of an answer: without which the next turn fails, and others
LINE = 400  # characters of one


@dataclass(frozen=True, slots=True)
class LostLine:
    """Something that no message in context says any more. `message` is the message that says it, None if only an
    earlier summary does; `above` is the heading that it is under, `by` who says it: person, agent, summary, call or
    tool.
    """

    text: str
    message: int | None
    by: str
    above: str
    matters: str


@dataclass(frozen=True, slots=True)
class WhatWasLost:
    """The report of the newest compaction, at `time` in epoch seconds, None for unknown, `by` somebody: the last
    request with its message (None for none), whether it is unanswered and in context; lines that the next turn needs,
    and other lost ones, the most important first; `lost` counts all. With `summarised` 0 nothing was compacted.
    """

    time: float | None
    by: str
    summarised: int
    request: str
    request_message: int | None
    request_open: bool
    request_kept: bool
    needed: tuple[LostLine, ...]
    others: tuple[LostLine, ...]
    lost: int


NOTHING_LOST = WhatWasLost(None, "", 0, "", None, False, True, (), (), 0)


@dataclass(frozen=True, slots=True)
class WhatIsSeen:
    """Sizes of what a model is sent: messages in context and in all, tokens (`about`: partly estimated), its window;
    how many compactions there were; the newest handoff's text, its time (None for unknown), and how many messages it
    summarised and kept; the first message that was kept.
    """

    session: Session
    in_context: int
    messages: int
    tokens: int
    about: bool
    window: int
    compactions: int
    handoff: str
    handoff_time: float | None
    summarised: int
    kept: int
    first_kept: int | None


def what_was_lost(reader: Reader, session_id: str) -> WhatWasLost:
    """What the newest compaction of a session lost. Raises NotFound, StoreUnavailable."""
    session = reader.session(reader.newest_part(session_id))
    index = index_cache.index_of(reader, session)
    if not index.compactions:
        return NOTHING_LOST
    boundary = index.compactions[-1]
    report = losses(reader, session.id, index, boundary)
    lost = [lost_detail(report, name) for name in ranked(report)]
    request = report.get("request") or {}
    return WhatWasLost(
        time=boundary.time,
        by=compaction_list.by_in(reader, session.id, boundary),
        summarised=boundary.summarised,
        request=redaction.redact_shown(clean(request.get("text", ""))),
        request_message=request.get("message"),
        request_open=bool(request.get("open")),
        request_kept=bool(request.get("kept", True)),
        needed=tuple(map(_line, [each for each in lost if is_needed(each)][:NEEDED])),
        others=tuple(map(_line, [each for each in lost if not is_needed(each)][:OTHERS])),
        lost=report.get("things") or len(lost),
    )


def _line(one: dict[str, Any]) -> LostLine:
    return LostLine(
        text=redaction.redact_shown(clean(one.get("line") or one.get("text", "")))[:LINE],
        message=one.get("message"),
        by=one.get("by", ""),
        above=redaction.redact_shown(clean(one.get("above", "")))[:100],
        matters=one.get("matters", ""),
    )


def what_the_model_sees(reader: Reader, session_id: str) -> WhatIsSeen:
    """How large the context of a session is now, and what its newest handoff says. Raises NotFound,
    StoreUnavailable.
    """
    session = reader.session(reader.newest_part(session_id))
    index = index_cache.count_some(reader, session, COUNTING_SECONDS, context_alone=True)
    newest = index.boundaries[-1] if index.boundaries else None
    shown = reader.shown(session.id, [newest]) if newest else []
    handoff = next((each.summary for each in shown if isinstance(each, Handoff)), "")
    return WhatIsSeen(
        session=session,
        in_context=len(index.live),
        messages=index.messages,
        tokens=index.context.tokens,
        about=index.context.about,
        window=counting.context_window(session.model, session.window),
        compactions=len(index.compactions),
        handoff=redaction.redact_shown(clean(handoff)),
        handoff_time=newest.time if newest else None,
        summarised=newest.summarised if newest else 0,
        kept=newest.kept if newest else 0,
        first_kept=newest.cut_id if newest else None,
    )
