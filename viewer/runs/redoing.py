"""Redo: apply one of our undone compactions again, if its store can do that, with the same summary and the same run."""

from __future__ import annotations

from django.db import models, transaction
from django.db.models.functions import Now

from viewer.history import records
from viewer.history.models import Compaction
from viewer.stores import lock_owners
from viewer.stores.changes import Json
from viewer.stores.errors import NotRedoable, StoreError
from viewer.stores.registry import get_store, open_store, writer_of

from . import outcomes
from .models import Run
from .signals import applied


def is_redoable(run: Run) -> bool:
    """Whether this run's compaction can be applied again now; False while its store cannot be read."""
    try:
        return run.status == "undone" and not refusal(run)
    except StoreError:
        return False


def refusal(run: Run) -> str:
    """Why it cannot be applied again, as a sentence; "" when it can. Raises NotFound, StoreUnavailable."""
    receipt = receipt_of(run)
    if run.status != "undone" or receipt is None:
        return f"Run {run.pk} is {run.status}: only a run that was undone can be applied again."
    with open_store(get_store(run.store)) as reader:
        if (problem := reader.refusal(run.session_id)) is not None:
            return problem.message
        return reader.commit_state(run.session_id, receipt).redo_refusal


def receipt_of(run: Run) -> Json | None:
    """The receipt of the undone commit, from which it can be redone; None if there is none."""
    undone = Compaction.objects.filter(run=run.pk, undone=True)
    receipt: Json | None = undone.values_list("receipt", flat=True).first()
    return receipt


def redo_run(run: Run) -> None:
    """Apply it again, with the session and its turn held.

    Raises NotFound, NotRedoable, SessionBusy, StoreReadOnly or StoreUnavailable; nothing is written then.
    """
    run.refresh_from_db()
    if reason := refusal(run):
        raise NotRedoable(reason)
    receipt, holder, ours = receipt_of(run) or {}, lock_owners.new_holder(), _undone(run)
    writer = writer_of(get_store(run.store))
    try:
        with writer.hold(run.session_id, holder), writer.hold_turn(run.session_id, holder):
            ours.update(holder=holder, heartbeat_at=Now())  # for recovery: the redo may die before it is recorded
            writer.redo(run.session_id, receipt, holder=holder)
            with transaction.atomic():
                ours.update(**outcomes.redone())
                records.note_redone(run.pk)
    except StoreError:
        ours.filter(holder=holder).update(holder="")
        raise
    run.refresh_from_db()
    applied.send(Run, run=run)


def _undone(run: Run) -> models.QuerySet[Run]:
    return Run.objects.filter(pk=run.pk, status="undone")
