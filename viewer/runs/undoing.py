"""Undo of a compaction, ours or the agent's newest: what it would change, and doing it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import models, transaction
from django.db.models.functions import Now

from viewer.history import index_cache, records
from viewer.history import undo as rule
from viewer.stores import lock_owners
from viewer.stores.base import Session, Store
from viewer.stores.changes import IS_SPLIT, UndoPlan
from viewer.stores.errors import NotUndoable, StoreError
from viewer.stores.message import StoredMessage, for_model, row_tokens
from viewer.stores.registry import Reader, agent_of, get_store, open_store, writer_of
from viewer.usage import counting

from . import outcomes
from .models import Run
from .signals import undone


@dataclass(frozen=True, slots=True)
class UndoOutlook:
    """How an undo would change the context of this session.

    `refusal` says why it cannot be done, "" if it can; `warning` what to expect afterwards.
    """

    session: Session
    refusal: str
    context_messages_before: int
    context_messages_after: int
    context_tokens_before: int
    context_tokens_after: int
    later_messages: int
    warning: str


@dataclass(frozen=True, slots=True)
class Undone:
    """The result of an undo: how many messages are in context again, the id of the message directly after the former
    boundary, None if there is none, and the run that can apply it again, None if none can.
    """

    context_messages: int
    message_id: int | None
    run: Run | None


def outlook(store: Store, session_id: str, handoff_id: int) -> UndoOutlook:
    """What an undo of this compaction would change now. Raises NotFound, StoreUnavailable."""
    with open_store(store) as reader:
        session = reader.session(session_id)
        undo_plan = rule.plan(reader, session_id, handoff_id, index_cache.index_of(reader, session))
        problem = reader.refusal(session_id)
        before, after = _contexts(reader, session_id, undo_plan)
    count = counting.counter_for(session.model)
    now, then = (for_model(rows) for rows in (before, after))
    tokens_then = sum(row_tokens(row, count) for row in then)
    return UndoOutlook(
        session=session,
        refusal=problem.message if problem else undo_plan.refusal,
        context_messages_before=len(now),
        context_messages_after=len(then),
        context_tokens_before=sum(row_tokens(row, count) for row in now),
        context_tokens_after=tokens_then,
        later_messages=len(undo_plan.later),
        warning=threshold_warning(store, session, tokens_then),
    )


def _contexts(reader: Reader, session_id: str, undo_plan: UndoPlan) -> tuple[list[StoredMessage], list[StoredMessage]]:
    """The rows in context now, and those after the undo."""
    before, hidden = reader.live(session_id), set(undo_plan.hidden)
    restored = reader.messages(session_id, undo_plan.restored)
    return before, [*restored.values(), *(row for row in before if row.id not in hidden)]


def undo(store: Store, session_id: str, handoff_id: int) -> Undone:
    """Undo the compaction, with the session and its turn held. The store is read once, before it is written.

    Raises NotFound, NotUndoable, SessionBusy, SessionEnded, StoreReadOnly or StoreUnavailable; nothing is written then.
    """
    with open_store(store) as reader:
        if (problem := reader.refusal(session_id)) is not None:
            raise problem
        index = index_cache.of(reader, session_id)
        plan = rule.plan(reader, session_id, handoff_id, index)
        if plan.refusal:
            raise NotUndoable(plan.refusal)
        _, after = _contexts(reader, session_id, plan)
    boundary = index.boundary_at(handoff_id)
    cut_id = boundary.cut_id if boundary else None
    holder, ours = lock_owners.new_holder(), _applied(store, session_id, handoff_id)
    writer = writer_of(store)
    try:
        with writer.hold(session_id, holder), writer.hold_turn(session_id, holder):
            ours.update(holder=holder, heartbeat_at=Now())  # for recovery: the undo may die before it is recorded
            receipt = writer.undo(plan, holder=holder)
            with transaction.atomic():
                ours.update(**outcomes.undone())
                records.note_undone(store.name, session_id, handoff_id, receipt, cut_id)
            undone.send(Run, store=store.name, session_id=session_id, handoff_id=handoff_id)
    except StoreError:
        ours.filter(holder=holder).update(holder="")
        raise
    runs = Run.objects.filter(store=store.name, session_id=session_id, handoff_id=handoff_id, status="undone")
    run = runs.last() if writer.redoes else None
    return Undone(len(for_model(after)), None if cut_id is None else index.message_of(cut_id), run)


def undo_run(run: Run) -> None:
    """Undo this run's compaction. Raises what `undo` raises, and NotUndoable for a run that is not applied."""
    run.refresh_from_db()
    if run.status == "undone":
        raise records.not_there(run.store, run.session_id, run.handoff_id or 0)
    if run.status != "applied" or run.handoff_id is None:
        raise NotUndoable(f"Run {run.pk} is {run.status}: only a run that was applied can be undone.")
    if run.new_session_id:
        raise NotUndoable(IS_SPLIT)
    undo(get_store(run.store), run.session_id, run.handoff_id)
    run.refresh_from_db()


def is_undoable(run: Run) -> bool:
    """Whether this run's compaction can be undone now."""
    return run.status == "applied" and run.pk in rule.undoable_among([run.pk])


def _applied(store: Store, session_id: str, handoff_id: int) -> models.QuerySet[Run]:
    return Run.objects.filter(store=store.name, session_id=session_id, handoff_id=handoff_id, status="applied")


def threshold_warning(store: Store, session: Session, tokens: int) -> str:
    """A sentence if the agent would compact a context of so many tokens by itself, else ""."""
    window = counting.context_window(session.model, session.window)
    threshold = agent_of(store).threshold(session.model, window)
    if threshold is None or tokens < threshold:
        return ""
    return (
        f"The context would then have {tokens:,} of {window:,} tokens: the agent compacts by itself at {threshold:,} "
        "and may do so with its next message."
    )
