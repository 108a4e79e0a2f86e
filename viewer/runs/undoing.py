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
from viewer.stores.hermes.undoing import SPLIT, Undoing, undoing_from_history
from viewer.stores.history_types import History
from viewer.stores.message import StoredMessage, for_model
from viewer.stores.registry import Reader, agent_of, get_store, open_store, writer_of
from viewer.stores.transcript import Outline

from . import aftermath, candidate, outcomes, planning, taken_back
from .models import Run
from .ours import HistoryOf, history_of
from .steps import handoff_place


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
        found = reader.undo_outlook(undoing_of(reader, session_id, handoff_id, history))
        refusal = refusal_to_undo(reader, session_id, handoff_id, history)
        before = reader.live(session_id)
        returning = reader.messages(session_id, found.restored)
        slow = _slow(reader, [*before, *returning.values()])
    hidden = set(found.hidden)
    after = [*returning.values(), *(row for row in before if row.id not in hidden)]
    count = counting.counter_for(model)
    now, then = (for_model(rows) for rows in (before, after))
    tokens_then = sum(counting.row_tokens(row, count) for row in then)
    return UndoOutlook(
        refusal=refusal,
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
        if (problem := planning.refusal(reader, session_id)) is not None:
            raise problem
        history = read(reader, session_id)
        undoing = undoing_of(reader, session_id, handoff_id, history)
        if refusal := reader.undo_outlook(undoing).refusal:
            raise NotUndoable(refusal)
    holder, ours = holders.new_holder(), _applied(store, session_id, handoff_id)
    writer_of(store).take_lock(session_id, holder)
    try:
        writer_of(store).take_lease(session_id, holder)
        ours.update(holder=holder, heartbeat_at=Now())  # by which recovery finds an undo that died before it was noted
        outlook = writer_of(store).undo(undoing, holder=holder)
        ours.update(**outcomes.undone())
        taken_back.note(store.name, session_id, handoff_id, undoing.known(outlook), _cut_id(history, handoff_id))
        aftermath.taken_back(store.name, session_id, handoff_id)
    except StoreError:
        ours.filter(holder=holder).update(holder="")
        raise
    finally:
        writer_of(store).let_go(session_id, holder)


def _cut_id(history: History | Outline, handoff_id: int) -> int | None:
    """The message before which this compaction stands."""
    return next((each.cut_id for each in history.boundaries if each.handoff_id == handoff_id), None)


def undo_run(run: Run, read: HistoryOf = history_of) -> None:
    """Take this run's compaction back. Raises what `undo` raises, and NotUndoable for a run that is not applied."""
    run.refresh_from_db()
    if run.status == "undone":
        raise taken_back.not_there(run.store, run.session_id, run.handoff_id or 0)
    if run.status != "applied" or run.handoff_id is None:
        raise NotUndoable(f"Run {run.pk} is {run.status}: only one that was applied can be undone.")
    if run.new_session_id:
        raise NotUndoable(SPLIT)
    undo(get_store(run.store), run.session_id, run.handoff_id, read)
    run.refresh_from_db()


def refusal_to_undo(reader: Reader, session_id: str, handoff_id: int, history: History | Outline) -> str:
    """Why this compaction cannot be taken back, as a sentence; "" when it can. Raises NotFound."""
    if (problem := planning.refusal(reader, session_id)) is not None:
        return problem.message
    return refusal_of_rows(reader, session_id, handoff_id, history)


def refusal_of_rows(reader: Reader, session_id: str, handoff_id: int, history: History | Outline) -> str:
    """The same as far as the session's rows and our runs tell: it changes with them alone."""
    return str(reader.undo_outlook(undoing_of(reader, session_id, handoff_id, history)).refusal)


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
        if planning.refusal(reader, run.session_id) is not None or not wrote_handoff(reader, run):
            return False
        return not reader.undo_outlook(_map_of(run)).refusal
    except NotFound:  # its session is gone
        return False


def undoing_of(reader: Reader, session_id: str, handoff_id: int, history: History | Outline) -> Undoing:
    """The map original -> copy: the one our run kept, or for the agent's compactions the one History found."""
    run = _applied(reader.store, session_id, handoff_id).order_by("-pk").first()
    if run is None or not wrote_handoff(reader, run):
        if all(boundary.handoff_id != handoff_id for boundary in history.boundaries):
            raise taken_back.not_there(reader.store.name, session_id, handoff_id)
        return undoing_from_history(session_id, history, handoff_id)
    return _map_of(run)


def wrote_handoff(reader: Reader, run: Run) -> bool:
    """Whether the row of this run's handoff is still ours: in a restored file another row may have its id."""
    row = reader.messages(run.session_id, [run.handoff_id or 0]).get(run.handoff_id or 0)
    return row is not None and row.content == handoff_place(candidate.planned_steps(run))[1]


def _map_of(run: Run) -> Undoing:
    copies = {int(original): copy for original, copy in run.copies.items()}
    originals = {row[0]: copies.get(row[0]) for row in candidate.snapshot(run).rows} | copies
    return Undoing(run.session_id, run.handoff_id or 0, tuple(run.block_ids), originals)


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
