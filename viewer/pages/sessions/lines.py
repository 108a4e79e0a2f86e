"""Lines of the catalog for pages: one session each, in one list over all stores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils.html import escape
from django.utils.safestring import SafeString

from viewer.catalog import lines, needs_compaction
from viewer.catalog.lines import SessionList
from viewer.catalog.models import SessionIndex, name_of
from viewer.labels.models import SessionLabel
from viewer.labels.sessions import Labels
from viewer.pages.filters import Link
from viewer.pages.redaction import name as redacted
from viewer.rendering import formats
from viewer.rendering.marking import WordMarks
from viewer.rendering.texts import line as one_line
from viewer.web.session_urls import SessionUrls
from viewer.web.unreadable import UnreadableLine, lines_of
from viewer.web.url_segments import segment

DIRECTORY = 21  # characters of a directory's name
BEFORE, MATCHED = 20, 100  # characters before the first word of a match, and of all that is shown of it


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One session in the list: its `row` of the catalog, and the row's texts, cut and redacted for the page.

    A value that names everything that the line's HTML depends on (the tag `part`), so `last_active` is the time as
    shown now. `directory` is the name of the working directory `cwd`; `state` is the most urgent one: "running", "needs
    compaction" (`near`), "compacted"; `fullness` is what colours its bar; `goes_on` is the session that it seems to
    continue, by a guess. `tags`, `note` and `pinned` are added here by people, or `pinned` is
    the agent's own pin. `is_below`: the line of the session that started this one as a sub-agent is above it.
    `is_lifted`: it is in the section of those that need compaction. `matched` is where the words of a search are,
    if the line does not show them.
    """

    row: SessionIndex
    place: SessionUrls
    name: str
    source: str
    model: str
    cwd: str
    directory: str
    branch: str
    last_active: SafeString
    state: str
    near: bool
    fullness: str
    goes_on: Link | None
    tags: tuple[str, ...]
    note: str
    pinned: bool
    is_below: bool = False
    is_lifted: bool = False
    matched: SafeString | str = ""

    @property
    def key(self) -> str:
        """The session's name in a form (`bulk_actions.chosen`)."""
        return f"{segment(self.place.store)}/{segment(self.row.session_id)}"

    @property
    def share(self) -> str:
        """How full its window is, 0.0 to 100.0."""
        return f"{100 * min(1.0, (self.row.tokens or 0) / self.row.window):.1f}" if self.row.window else "0.0"

    @property
    def in_context(self) -> str:
        """ "239 of 1,246 messages in context"; without the second number while it is not counted."""
        live, messages = self.row.in_context, self.row.messages
        if messages is None:
            return f"{formats.counted(live, 'message')} in context"
        if live == messages:
            return f"{formats.counted(messages, 'message')}, all in context" if messages else "no messages"
        return f"{live:,} of {formats.counted(messages, 'message')} in context"

    @property
    def compacted(self) -> str:
        """ "compacted once", "compacted 3 times"; "" for never."""
        count = self.row.compactions
        return f"compacted {({1: 'once', 2: 'twice'}).get(count, f'{count} times')}" if count else ""


def shown_lines(
    listed: SessionList, labels: Labels, *, redacting: bool, q: str = ""
) -> tuple[tuple[SessionLine, ...], tuple[UnreadableLine, ...]]:
    """The lines of a page, in order, and those that cannot be shown; with `redacting`, without probable secrets in
    their names. `q` are the words of a search.
    """
    stores = {listing.state.pk: listing.store.name for listing in listed.listings if listing.state}
    near, since = {kind.pk for kind in listed.kinds if kind.is_near_and_open}, needs_compaction.lately()
    seem, active = lines.guessed(listed.lines), listed.active()

    def make(each: SessionIndex) -> SessionLine | UnreadableLine:
        store = stores[each.state_id]
        if each.problem:
            return UnreadableLine(one_line(redacted(each.title, redacting), 80), store, each.problem)
        label = labels.of((store, each.session_id))
        is_near = each.kind_id in near and each.last_active >= since
        state = "running" if each.pk in active else "needs compaction" if is_near else ""
        colour = needs_compaction.fullness(each.window, each.tokens, near=is_near)
        shown = shown_line(each, store, state, seem.get(each.pk), label, redacting, near=is_near, fullness=colour)
        return replace(shown, matched=_matched(shown, q, redacting)) if q else shown

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
    fullness: str,
) -> SessionLine:
    """A line of the list; `before` is the session that it seems to continue."""

    def shown(text: str, limit: int) -> str:
        return one_line(redacted(text, redacting), limit)

    return SessionLine(
        row=each,
        place=SessionUrls(store, each.session_id),
        name=shown(name_of(each), 120),
        source=shown(each.source, 30),
        model=shown(each.model, 40),
        cwd=shown(each.cwd, 300),
        directory=_in_the_middle(shown(os.path.basename(each.cwd.rstrip("/")), 300), DIRECTORY),
        branch=shown(each.git_branch, 40),
        last_active=formats.ago(each.last_active),
        state=state or ("compacted" if each.compactions else ""),
        near=near,
        fullness=fullness,
        goes_on=Link(shown(name_of(before), 80), SessionUrls(store, before.session_id).href) if before else None,
        tags=tuple(shown(tag, 30) for tag in label.tags),
        note=shown(label.note, 200),
        pinned=each.pinned or label.pinned,
    )


def _matched(shown: SessionLine, q: str, redacting: bool) -> SafeString | str:
    """A part of the first request, the directory or the id, with words of a search that the line does not show."""
    visible = f"{shown.name} {shown.directory}".casefold()
    unseen = [word for word in q.casefold().split() if word not in visible]
    for text in (shown.row.first_words, shown.row.cwd, shown.row.session_id) if unseen else ():
        whole = " ".join(redacted(text, redacting).split())
        places = [at for word in unseen if (at := whole.casefold().find(word)) >= 0]
        if places:
            at = min(places)
            start = max(0, at - BEFORE)
            start = whole.find(" ", start, at) + 1 or start if start else 0
            part = f"{'…' if start else ''}{whole[start:]}"
            return WordMarks(q).marked(escape(one_line(part, MATCHED)))
    return ""


def _in_the_middle(text: str, limit: int) -> str:
    """The text, shortened in its middle: names of directories differ at their ends."""
    half = (limit - 1) // 2
    return text if len(text) <= limit else f"{text[:half]}…{text[-half:]}"


def nested(shown: Sequence[SessionLine]) -> list[SessionLine]:
    """The lines in order, but those of sub-agents below the line of the session that started them, if it is there."""
    by_id = {(each.row.state_id, each.row.session_id): each for each in shown}
    below: dict[int, list[SessionLine]] = {}
    for each in shown:
        parent = by_id.get((each.row.state_id, each.row.parent)) if each.row.delegated else None
        below.setdefault(parent.row.pk if parent else 0, []).append(each)
    order: dict[int, SessionLine] = {}
    waiting = [(each, False) for each in reversed(below.get(0, []))]
    while waiting:
        each, is_below = waiting.pop()
        order[each.row.pk] = replace(each, is_below=is_below)
        waiting += [(child, True) for child in reversed(below.get(each.row.pk, []))]
    return [*order.values(), *(each for each in shown if each.row.pk not in order)]  # whose parents go round


def named(rows: Sequence[SessionIndex], *, redacting: bool) -> dict[str, str]:
    """The names of sessions, by id."""
    return {each.session_id: one_line(redacted(name_of(each), redacting), 80) for each in rows}
