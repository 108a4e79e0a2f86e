"""Taking a compaction back, ours or the newest one the agent made: what it would do, and doing it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import models, transaction
from django.db.models.functions import Now

from viewer import holders
from viewer.errors import NotUndoable, StoreError
from viewer.history import indexes, records
from viewer.history import undo as rule
from viewer.stores import counting
from viewer.stores.base import Session, Store
from viewer.stores.changes import IS_SPLIT
from viewer.stores.message import StoredMessage, for_model
from viewer.stores.registry import Reader, agent_of, get_store, open_store, writer_of

from . import outcomes, planning
from .models import Run
from .signals import undone


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


def outlook(store: Store, session_id: str, handoff_id: int) -> UndoOutlook:
    """What undoing this compaction would do now. Raises NotFound, StoreUnavailable."""
    with open_store(store) as reader:
        session = reader.session(session_id)
        undo_plan = rule.plan(reader, session_id, handoff_id, indexes.of(reader, session_id))
        problem = reader.compact_refusal(session_id)
        before = reader.live(session_id)
        returning = reader.messages(session_id, undo_plan.restored)
        slow = _slow(reader, [*before, *returning.values()])
    hidden = set(undo_plan.hidden)
    after = [*returning.values(), *(row for row in before if row.id not in hidden)]
    count = counting.counter_for(session.model)
    now, then = (for_model(rows) for rows in (before, after))
    tokens_then = sum(counting.row_tokens(row, count) for row in then)
    return UndoOutlook(
        refusal=problem.message if problem else undo_plan.refusal,
        context_messages_before=len(now),
        context_messages_after=len(then),
        context_tokens_before=sum(counting.row_tokens(row, count) for row in now),
        context_tokens_after=tokens_then,
        later_messages=len(undo_plan.later),
        warning=" ".join(filter(None, [threshold_warning(store, session, tokens_then), slow])),
    )


def _slow(reader: Reader, rows: Iterable[StoredMessage]) -> str:
    """What to say where changing the flags of these rows holds the write lock for long."""
    sizes = {row.id: row.size for row in rows}
    return planning.slow_sentence(reader.commit_seconds(sizes, ()))


def undo(store: Store, session_id: str, handoff_id: int) -> None:
    """Take the compaction back, under lock and lease.

    Raises NotFound, NotUndoable, SessionBusy, SessionEnded, StoreReadOnly or StoreUnavailable; nothing is written then.
    """
    with open_store(store) as reader:
        if (problem := reader.compact_refusal(session_id)) is not None:
            raise problem
        index = indexes.of(reader, session_id)
        plan = rule.plan(reader, session_id, handoff_id, index)
        if plan.refusal:
            raise NotUndoable(plan.refusal)
    holder, ours = holders.new_holder(), _applied(store, session_id, handoff_id)
    writer_of(store).take_lock(session_id, holder)
    try:
        writer_of(store).take_lease(session_id, holder)
        ours.update(holder=holder, heartbeat_at=Now())  # by which recovery finds an undo that died before it was noted
        receipt = writer_of(store).undo(plan, holder=holder)
        boundary = index.boundary_at(handoff_id)
        with transaction.atomic():
            ours.update(**outcomes.undone())
            records.note_undone(store.name, session_id, handoff_id, receipt, boundary.cut_id if boundary else None)
        undone.send(Run, store=store.name, session_id=session_id, handoff_id=handoff_id)
    except StoreError:
        ours.filter(holder=holder).update(holder="")
        raise
    finally:
        writer_of(store).release_quietly(session_id, holder)


def undo_run(run: Run) -> None:
    """Take this run's compaction back. Raises what `undo` raises, and NotUndoable for a run that is not applied."""
    run.refresh_from_db()
    if run.status == "undone":
        raise records.not_there(run.store, run.session_id, run.handoff_id or 0)
    if run.status != "applied" or run.handoff_id is None:
        raise NotUndoable(f"Run {run.pk} is {run.status}: only one that was applied can be undone.")
    if run.new_session_id:
        raise NotUndoable(IS_SPLIT)
    undo(get_store(run.store), run.session_id, run.handoff_id)
    run.refresh_from_db()


def is_undoable(run: Run) -> bool:
    """Whether this run's compaction can be taken back now."""
    return run.status == "applied" and run.pk in rule.undoable_among([run.pk])


def _applied(store: Store, session_id: str, handoff_id: int) -> models.QuerySet[Run]:
    return Run.objects.filter(store=store.name, session_id=session_id, handoff_id=handoff_id, status="applied")


def threshold_warning(store: Store, session: Session, tokens: int) -> str:
    """What to expect of a context of so many tokens, as a sentence; "" while the agent would leave it as it is."""
    window = counting.context_window(session.model, session.window)
    threshold = agent_of(store).threshold(session.model, window)
    if threshold is None or tokens < threshold:
        return ""
    return (
        f"The context would then have {tokens:,} of {window:,} tokens: the agent compacts by itself at {threshold:,} "
        "and may do so with its next message."
    )
