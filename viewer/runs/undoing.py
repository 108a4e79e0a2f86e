"""Taking a compaction back, ours or the newest one the agent made: what it would do, and doing it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import models
from django.db.models.functions import Now

from viewer import holders
from viewer.errors import NotFound, NotUndoable, StoreError
from viewer.stores import counting
from viewer.stores.base import Store
from viewer.stores.changes import IS_SPLIT, Json
from viewer.stores.history_types import Boundary, History
from viewer.stores.message import StoredMessage, for_model
from viewer.stores.registry import Reader, agent_of, get_store, open_store, writer_of
from viewer.stores.transcript import Cut, Outline

from . import aftermath, outcomes, planning, taken_back
from .models import Run
from .ours import HistoryOf, history_of


@dataclass(frozen=True, slots=True)
class UndoOutlook:
    """What undoing would do to the context.

    `refusal` says why it cannot be done, "" when it can; `warning` what to expect after.
    """

    refusal: str
    context_messages_before: int
    context_messages_after: int
    context_tokens_before: int
    context_tokens_after: int
    later_messages: int
    warning: str


def outlook(store: Store, session_id: str, handoff_id: int, read: HistoryOf = history_of) -> UndoOutlook:
    """What undoing this compaction would do now; `read` gives the History. Raises NotFound, StoreUnavailable."""
    with open_store(store) as reader:
        model = reader.session(session_id).model
        history = read(reader, session_id)
        found = reader.undo_plan(session_id, compaction_of(reader, session_id, handoff_id, history))
        problem = reader.compact_refusal(session_id)
        before = reader.live(session_id)
        returning = reader.messages(session_id, found.restored)
        slow = _slow(reader, [*before, *returning.values()])
    hidden = set(found.hidden)
    after = [*returning.values(), *(row for row in before if row.id not in hidden)]
    count = counting.counter_for(model)
    now, then = (for_model(rows) for rows in (before, after))
    tokens_then = sum(counting.row_tokens(row, count) for row in then)
    return UndoOutlook(
        refusal=problem.message if problem else found.refusal,
        context_messages_before=len(now),
        context_messages_after=len(then),
        context_tokens_before=sum(counting.row_tokens(row, count) for row in now),
        context_tokens_after=tokens_then,
        later_messages=len(found.later),
        warning=" ".join(filter(None, [threshold_warning(store, model, tokens_then), slow])),
    )


def _slow(reader: Reader, rows: Iterable[StoredMessage]) -> str:
    """What to say where changing the flags of these rows holds the write lock for long."""
    sizes = {row.id: row.size for row in rows}
    return planning.slow_sentence(reader.commit_seconds(sizes, ()))


def undo(store: Store, session_id: str, handoff_id: int, read: HistoryOf = history_of) -> None:
    """Take the compaction back, under lock and lease. `read` gives the session's History.

    Raises NotFound, NotUndoable, SessionBusy, SessionEnded, StoreReadOnly or StoreUnavailable; nothing is written then.
    """
    with open_store(store) as reader:
        if (problem := reader.compact_refusal(session_id)) is not None:
            raise problem
        history = read(reader, session_id)
        plan = reader.undo_plan(session_id, compaction_of(reader, session_id, handoff_id, history))
        if plan.refusal:
            raise NotUndoable(plan.refusal)
    holder, ours = holders.new_holder(), _applied(store, session_id, handoff_id)
    writer_of(store).take_lock(session_id, holder)
    try:
        writer_of(store).take_lease(session_id, holder)
        ours.update(holder=holder, heartbeat_at=Now())  # by which recovery finds an undo that died before it was noted
        receipt = writer_of(store).undo(plan, holder=holder)
        ours.update(**outcomes.undone())
        boundary = _boundary(history, handoff_id)
        taken_back.note(store.name, session_id, handoff_id, receipt, boundary.cut_id if boundary else None)
        aftermath.taken_back(store.name, session_id, handoff_id)
    except StoreError:
        ours.filter(holder=holder).update(holder="")
        raise
    finally:
        writer_of(store).let_go(session_id, holder)


def _boundary(history: History | Outline, handoff_id: int) -> Boundary | Cut | None:
    return next((each for each in history.boundaries if each.handoff_id == handoff_id), None)


def undo_run(run: Run, read: HistoryOf = history_of) -> None:
    """Take this run's compaction back. Raises what `undo` raises, and NotUndoable for a run that is not applied."""
    run.refresh_from_db()
    if run.status == "undone":
        raise taken_back.not_there(run.store, run.session_id, run.handoff_id or 0)
    if run.status != "applied" or run.handoff_id is None:
        raise NotUndoable(f"Run {run.pk} is {run.status}: only one that was applied can be undone.")
    if run.new_session_id:
        raise NotUndoable(IS_SPLIT)
    undo(get_store(run.store), run.session_id, run.handoff_id, read)
    run.refresh_from_db()


def refusal_to_undo(reader: Reader, session_id: str, handoff_id: int, history: History | Outline) -> str:
    """Why this compaction cannot be taken back, as a sentence; "" when it can. Raises NotFound."""
    if (problem := reader.compact_refusal(session_id)) is not None:
        return problem.message
    return refusal_of_rows(reader, session_id, handoff_id, history)


def refusal_of_rows(reader: Reader, session_id: str, handoff_id: int, history: History | Outline) -> str:
    """The same as far as the session's rows and our runs tell: it changes with them alone."""
    return reader.undo_plan(session_id, compaction_of(reader, session_id, handoff_id, history)).refusal


def is_undoable(run: Run) -> bool:
    """Whether this run's compaction can be taken back now."""
    return run.pk in undoable_among([run])


def undoable_among(runs: Iterable[Run]) -> set[int]:
    """The numbers of those runs whose compaction can be taken back now; none of a store that cannot be read.

    Each store is opened once, and large columns are read of one run a session at most: the one that is in effect.
    """
    by_store: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        if run.status == "applied" and run.handoff_id is not None:
            by_store.setdefault(run.store, {}).setdefault(run.session_id, []).append(run)
    return {number for store, sessions in by_store.items() for number in _undoable_of(store, sessions)}


def _undoable_of(store: str, sessions: Mapping[str, list[Run]]) -> list[int]:
    try:
        with open_store(get_store(store)) as reader:
            in_effect = [run for session_id, runs in sessions.items() for run in _in_effect(reader, session_id, runs)]
            return [run.pk for run in in_effect if _is_undoable(reader, run)]
    except StoreError:
        return []


def _in_effect(reader: Reader, session_id: str, runs: Sequence[Run]) -> list[Run]:
    """Those whose handoff is in context: a later compaction takes it out."""
    rows = reader.messages(session_id, [run.handoff_id or 0 for run in runs])
    return [run for run in runs if (row := rows.get(run.handoff_id or 0)) is not None and row.state == "live"]


def _is_undoable(reader: Reader, run: Run) -> bool:
    try:
        if reader.compact_refusal(run.session_id) is not None or not reader.wrote(run.session_id, run.receipt):
            return False
        return not reader.undo_plan(run.session_id, run.receipt).refusal
    except NotFound:  # its session is gone
        return False


def compaction_of(
    reader: Reader, session_id: str, handoff_id: int, history: History | Outline
) -> Json | Boundary | Cut:
    """What to take a compaction back by: the receipt of our run, or for the agent's compactions the boundary.

    Raises NotFound, or AlreadyUndone.
    """
    receipt = _applied(reader.store, session_id, handoff_id).order_by("-pk").values_list("receipt", flat=True).first()
    if receipt is not None and reader.wrote(session_id, receipt):
        return dict(receipt)
    boundary = _boundary(history, handoff_id)
    if boundary is None:
        raise taken_back.not_there(reader.store.name, session_id, handoff_id)
    return boundary


def _applied(store: Store, session_id: str, handoff_id: int) -> models.QuerySet[Run]:
    return Run.objects.filter(store=store.name, session_id=session_id, handoff_id=handoff_id, status="applied")


def threshold_warning(store: Store, model: str, tokens: int) -> str:
    """What to expect of a context of so many tokens, as a sentence; "" while the agent would leave it as it is."""
    window = counting.context_window(model)
    threshold = agent_of(store).threshold(model, window)
    if threshold is None or tokens < threshold:
        return ""
    return (
        f"The context would then have {tokens:,} of {window:,} tokens: the agent compacts by itself at {threshold:,} "
        "and may do so with its next message."
    )
