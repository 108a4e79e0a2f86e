"""The top of a session's pages: its name, its facts, how much of it is in context, its views, its related sessions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from compaction.redaction import redact_shown
from viewer.catalog import needs_compaction
from viewer.pages.parts.opened import OpenSession
from viewer.pages.redaction import name, redacted_session
from viewer.rendering import formats
from viewer.rendering.texts import line
from viewer.stores.base import ChildSession, ReportedUsage, Session, Store
from viewer.stores.errors import NotFound
from viewer.stores.registry import agent_of
from viewer.stores.transcript import NONE, TranscriptIndex
from viewer.web.session_urls import SessionUrls

VIEWS = (("", "History"), ("context", "What the model sees"))
KIN = 20  # sessions of each kind that are named


@dataclass(frozen=True, slots=True)
class RelatedSessions:
    """Related sessions: the relation, and (name, address) of each; `more` are not named."""

    label: str
    sessions: tuple[tuple[str, str], ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Header:
    """The top of every view of a session. `view` is "", "context", "rows" or "abandoned"; `index` has how much is
    compacted.

    `tokens` is how much of the window is in context, as a text, `share` the same in percent, at most 100; `fullness` is
    what colours its bar (`needs_compaction.fullness`).
    `branch_of` is the name of the session this one was branched from, "" for none; `resume` is the command to continue,
    "" if unknown; `untried` is the agent's version that wrote it, if newer than all tried ones, else "".
    """

    session: Session
    index: TranscriptIndex
    place: SessionUrls
    view: str
    facts: tuple[str | SafeString, ...]
    tokens: SafeString
    share: int
    fullness: str
    branch_of: str
    branch_href: str
    resume: str
    untried: str
    kin: tuple[RelatedSessions, ...]

    @property
    def views(self) -> list[tuple[str, str, bool]]:
        """(address, label, whether it is this one)"""
        return [(self.place.view(view), label, view == self.view) for view, label in VIEWS]


def header(opened: OpenSession, view: str = "") -> Header:
    """The header's data, with token counts as exact as they are known."""
    session, usage = opened.session, opened.reader.usage(opened.session.id)
    tokens, used = _tokens(opened, usage.tokens), opened.index.context.tokens if usage.tokens is None else usage.tokens
    branch_of, branch_href = _origin(opened, session.branched_from)
    is_gone_on_with = session.last_active >= needs_compaction.lately() and not (
        session.archived or session.ended_at is not None or session.delegated_from
    )
    is_near = needs_compaction.is_near(opened.reader.store, session.model, opened.window, used)
    return Header(
        session=session,
        index=opened.index,
        place=opened.urls,
        view=view,
        facts=tuple(fact for fact in _facts(opened, usage) if fact),
        tokens=tokens,
        share=min(100, round(100 * used / opened.window)) if opened.window else 0,
        fullness=needs_compaction.fullness(opened.window, used, near=is_gone_on_with and is_near),
        branch_of=branch_of,
        branch_href=branch_href,
        resume="" if session.continued else resume_command(opened.reader.store, session.id, redacting=opened.redacting),
        untried=agent_of(opened.reader.store).untried_version(session.id),
        kin=tuple(_kin(opened)),
    )


def resume_command(store: Store, session_id: str, *, redacting: bool) -> str:
    """The command in a terminal that continues a session; "" if no known agent would (for the demo store, or a
    sub-agent), or if it has a secret in it that is redacted.
    """
    agent = agent_of(store)
    if store.is_managed or not agent.is_known:
        return ""
    command = agent.resume_command(session_id)
    return "" if redacting and redact_shown(command) != command else command


def _origin(opened: OpenSession, session_id: str) -> tuple[str, str]:
    """Name and address of the session this one came from; the address is "" if it is gone."""
    if not session_id:
        return "", ""
    try:
        origin = opened.reader.session(session_id)
    except NotFound:
        return line(session_id, 120), ""
    origin = redacted_session(origin) if opened.redacting else origin
    return line(origin.name, 120), SessionUrls(opened.reader.store.name, origin.id).href


def times(count: int) -> str:
    """ "once", "twice", "3 times"; "" for never."""
    return {0: "", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _facts(opened: OpenSession, usage: ReportedUsage) -> list[str | SafeString]:
    session, index = opened.session, opened.index
    compactions = len(index.compactions)
    return [
        line(session.source, 40),
        line(name(session.model, opened.redacting), 60),
        line(session.git_branch, 60),
        in_context(index),
        f"{formats.counted(index.unlinked, 'message')} not sent any more" if index.unlinked else "",
        _spent(usage),
        f"compacted {times(compactions)}" if compactions else "never compacted",
        f"{session.parts} parts" if session.parts > 1 else "",
        format_html("last active {}", formats.ago(session.last_active)),
        f"ended ({line(session.end_reason, 40) or 'closed'})" if session.ended_at is not None else "",
        "archived" if session.archived else "",
    ]


def _spent(reported: ReportedUsage) -> SafeString | str:
    """The cost of all requests of the session, in dollars and tokens, as far as the agent noted it."""
    dollars = reported.cost.dollars if reported.cost else 0.0
    is_least = bool(reported.cost and reported.cost.is_least)
    cost = formats.dollars(dollars, is_least=is_least) if dollars else ""
    tokens = format_html("{} tokens used in all", formats.number(reported.total)) if reported.total else ""
    return format_html_join(", ", "{}", ((each,) for each in (cost, tokens) if each))


def _tokens(opened: OpenSession, reported: int | None) -> SafeString:
    """How much of the window is in context: as the agent noted it, on hover with what of that is messages, or else as
    its messages are counted here. The drawing and the plan show messages alone.
    """
    context = opened.index.context
    if reported is None:
        alone = f"{context.tokens:,} of {opened.window:,} tokens in messages: the agent reports no number of its own"
        return formats.of_window(
            context.tokens, opened.window, about=context.about, title=f"about {alone}" if context.about else alone
        )
    about = "about " if context.about else ""
    if reported <= context.tokens:
        older = f"{reported:,} reported by the agent for its last request; {about}{context.tokens:,} in messages now"
        return format_html("{} reported", formats.of_window(reported, opened.window, title=older))
    parts = f"{reported:,} reported by the agent, {about}{context.tokens:,} in messages; the rest: its prompt and tools"
    return formats.of_window(reported, opened.window, title=parts)


def in_context(index: TranscriptIndex) -> str:
    """ "239 of 1,246 messages and the summary in context": the summary, or the note of a compaction that only shortens,
    is not one of them, although elsewhere it counts as a message of the context. Records that the agent keeps for
    itself are never counted.
    """
    summaries = sum(index.places[number] == NONE for number in index.live)
    live, messages = len(index.live) - summaries, index.messages - index.records
    newest = max(index.compactions, key=lambda boundary: boundary.handoff_id, default=None)
    one = "note" if newest and newest.shortens else "summary"
    summary = f" and the {one}" if summaries == 1 else f" and {summaries} summaries" if summaries else ""
    if live == messages and not summaries:
        return f"{formats.counted(messages, 'message')}, all in context" if messages else "no messages"
    return f"{live:,} of {formats.counted(messages, 'message')}{summary} in context"


# -- relations ---------------------------------------------------------------------------------------------------------


def _kin(opened: OpenSession) -> Iterator[RelatedSessions]:
    """The sessions that this one came from, and those that came from it."""
    session, store = opened.session, opened.reader.store.name
    parts = opened.reader.parts(session.id) if session.parts > 1 else [session.id]
    if session.parent and session.parent != session.branched_from and len(parts) == 1:
        origin = _origin(opened, session.parent)
        yield RelatedSessions(
            "Sub-agent session of" if session.delegated_from == session.parent else "Follows", (origin,)
        )
    if len(parts) > 1:
        numbered = [(f"part {at}", SessionUrls(store, part).view("rows")) for at, part in enumerate(parts, 1)]
        yield RelatedSessions("Raw rows of its parts", tuple(numbered[:KIN]), max(0, len(numbered) - KIN))
    if branches := opened.reader.abandoned(session.id):
        pairs = [
            (formats.counted(len(each.ids), "message"), opened.urls.abandoned(at)) for at, each in enumerate(branches)
        ]
        yield RelatedSessions("Left by going back", tuple(pairs[:KIN]), max(0, len(pairs) - KIN))
    born = [child for child in opened.reader.children(parts) if child.id not in parts]
    for kind, label in (("branch", "Branches"), ("delegate", "Sub-agent sessions"), ("", "Followed by")):
        yield from _listed(label, [child for child in born if child.kind == kind], store, opened.redacting)


def _listed(label: str, born: list[ChildSession], store: str, redacting: bool) -> Iterator[RelatedSessions]:
    if born:
        named = tuple(
            (line(name(child.title, redacting), 60) or line(child.id, 60), SessionUrls(store, child.id).href)
            for child in born[:KIN]
        )
        yield RelatedSessions(label, named, len(born) - len(named))
