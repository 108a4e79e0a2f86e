"""Lines of the catalog as pages show them: one session each, in one list over all stores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from viewer.catalog import lines
from viewer.catalog.lines import SessionList
from viewer.catalog.models import SessionIndex, name_of
from viewer.labels.models import SessionLabel
from viewer.labels.sessions import Labels
from viewer.pages.filters import Link
from viewer.pages.redaction import name as redacted
from viewer.rendering import formats
from viewer.rendering.texts import line as one_line
from viewer.web.session_urls import SessionUrls
from viewer.web.unreadable import UnreadableLine, lines_of
from viewer.web.url_segments import segment

UNCOUNTED = "not counted yet"


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One session in the list. `key` names it in a form; `mark` is the id of its line on the page, `share` the part of
    its window that is filled, 0 to 100; `directory` the name of its working directory `cwd`; `state` is what is most
    urgent about it: "running", "needs compaction", "compacted"; `goes_on` the session that it seems to continue, though
    nothing says so. `tags`, `note` and `pinned` are what somebody added here, or the agent's own pin.
    """

    key: str
    mark: str
    href: str
    name: str
    store: str
    source: str
    model: str
    parts: int
    cwd: str
    directory: str
    branch: str
    tokens: SafeString | str
    cost: str
    cost_said: str
    share: str
    context: str
    messages: str
    compacted: str
    last_active: SafeString
    state: str
    ended: bool
    archived: bool
    near: bool
    goes_on: Link | None
    tags: tuple[str, ...]
    note: str
    pinned: bool


def shown_lines(
    listed: SessionList, labels: Labels, *, redacting: bool
) -> tuple[tuple[SessionLine, ...], tuple[UnreadableLine, ...]]:
    """The lines of a page, in order, and those that cannot be shown; with `redacting`, without what looks like a secret
    in their names.
    """
    stores = {listing.state.pk: listing.store.name for listing in listed.listings if listing.state}
    near = {kind.pk for kind in listed.kinds if kind.near}
    seem, active = lines.guessed(listed.lines), listed.active()

    def make(each: SessionIndex) -> SessionLine | UnreadableLine:
        store = stores[each.state_id]
        if each.problem:
            return UnreadableLine(one_line(redacted(each.title, redacting), 80), store, each.problem)
        label = labels.of((store, each.session_id))
        state = "running" if each.pk in active else "needs compaction" if each.kind_id in near else ""
        return shown_line(each, store, state, seem.get(each.pk), label, redacting, near=each.kind_id in near)

    return lines_of(listed.lines, make, lambda each: (each.session_id, stores[each.state_id]))


def shown_line(
    each: SessionIndex,
    store: str,
    state: str,
    before: SessionIndex | None,
    label: SessionLabel,
    redacting: bool,
    *,
    near: bool,
) -> SessionLine:
    """A line of the list; `before` is the session that it seems to continue."""
    return SessionLine(
        key=f"{segment(store)}/{segment(each.session_id)}",
        mark=f"l{each.pk}",
        href=SessionUrls(store, each.session_id).href,
        name=one_line(redacted(name_of(each), redacting), 120),
        store=store,
        source=one_line(redacted(each.source, redacting), 30),
        model=one_line(redacted(each.model, redacting), 40),
        parts=each.parts,
        tokens=UNCOUNTED if each.tokens is None else formats.of_window(each.tokens, each.window, about=each.due),
        share=f"{100 * min(1.0, (each.tokens or 0) / each.window):.1f}" if each.window else "0.0",
        directory=one_line(redacted(os.path.basename(each.cwd.rstrip("/")), redacting), 40),
        cwd=one_line(redacted(each.cwd, redacting), 300),
        branch=one_line(redacted(each.git_branch, redacting), 40),
        cost=formats.short_dollars(each.cost, is_least=each.cost_is_least) if each.cost else "",
        cost_said=formats.dollars(each.cost, is_least=each.cost_is_least) if each.cost else "",
        context=in_context(each.in_context, each.messages),
        messages=of_messages(each.in_context, each.messages),
        compacted=f"compacted {times(each.compactions)}" if each.compactions else "",
        last_active=formats.ago(each.last_active),
        state=state or ("compacted" if each.compactions else ""),
        ended=each.ended_at is not None,
        archived=each.archived,
        near=near,
        goes_on=None if before is None else _link(store, before, redacting),
        tags=tuple(one_line(redacted(tag, redacting), 30) for tag in label.tags),
        note=one_line(redacted(label.note, redacting), 200),
        pinned=each.pinned or label.pinned,
    )


def _link(store: str, each: SessionIndex, redacting: bool) -> Link:
    return Link(one_line(redacted(name_of(each), redacting), 80), SessionUrls(store, each.session_id).href)


def in_context(live: int, messages: int | None) -> str:
    """ "239 of 1,246 messages in context"; without the second number while it is not counted."""
    if messages is None:
        return f"{formats.counted(live, 'message')} in context"
    if live == messages:
        return f"{formats.counted(messages, 'message')}, all in context" if messages else "no messages"
    return f"{live:,} of {formats.counted(messages, 'message')} in context"


def of_messages(live: int, messages: int | None) -> str:
    """ "239 of 1,246", the messages in context and all; one number where that is all, or all is not counted."""
    return f"{live:,}" if messages in (None, live) else f"{live:,} of {messages:,}"


def times(count: int) -> str:
    """ "once", "twice", "3 times"; "" for never."""
    return {0: "", 1: "once", 2: "twice"}.get(count, f"{count} times")


def named(found: Sequence[SessionIndex], *, redacting: bool) -> dict[str, str]:
    """The names of sessions, by id."""
    return {each.session_id: one_line(redacted(name_of(each), redacting), 80) for each in found}
