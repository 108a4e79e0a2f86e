"""A boundary on a page: what one compaction did, its summary, the messages it summarised and kept, its undo."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from django.utils.html import format_html
from django.utils.safestring import SafeString

from compaction.handoff import rules_in, without_rules
from viewer.history import records, undo
from viewer.pages.redaction import redacted_text
from viewer.rendering import blocks, diffs, formats, markdown
from viewer.rendering.texts import line
from viewer.runs import compaction_list, service
from viewer.runs.detail_loss import lines_in, stored_report
from viewer.stores.message import Handoff, ReportedCompaction, parted
from viewer.stores.registry import Reader
from viewer.stores.transcript import Boundary, TranscriptIndex, Weight
from viewer.web.session_urls import SessionUrls

from .audits import AuditStatus, standing_of
from .opened import OpenSession
from .rules import ShownRules, shown_rules

LISTED = 200  # messages of a list shown at once
CLAMP, CLAMP_LINES = 900, 16  # a handoff longer than this is clamped until "Show all"
FIRST_WORDS = 160


@dataclass(frozen=True, slots=True)
class ShownSummary:
    """The handoff of a compaction as text: never shown as somebody's words. `length` is in characters, `rules` are
    carried along.
    """

    html: SafeString
    length: int
    long: bool
    rules: ShownRules | None
    directive: str


@dataclass(frozen=True, slots=True)
class ShownBoundary:
    """One compaction, or an `inherited` handoff with which the session began. The tag `part` caches it by a pickle: its
    time is text, because that changes with the clock, and it has no index, whose arrays are long.

    `no_undo` says why it cannot be undone, "" if it can; if a later compaction is the reason, with a link to it.
    `unsure`: the summarised messages may have been taken back before; `earlier`: there is a summary before this one;
    `reading` is the state of the startup reading after it, None if nobody follows it. `lost` is how many lines are
    lost; of an agent's compaction they are counted when somebody opens it, until then `lost` is None. `edited`: a
    person changed the summary before it was written.
    """

    template: ClassVar[str] = "boundary/_boundary.html"
    id: int
    place: SessionUrls
    inherited: bool
    by: str
    run: int | None
    time: SafeString
    messages_before: int
    messages_after: int
    tokens_before: Weight
    tokens_after: Weight
    summary: ShownSummary
    summarised: int
    kept: int
    shortened: int
    shortens: bool
    lost: int | None
    edited: bool
    earlier: bool
    reading: AuditStatus | None
    no_undo: str | SafeString
    marked: bool
    unsure: bool
    reported: str


def shown_boundary(handoff: Handoff, opened: OpenSession, marked: int | None) -> ShownBoundary:
    """A boundary as the page shows it."""
    boundary = find(opened, handoff.boundary.handoff_id)
    before, after = compaction_list.weights(opened.index, [boundary])[boundary.handoff_id]
    report = stored_report(boundary.run)
    return ShownBoundary(
        id=boundary.handoff_id,
        place=opened.urls,
        inherited=boundary.inherited,
        by=compaction_list.by(opened.reader.store, boundary.run, handoff),
        run=boundary.run,
        time=formats.known_moment(boundary.time),
        messages_before=boundary.messages_before,
        messages_after=boundary.messages_after,
        tokens_before=before,
        tokens_after=after,
        summary=summary_text(handoff.summary, handoff.directive, boundary.run, redacting=opened.redacting),
        summarised=boundary.summarised,
        kept=boundary.kept,
        shortened=boundary.shortened,
        shortens=boundary.shortens,
        lost=lines_in(report),
        edited="edited" in report,
        earlier=earlier_boundary(opened.index, boundary) is not None,
        reading=standing_of(opened, boundary),
        no_undo=_no_undo(opened, boundary),
        marked=boundary.handoff_id == marked,
        unsure=boundary.unsure,
        reported=_reported(handoff.reported) if handoff.reported and not boundary.run else "",
    )


_TRIGGERS = {"auto": "started automatically", "manual": "started by hand"}
_SCOPES = {"up_to": "up to a message that was chosen", "from": "from a message on that was chosen"}


def _reported(noted: ReportedCompaction) -> str:
    """An agent's own report of its compaction, as a clause."""
    counts = (noted.tokens_before, "in the request before it"), (noted.tokens_after, "in the one after it")
    tokens = [f"{formats.exact(count)} tokens {where}" for count, where in counts if count]
    trigger = _TRIGGERS.get(noted.trigger) or (f"started by “{line(noted.trigger, 40)}”" if noted.trigger else "")
    return "; ".join(filter(None, [trigger, _SCOPES.get(noted.scope, ""), ", ".join(tokens)]))


def earlier_boundary(index: TranscriptIndex, boundary: Boundary) -> Boundary | None:
    """The boundary before this one, None for the first."""
    earlier = (each for each in index.boundaries if each.handoff_id < boundary.handoff_id)
    return max(earlier, key=lambda each: each.handoff_id, default=None)


def _no_undo(opened: OpenSession, boundary: Boundary) -> str | SafeString:
    """Why this compaction cannot be undone, "" if it can: a later one must be undone first."""
    newest = max(each.handoff_id for each in opened.index.boundaries)
    refusal = undo.refusal(opened.reader, opened.session, newest)
    if boundary.handoff_id == newest:
        return refusal
    covered = 'A <a href="{}">later compaction</a> came after this one.'
    return format_html(
        covered if refusal else 'Undo the <a href="{}">later one</a> first.', opened.urls.boundary(newest)
    )


def summary_text(text: str, directive: str, run: int | None = None, *, redacting: bool = False) -> ShownSummary:
    """A handoff's body as Markdown; its instructions to the model and the rules that it carries are separate.

    The source of those rules is known only to our own `run`; it is redacted here, as the text already is.
    """
    carried = rules_in(text)
    text, directive = without_rules(text), directive.strip()
    return ShownSummary(
        html=markdown.markdown(text),
        length=len(text),
        long=len(text) > CLAMP or text.count("\n") > CLAMP_LINES,
        rules=_rules(carried, run, redacting=redacting) if carried else None,
        directive=directive,
    )


def _rules(text: str, run: int | None, *, redacting: bool) -> ShownRules:
    """The rules in a handoff, with their source if that is known."""
    noted = service.rules_of(run) if run else {}
    origin = {name: noted.get(name, "") for name in ("source", "workspace")}
    return shown_rules(text, noted.get("sections", ()), **origin, redacting=redacting)


@dataclass(frozen=True, slots=True)
class ListedMessage:
    """One message in a list, with its first words. `number` is its place in History, counted from 1; 0 if it is not
    there.
    """

    id: int
    number: int
    role: str
    words: str
    shortened: bool


@dataclass(frozen=True, slots=True)
class ListedMessages:
    """Some of the `total` messages that a compaction summarises or keeps, the address of the messages after them, ""
    for none, and the number of those.
    """

    place: SessionUrls
    explained: str
    total: int
    items: tuple[ListedMessage, ...]
    next: str
    left: int


def find(opened: OpenSession, handoff_id: int) -> Boundary:
    """The boundary of this handoff. Raises AlreadyUndone, NotFound."""
    boundary = opened.index.boundary_at(handoff_id)
    if boundary is None:
        raise records.not_there(opened.urls.store, opened.urls.session, handoff_id)
    return boundary


def listed_messages(
    opened: OpenSession,
    ids: Sequence[int],
    href: str,
    explained: str,
    *,
    start: int = 0,
    most: int = LISTED,
    shortened: Collection[int] = (),
) -> ListedMessages:
    """A page of these messages from position `start` on; `href` is the address of the others."""
    stop = start + most
    items = tuple(_listed(opened, ids[start:stop], shortened))
    more = f"{href}?from={stop}" if stop < len(ids) else ""
    return ListedMessages(opened.urls, explained, len(ids), items, more, max(0, len(ids) - stop))


def _listed(opened: OpenSession, ids: Sequence[int], shortened: Collection[int]) -> Iterator[ListedMessage]:
    rows = opened.reader.previews(opened.session.id, ids)
    for message_id in ids:
        row = rows.get(message_id)
        if row is not None:
            text = line(redacted_text(row) if opened.redacting else row.text, FIRST_WORDS)
            words = text or ("calls a tool" if row.has_calls else "no text")
            yield ListedMessage(message_id, opened.number_of(message_id), row.role, words, message_id in shortened)


def shown_change(change: diffs.Change) -> blocks.Diff:
    """A change as a block for pages."""
    return blocks.Diff(diffs.as_html(change.text), change.added, change.removed)


def summary_of(reader: Reader, session_id: str, handoff_id: int) -> str:
    """A handoff's summary without the rules it carries: those are the file's words, which no summary changes."""
    row = reader.messages(session_id, [handoff_id]).get(handoff_id)
    return without_rules(parted(row).summary) if row is not None else ""
