"""The top of a session's pages: its name, what it is, how much of it is in context, its views."""

from __future__ import annotations

import time
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.safestring import SafeString

from viewer.runs.pickup import resume_command
from viewer.store.errors import NotFound
from viewer.store.sessions import Session, get_session
from viewer.store.stores import Reader

from . import formats
from .addresses import Place
from .gauge import Gauge, Totals, context_gauge, totals
from .texts import line

ACTIVE_SECONDS = 300  # the owner's own dashboard calls a session active so long after its last message
VIEWS = (("", "History"), ("context", "What the model sees"))


@dataclass(frozen=True, slots=True)
class Header:
    """What every view of a session says first. `view` is "", "context" or "rows".

    `branch_of` is the name of the session this one was branched from, "" for none; `resume` what to type to go on.
    """

    name: str
    store: str
    id: str
    facts: tuple[str | SafeString, ...]
    active_now: bool
    compactions: int
    place: Place
    view: str
    ours: bool
    branch_of: str
    branch_href: str
    resume: str

    @property
    def views(self) -> list[tuple[str, str, bool]]:
        """(address, label, whether it is this one)"""
        return [(self.place.view(name), label, name == self.view) for name, label in VIEWS]


def header(reader: Reader, session: Session, view: str = "") -> Header:
    """The header's data, with token counts as exact as the store can tell."""
    counts, gauge = totals(reader, session), context_gauge(reader, session)
    place = Place(reader.store.name, session.id)
    branch_of, branch_href = _branch_of(reader, session)
    return Header(
        name=line(session.name, 200),
        store=session.store,
        id=session.id,
        facts=tuple(fact for fact in _facts(session, counts, gauge) if fact),
        active_now=is_active(session),
        compactions=counts.compactions,
        place=place,
        view=view,
        ours=reader.store.ours,
        branch_of=branch_of,
        branch_href=branch_href,
        resume=resume_command(session.id),
    )


def _branch_of(reader: Reader, session: Session) -> tuple[str, str]:
    """Name and address of the session this one was branched from; the address is "" where it is gone."""
    if not session.branched_from:
        return "", ""
    try:
        origin = get_session(reader, session.branched_from)
    except NotFound:
        return session.branched_from, ""
    return line(origin.name, 120), Place(reader.store.name, origin.id).href


def is_active(session: Session) -> bool:
    """Open, and something was said within the last five minutes."""
    return session.ended_at is None and 0 <= time.time() - session.last_active < ACTIVE_SECONDS


def times(count: int) -> str:
    """ "once", "twice", "3 times"; "" for never."""
    return {0: "", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _facts(session: Session, counts: Totals, gauge: Gauge) -> list[str | SafeString]:
    return [
        line(session.source, 40),
        line(session.model, 60),
        in_context(counts),
        formats.of_window(gauge.tokens, gauge.window, about=gauge.about),
        f"compacted {times(counts.compactions)}" if counts.compactions else "never compacted",
        f"{session.parts} parts" if session.parts > 1 else "",
        format_html("last active {}", formats.ago(session.last_active)),
        f"ended ({line(session.end_reason, 40) or 'closed'})" if session.ended_at is not None else "",
        "archived" if session.archived else "",
    ]


def in_context(counts: Totals) -> str:
    """ "239 of 1,246 messages in context"."""
    if counts.in_context == counts.messages:
        return f"{formats.counted(counts.messages, 'message')}, all in context" if counts.messages else "no messages"
    return f"{counts.in_context:,} of {formats.counted(counts.messages, 'message')} in context"
