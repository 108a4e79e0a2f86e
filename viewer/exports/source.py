"""What an export reads: the messages of one view of a session, in windows.

The list of messages is fixed at the start; their rows are read one window at a time, each over a separate connection
that is closed before the window is passed on, so that neither memory nor the agent's commits depend on the length of
the session or the speed of a download. Messages appended meanwhile are left out, and rows that disappear are listed as
missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from compaction import redaction
from compaction.handoff import rules_in, without_rules
from compaction.redaction import Replacement
from viewer.history import index_cache
from viewer.rendering.redaction import redacted
from viewer.runs import compaction_list
from viewer.stores.base import Session, Store
from viewer.stores.errors import StoreError, StoreUnavailable
from viewer.stores.message import HistoryMessage, StoredMessage, Withheld, parted
from viewer.stores.registry import Reader, get_store, identity, open_store
from viewer.stores.transcript import Boundary, TranscriptIndex

View = Literal["history", "live", "raw"]
ROWS, WINDOW_BYTES = 100, 1_000_000  # of one window, which has one row at least


@dataclass(frozen=True, slots=True)
class ExportedMessage:
    """One message, or a compaction's handoff with its `summary`, the workspace's `rules` in it and the instructions to
    the model around them.

    `row` is the stored message; its content is only the message's own part, and its `extra` is empty except in the view
    of raw rows. `id` is the message's id, `rows` are the ids of all rows that carry it. In History `boundary` is that
    of a handoff and `by` who made it.
    """

    id: int
    row: StoredMessage
    rows: tuple[int, ...]
    kind: Literal["message", "handoff"] = "message"
    shortened: bool = False
    summary: str = ""
    rules: str = ""
    directive: str = ""
    boundary: Boundary | None = None
    by: str = ""


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """What an export will contain, as of one moment. `file` is the identity of the store's file then, `by` says by the
    id of a handoff who made it.
    """

    store: Store
    session: Session
    view: View
    index: TranscriptIndex
    by: Mapping[int, str]
    system_prompt: str
    file: tuple[int, int]

    @property
    def messages(self) -> int:
        """The number of messages, or in other views of rows, that it will contain."""
        return {
            "history": self.index.messages,
            "live": len(self.index.live),
            "raw": len(self.index.ids),
        }[self.view]


@dataclass(frozen=True, slots=True)
class ExportWindow:
    """Messages that are read at once, with their stored size in bytes: more than WINDOW_BYTES only for a single
    message.
    """

    start: int
    stop: int
    size: int

    @property
    def is_large(self) -> bool:
        return self.size > WINDOW_BYTES


@dataclass(slots=True)
class ExportOutcome:
    """The result of an export, complete at its end: rows that had disappeared, why it broke off, how
    much was redacted.
    """

    missing: int = 0
    broken_off: str = ""
    redacted: int = 0

    @property
    def complete(self) -> bool:
        return not self.missing and not self.broken_off

    @property
    def note(self) -> str:
        """Why the export is incomplete, as a sentence; "" if it is complete."""
        if self.broken_off:
            return f"This export is incomplete: it broke off here. {self.broken_off}"
        if self.missing:
            gone = "1 message was" if self.missing == 1 else f"{self.missing:,} messages were"
            return f"This export is incomplete: {gone} deleted from the store while it was written."
        return ""


def plan(store: str, session_id: str, view: View) -> ExportPlan:
    """What the export will contain. Raises NotFound or StoreUnavailable."""
    with open_store(get_store(store)) as reader:
        session = reader.session(session_id)
        index = index_cache.index_of(reader, session)
        return ExportPlan(
            store=reader.store,
            session=session,
            view=view,
            index=index,
            by=compaction_list.by_each(reader, session_id, index.boundaries),
            system_prompt=reader.system_prompt(session_id) if view == "live" else "",
            file=identity(reader.store),
        )


def read(
    planned: ExportPlan, window: ExportWindow, outcome: ExportOutcome, put: Replacement | None
) -> list[ExportedMessage]:
    """The messages of one window, in order; adds to `outcome`. Redacted with `put`, if given."""
    messages = _of_history if planned.view == "history" else _of_rows
    try:
        with open_store(planned.store) as reader:
            if identity(planned.store) != planned.file:
                raise StoreUnavailable(f"The file of store {planned.store.name} was replaced meanwhile.")
            exported_messages = list(messages(planned, reader, window.start, window.stop, outcome))
    except StoreError as problem:
        outcome.broken_off = problem.message
        return []
    return [redacted_message(each, put) for each in exported_messages] if put else exported_messages


def windows(planned: ExportPlan) -> Iterator[ExportWindow]:
    """All messages, in windows; one empty window if there are no messages."""
    return windows_of(_sizes(planned.index, planned.view))


def windows_of(sizes: Sequence[int]) -> Iterator[ExportWindow]:
    """The windows for items of these sizes in bytes."""
    start, total = 0, 0
    for at, size in enumerate(sizes):
        if at > start and (at - start == ROWS or total + size > WINDOW_BYTES):
            yield ExportWindow(start, at, total)
            start, total = at, 0
        total += size
    yield ExportWindow(start, len(sizes), total)


def _sizes(index: TranscriptIndex, view: View) -> list[int]:
    if view == "raw":
        return list(index.sizes)
    if view == "live":
        return [index.sizes[number] for number in index.live]
    full = (index.number(index.entry(at).full_id) for at in range(index.messages))
    return [index.sizes[number or 0] for number in full]


# -- messages ----------------------------------------------------------------------------------------------------------


def _of_history(
    planned: ExportPlan, reader: Reader, start: int, stop: int, outcome: ExportOutcome
) -> Iterator[ExportedMessage]:
    items = planned.index.stretch(start, stop).items
    shown = reader.shown(planned.session.id, items)
    outcome.missing += len(items) - len(shown)
    for item in shown:
        if isinstance(item, HistoryMessage):
            entry = item.entry
            row = replace(item.row, content=item.content, state=entry.state, extra={})
            yield ExportedMessage(entry.id, row, entry.rows, shortened=entry.shortened)
        else:
            by = planned.by.get(item.boundary.handoff_id, "")
            yield replace(handoff_message(item.row, item.summary, item.directive), boundary=item.boundary, by=by)


def _of_rows(
    planned: ExportPlan, reader: Reader, start: int, stop: int, outcome: ExportOutcome
) -> Iterator[ExportedMessage]:
    live = planned.view == "live"
    ids = (planned.index.live_ids if live else planned.index.ids)[start:stop]
    rows = reader.messages(planned.session.id, ids)
    outcome.missing += len(ids) - len(rows)
    for row_id in ids:
        if row_id in rows:
            yield from _of_live(rows[row_id]) if live else [_raw(rows[row_id])]


def _of_live(row: StoredMessage) -> Iterator[ExportedMessage]:
    """The message of a row, its handoff, or both for a merged row."""
    row = replace(row, state="live", extra={})
    parts = parted(row)
    if parts.has_handoff:
        yield handoff_message(row, parts.summary, parts.directive)
    if parts.message is not None:
        yield ExportedMessage(row.id, replace(row, content=parts.message.content), (row.id,))


def _raw(row: StoredMessage) -> ExportedMessage:
    """The row as it is stored."""
    parts = parted(row)
    extra = {name: value for name, value in row.extra.items() if not isinstance(value, Withheld)}
    stored = ExportedMessage(row.id, replace(row, extra=extra), (row.id,))
    return replace(stored, kind="handoff", **_summed_up(parts.summary)) if parts.has_handoff else stored


def handoff_message(row: StoredMessage, summary: str, directive: str) -> ExportedMessage:
    row = replace(row, tool_calls=[], reasoning="", extra={})
    return ExportedMessage(row.id, row, (row.id,), "handoff", directive=directive, **_summed_up(summary))


def _summed_up(text: str) -> dict[str, Any]:
    """The summary in a handoff, and the rules after it."""
    rules = rules_in(text)
    return {"summary": without_rules(text) if rules else text, "rules": rules}


def redacted_message(message: ExportedMessage, put: Replacement) -> ExportedMessage:
    """The message without secrets, in any column. A secret that occurs twice in it counts once."""
    return replace(
        message,
        row=redacted(message.row, put),
        summary=redaction.redact_shown(message.summary),
        rules=redaction.redact_shown(message.rules),
        directive=redaction.redact_shown(message.directive),
    )
