"""What a worker does with a run: plan, summarise and, unless it is a preview, commit as soon as no turn is running.

It starts at the status on the row: a run that is resumed after its worker died uses the same code.
"""

from __future__ import annotations

import logging
import time
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial

from django.conf import settings
from django.db import Error as DatabaseProblem
from django.utils import timezone

import compaction
from compaction.llm.digest import Finished
from viewer.history import records
from viewer.stores.changes import edits_from_json
from viewer.stores.errors import SessionBusy, StoreError
from viewer.stores.registry import open_store, writer_of
from viewer.workspaces.rules import rules_of

from . import candidate, outcomes, planning
from .errors import BadSummary
from .models import Run
from .progress import Progress
from .providers.summarizers import get_summarizer
from .run_claim import LeaseLost, RunClaim, claim
from .signals import applied

POLL_SECONDS = 1.0  # between two checks whether the agent's turn has ended

logger = logging.getLogger(__name__)


def compact(run_id: int) -> None:
    """Take one run as far as possible. Runs that are done, cancelled or claimed by another worker are not changed."""
    run = claim(run_id)
    if run is not None:
        _work(RunClaim(run))


def _work(hold: RunClaim) -> None:
    try:
        with hold:
            if hold.run.status == "queued":
                _make_candidate(hold)
            if hold.run.status == "waiting":
                _commit(hold)
    except LeaseLost:
        logger.info("Run %s was cancelled or has another worker.", hold.run.pk)
    except Exception as problem:
        _end_with(hold, problem)


def _make_candidate(hold: RunClaim) -> None:
    """Plan and summarise; the run is `ready` afterwards, or `waiting` if it is applied without a preview."""
    run = hold.run
    hold.update(status="planning", progress={"sentence": "Reading the session and planning."})
    with open_store(hold.store) as reader:
        basis = planning.followed(reader, planning.read_basis(reader, run.session_id, run.mode))
    rules = rules_of(hold.store, basis.session)
    plan = planning.plan_of(basis, candidate.options_of(run), rules.text)
    doing = f"{planning.strategy_of(run.strategy).doing} {len(plan.middle):,} messages."
    hold.update(
        status="summarizing",
        progress={"sentence": doing},
        rules=asdict(rules),
        **candidate.plan_fields(basis, plan),
    )
    summary = _summary(hold, plan, doing)
    try:
        fields = candidate.fields(planning.strategy_of(run.strategy), basis, plan, summary) | {"chunks": []}
    except BadSummary:
        hold.update(chunks=[])  # the same parts would make the same summary again
        raise
    if run.apply:
        hold.update(status="waiting", progress={"sentence": "Ready to be written."}, **fields)
    else:
        hold.update(**outcomes.closed("ready", "Ready to review."), **fields)


def _summary(hold: RunClaim, plan: compaction.Plan, doing: str) -> str:
    """The summariser's text. It is called only if the strategy needs a summary, and not again for finished parts."""
    if not planning.strategy_of(hold.run.strategy).asks_model:
        return ""
    chosen = get_summarizer(hold.run.summarizer)
    hold.update(model=chosen.model)
    progress = Progress(hold, doing, plan.count)
    return compaction.summarize(
        plan,
        progress.asking(chosen.ask),
        today=timezone.localdate(),
        window=chosen.window,
        finished=[Finished(**part) for part in hold.run.chunks],
        on_chunk=progress.finished,
    )


def _commit(hold: RunClaim) -> None:
    run = hold.run
    edits = edits_from_json(run.edits)
    with _held_turn(hold):  # the agent's next turn need not wait for our records
        hold.update(status="applying", progress={"sentence": "Writing."})  # from here on it cannot be cancelled
        done = writer_of(hold.store).apply(
            run.session_id, run.basis, edits, mode=run.mode, holder=hold.holder, now=time.time()
        )
    note = partial(records.note_written, run.pk, run.store, run.session_id, done)
    hold.update(also=note, **outcomes.applied(done, timezone.now()))
    applied.send(Run, run=run)


def _held_turn(hold: RunClaim) -> AbstractContextManager[object]:
    """Holds the session's turn, entered; waits while somebody else runs one.

    Raises SessionBusy after `WAIT_SECONDS`, LeaseLost if the run is cancelled.
    """
    until, held = time.time() + settings.WAIT_SECONDS, ExitStack()
    while True:
        with open_store(hold.store) as reader:  # a read does not take the write lock from the agent, an attempt would
            lease = reader.presence(hold.run.session_id).turn
        if lease is None:
            with suppress(SessionBusy):
                held.enter_context(writer_of(hold.store).hold_turn(hold.run.session_id, hold.holder))
                return held
        sentence = planning.busy_sentence(lease, "running a turn") if lease else "A turn has just begun."
        if time.time() >= until:
            raise SessionBusy(
                f"{sentence} It did not end within {settings.WAIT_SECONDS} s; nothing was written and the summary is "
                "kept. Apply it again when the agent is idle."
            )
        holder = {"holder": lease.holder, "since": _iso(lease.since)} if lease else {}
        hold.report_progress(f"Waiting for the agent's turn to end. {sentence}", until=_iso(until), **holder)
        time.sleep(POLL_SECONDS)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _end_with(hold: RunClaim, problem: Exception) -> None:
    """End the run with what went wrong; a candidate is kept."""
    code, message = outcomes.refusal_of(problem)
    try:
        if code == "unexpected":
            logger.error("Run %s stopped.", hold.run.pk, exc_info=problem)
            if hold.run.status == "applying" and outcomes.finish_if_committed(hold.run):
                return
        hold.update(**outcomes.stopped(hold.run, code, message))
    except LeaseLost:
        logger.info("Run %s was cancelled or has another worker.", hold.run.pk)
    except Exception as failure:  # its result cannot be read or recorded: recovery checks again
        is_expected = isinstance(failure, StoreError | DatabaseProblem)
        logger.warning("Run %s is left to recovery: %s", hold.run.pk, failure, exc_info=not is_expected)
