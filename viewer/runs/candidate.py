"""The candidate of a run: the summary with everything a commit needs, as fields of the row."""

from __future__ import annotations

from typing import Any

import compaction
from compaction.strategy import Strategy
from viewer.errors import CompactionConflict
from viewer.stores.hermes import writing
from viewer.stores.registry import Reader

from . import planning, steps
from .errors import BadSummary, NothingToEdit
from .losses import noted
from .models import Run
from .plain import plain
from .planning import Basis, Options

LOST_KEPT = 500  # lost details of each list that a run names; of more it keeps the number


def options_of(run: Run) -> Options:
    """What the person chose for this run."""
    return Options(run.strategy, run.focus, run.keep_last, run.summarizer, run.mode, run.carry)


def plan_fields(basis: Basis, plan: compaction.Plan) -> dict[str, Any]:
    """The row's fields once it is planned."""
    return {
        "plan": planning.recorded(basis, plan),
        "tokens_before": plan.tokens_before,
        "messages_before": len(basis.sent),
    }


def fields(strategy: Strategy, basis: Basis, plan: compaction.Plan, summary: str) -> dict[str, Any]:
    """The row's fields once there is a summary, which a plan that needs none ignores.

    Raises BadSummary, or compaction.BadTranscript.
    """
    try:
        result = strategy.apply(plan, plain(summary))
    except compaction.SummaryRejected as problem:
        raise BadSummary(problem.reason) from problem
    report = result.report
    return {
        **plan_fields(basis, plan),
        "plan": {**planning.recorded(basis, plan), "steps": steps.to_json(steps.steps_of(basis, result))},
        "summary": result.summary,
        "tokens_after": result.tokens_after,
        "messages_after": len(result.messages),
        "report": {
            "kept": basis.ids(report.kept),
            "shortened": basis.ids(report.shortened),
            "summarised": basis.ids(report.summarised),
            "repairs": list(report.repairs),
            "notes": list(report.notes),
            **_survival(basis, report.survival),
        },
    }


def _survival(basis: Basis, found: compaction.Survival) -> dict[str, Any]:
    """What became of the details, the most telling of those that are lost named."""
    return noted(found, lambda at: basis.sent[at].id if at >= 0 else None, LOST_KEPT)


def check_holds(reader: Reader, run: Run) -> None:
    """Raise CompactionConflict when a planned row was changed or taken back since; rows that came later are none."""
    planned = snapshot(run)
    now = reader.basis(run.session_id)
    kept = tuple(row for row in now.rows if row[0] <= planned.watermark)
    if now.file != planned.file:
        raise CompactionConflict("The store's file was replaced since this summary was made. Plan again.")
    if kept != planned.rows:
        raise CompactionConflict(
            "Messages this summary was made from were changed or taken back since. Nothing was written and the summary "
            "is kept. Plan again."
        )


def edited(reader: Reader, run: Run, summary: str) -> dict[str, Any]:
    """The row's fields with another text for the same plan.

    Raises NothingToEdit, BadSummary, CompactionConflict and what reading raises.
    The plan is made again from the same messages; one that comes out differently (another version of the rules) is a
    conflict.
    """
    strategy = planning.strategy_of(run.strategy)
    if not strategy.asks_model:
        raise NothingToEdit("This run shortens tool output and has no summary to edit. Apply it as it is.")
    check_holds(reader, run)
    basis = planning.read_basis(reader, run.session_id, run.mode).up_to(snapshot(run).watermark)
    plan = planning.plan_of(basis, options_of(run), run.rules.get("text", ""))
    new = fields(strategy, basis, plan, summary)
    if any(new["plan"][part] != run.plan[part] for part in ("head", "middle", "tail", "lifted")):
        raise CompactionConflict("The rules would cut this session elsewhere now. Nothing was written. Plan again.")
    return new


def snapshot(run: Run) -> writing.Snapshot:
    """What this run was planned on."""
    return steps.snapshot_from_json(run.session_id, run.plan["snapshot"])


def planned_steps(run: Run) -> list[writing.Step]:
    """What this run's commit writes."""
    return steps.from_json(run.plan["steps"])
