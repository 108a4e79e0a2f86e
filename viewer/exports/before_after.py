"""A boundary as a file: what a model was sent before and after a compaction, side by side or one side only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape as escaped
from itertools import groupby
from typing import Literal

from django.utils import timezone

from compaction import messages as engine
from compaction import redaction
from compaction.redaction import Replacement
from viewer.history import index_cache, records
from viewer.history.before_after import ComparedRow, SentPart, compare
from viewer.rendering import diffs
from viewer.rendering.redaction import redacted_session
from viewer.runs import compaction_list
from viewer.stores.base import Session, Store
from viewer.stores.clean_text import clean, line
from viewer.stores.errors import StoreError, StoreUnavailable
from viewer.stores.message import BOOKKEEPING_ROLES, StoredMessage, parted
from viewer.stores.registry import get_store, identity, open_store
from viewer.stores.transcript import Boundary, TranscriptIndex, Weight

from . import page, words
from .facts import about_secrets, clock
from .making import CONTENT_TYPES, Export, ExportFormat, file_name, written
from .source import ExportedMessage, ExportOutcome, ExportWindow, handoff_message, redacted_message, windows_of
from .style import STYLE
from .texts import pretty

HEADS = {"before": "Before: what the model was sent", "after": "After: what it is sent in its place"}
ABOUT = (
    "The messages of a request, in order. The system prompt, and what the agent adds to a request by itself, are not "
    "among them."
)
UNSURE = (
    "The store does not say for certain what was sent before: an earlier compaction of these messages is out of "
    "context, and either it was undone or its messages were taken back. They are shown as summarised."
)
DIFFERENCE = "What changed in it"
INHERITED = "The session began with this summary: what was sent before it is in another session."
Side = Literal["before", "after"]
SIDES: tuple[Side, Side] = ("before", "after")
COLUMNS = (
    STYLE
    + """
body { max-width: 84rem; }
.columns, .pair { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 1rem; }
.columns { position: sticky; top: 0; background: var(--paper); border-bottom: 1px solid var(--rule);
  margin-bottom: .75rem; }
.diff span { display: block; }
.add { background: light-dark(#e2efdf, #1f2f22); } .del { background: light-dark(#f7e3df, #3a2321); }
.pair .boundary { margin-top: 0; }
.pair + details { margin: -.4rem 0 .75rem; }
h2 b { margin-left: .6rem; }
.side > .word { display: none; }
@media screen and (max-width: 45rem) {
  .columns { display: none; }
  .pair { grid-template-columns: minmax(0, 1fr); }
  .side > .word { display: block; font-weight: 650; }
}
@media print {
  :root { --paper: #fff; --sheet: #fff; }
  .columns { position: static; }
  article { break-inside: avoid-page; }
}
"""
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A boundary to export, as of one moment. `by` is who compacted, `file` the identity of the store's file then."""

    store: Store
    session: Session
    index: TranscriptIndex
    boundary: Boundary
    rows: Sequence[ComparedRow]
    tokens: tuple[Weight, Weight]
    by: str
    file: tuple[int, int]


@dataclass(frozen=True, slots=True)
class ComparedMessages:
    """One row with its cells. A row in which an agent keeps a summary and a message has both."""

    row: ComparedRow
    before: tuple[ExportedMessage, ...]
    after: tuple[ExportedMessage, ...]


Band = Sequence[ComparedMessages]  # a matched row, or the rows between two of them


def comparison(store: str, session_id: str, handoff_id: int) -> Comparison:
    """Everything needed for the export. Raises NotFound, AlreadyUndone or StoreUnavailable."""
    with open_store(get_store(store)) as reader:
        session = reader.session(session_id)
        index = index_cache.index_of(reader, session)
        boundary = index.boundary_at(handoff_id)
        if boundary is None:
            raise records.not_there(reader.store.name, session_id, handoff_id)
        if index.context.about:  # as the session's page counts
            index = index_cache.count_few(reader, session, index.live_ids)
        tokens = compaction_list.weights(index, [boundary])[handoff_id]
        rows = compare(reader, session.id, index, boundary)
        by = compaction_list.by_in(reader, session.id, boundary)
        return Comparison(reader.store, session, index, boundary, rows, tokens, by, identity(reader.store))


def as_page(compared: Comparison, *, redact: bool = True) -> Export:
    """Both sides as one self-contained HTML file, redacted unless `redact` is false."""
    outcome = ExportOutcome()
    put = _put(outcome) if redact else None
    session = compared.session
    if put is not None:
        session = replace(redacted_session(session, put), model=redaction.redact_shown(session.model, put))
    name = file_name(f"{session.name} compaction {compared.boundary.handoff_id}", session.id)
    chunks = _chunks(compared, _Columns(replace(compared, session=session), redacted=redact), SIDES, outcome, put)
    return Export(f"{name}.html", CONTENT_TYPES["html"], chunks, outcome)


def as_text(compared: Comparison, side: Side, *, redact: bool) -> Iterator[bytes]:
    """One side as plain text, in pieces."""
    outcome = ExportOutcome()
    return _chunks(compared, _PlainSide(side), (side,), outcome, _put(outcome) if redact else None)


def _put(outcome: ExportOutcome) -> Replacement:
    def put(kind: str) -> str:
        outcome.redacted += 1
        return redaction.label(kind)

    return put


def _chunks(
    compared: Comparison,
    writer: ExportFormat[Band],
    sides: Sequence[Side],
    outcome: ExportOutcome,
    put: Replacement | None,
) -> Iterator[bytes]:
    sizes = [sum(_size(compared.index, getattr(row, side)) for side in sides) for row in compared.rows]

    def read(window: ExportWindow) -> list[Band]:
        rows = _read(compared, compared.rows[window.start : window.stop], sides, outcome, put)
        return [list(rows) for _, rows in groupby(rows, key=lambda each: each.row.band)]

    return written(windows_of(sizes), read, writer, outcome)


def _size(index: TranscriptIndex, part: SentPart | None) -> int:
    number = None if part is None else index.number(part.row_id)
    return 0 if number is None else index.sizes[number]


def _read(
    compared: Comparison,
    rows: Sequence[ComparedRow],
    sides: Sequence[Side],
    outcome: ExportOutcome,
    put: Replacement | None,
) -> list[ComparedMessages]:
    """The messages of these rows, read over a separate connection."""
    row_ids = {part.row_id for row in rows for side in sides if (part := getattr(row, side)) is not None}
    try:
        with open_store(compared.store) as reader:
            if identity(compared.store) != compared.file:
                raise StoreUnavailable(f"The file of store {compared.store.name} was replaced meanwhile.")
            stored = reader.messages(compared.session.id, sorted(row_ids))
    except StoreError as problem:
        outcome.broken_off = problem.message
        return []
    outcome.missing += len(row_ids) - len(stored)

    def messages_in(part: SentPart | None) -> tuple[ExportedMessage, ...]:
        if part is None or part.row_id not in stored:
            return ()
        messages = messages_of(stored[part.row_id], part)
        return tuple(redacted_message(each, put) for each in messages) if put else tuple(messages)

    return [ComparedMessages(row, messages_in(row.before), messages_in(row.after)) for row in rows]


def messages_of(row: StoredMessage, part: SentPart) -> Iterator[ExportedMessage]:
    """The contents of a part of a row: a message, a summary, or both if the row was not split; nothing for an agent's
    own bookkeeping row.
    """
    if row.role in BOOKKEEPING_ROLES:
        return
    row = replace(row, state="live", extra={})
    parts = parted(row)
    summary = handoff_message(row, parts.summary, parts.directive) if parts.has_handoff else None
    message = None if parts.message is None else ExportedMessage(row.id, parts.message, (row.id,))
    both = [message, summary] if parts.comes_first else [summary, message]
    yield from (
        each
        for each in both
        if each is not None and part.part in ("row", "summary" if each.kind == "handoff" else "message")
    )


def unknown(boundary: Boundary) -> list[str]:
    """What is not known about the context before, as sentences."""
    return [INHERITED] if boundary.inherited else [UNSURE] if boundary.unsure else []


def said(message: ExportedMessage) -> str:
    """A message's text and calls, as plain text."""
    if message.kind == "handoff":
        return "\n\n".join(filter(None, (message.directive.strip(), message.summary.strip(), message.rules.strip())))
    content = message.row.content
    text = pretty(content) if isinstance(content, dict) else engine.text(content)
    calls = (
        f"{call.name} {pretty(call.arguments)}"
        for call in engine.calls({"tool_calls": message.row.tool_calls, "content": content})
    )
    return "\n".join(filter(None, (text, *calls)))


def changed(pair: ComparedMessages) -> diffs.Change | None:
    """The difference between both sides of a message; None if they are equal."""
    if not pair.row.is_pair:
        return None
    old, new = ("\n".join(map(said, side)) for side in (pair.before, pair.after))
    return diffs.between(old, new, limit=diffs.LIMIT, lines=diffs.LINES) if old != new else None


def _escape(text: str) -> str:
    return escaped(clean(text))


class _PlainSide:
    """One side as plain text: who, and the text."""

    def __init__(self, side: Side) -> None:
        self.side = side

    def start(self) -> str:
        return ""

    def message(self, band: Band, /) -> str:
        messages = [message for each in band for message in getattr(each, self.side)]
        return "".join(f"{_who(message)}:\n{said(message)}\n\n" for message in messages)

    def end(self, outcome: ExportOutcome) -> str:
        return f"{outcome.note}\n" if outcome.note else ""


def _who(message: ExportedMessage) -> str:
    return words.of_handoff(message)[0] if message.kind == "handoff" else words.heading(message)[0]


class _Columns:
    """Both sides as one page."""

    def __init__(self, compared: Comparison, *, redacted: bool) -> None:
        self.compared, self.redacted = compared, redacted

    def start(self) -> str:
        name = _escape(line(f"Before and after a compaction, {self.compared.session.name}", 200))
        facts = [*_facts(self.compared), ("Exported", clock(timezone.now().timestamp()))]
        rows = "".join(
            f"<dt>{_escape(term)}</dt><dd>{_escape(line(value, 500))}</dd>" for term, value in facts if value
        )
        notes = "".join(f'<p class="note">{_escape(note)}</p>\n' for note in (ABOUT, *unknown(self.compared.boundary)))
        heads = "".join(f"<h2>{head}</h2>" for head in HEADS.values())
        return (
            f'{page.head(name, COLUMNS)}<header>\n<h1 dir="auto">{name}</h1>\n<dl>{rows}</dl>\n{notes}'
            f'<p class="redacting">{_escape(about_secrets(redacted=self.redacted))}</p>\n</header>\n'
            f'<main>\n<div class="columns">{heads}</div>\n'
        )

    def message(self, band: Band, /) -> str:
        left = "".join(page.message_html(message, each.row.left) for each in band for message in each.before)
        right = "".join(page.message_html(message, each.row.right) for each in band for message in each.after)
        changes = "".join(map(_change, band))
        pair = f'<div class="pair">{_side("Before", left)}{_side("After", right)}</div>\n' if left or right else ""
        return pair + changes

    def end(self, outcome: ExportOutcome) -> str:
        return page.foot(outcome, redacted=self.redacted, empty=not self.compared.rows)


def _change(pair: ComparedMessages) -> str:
    change = changed(pair)
    if change is None:
        return ""
    lines = diffs.as_html(change.text)
    is_open = " open" if pair.row.left == "shortened" else ""
    return f'<details{is_open}><summary>{DIFFERENCE}</summary><pre class="diff">{lines}</pre></details>\n'


def _side(word: str, inside: str) -> str:
    return f'<div class="side">{f"<p class=word>{word}</p>{inside}" if inside else ""}</div>'


def _facts(compared: Comparison) -> list[tuple[str, str]]:
    session, boundary = compared.session, compared.boundary
    return [
        ("Store", compared.store.name),
        ("Session", session.id),
        ("Model", session.model),
        ("Compacted", f"{clock(boundary.time or 0.0)} {compared.by}".strip()),
        ("Messages", words.numbers_of(boundary)),
        ("Tokens", " → ".join(f"{'about ' if each.about else ''}{each.tokens:,}" for each in compared.tokens)),
    ]
