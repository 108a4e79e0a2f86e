"""The candidate of a run: the summary and everything that a commit needs, as fields of the row."""

from __future__ import annotations

from typing import Any

import compaction
from compaction.applying import Edit as EngineEdit
from compaction.strategy import Strategy
from viewer.stores.changes import ChangeMessage, Edit, InsertMessage, KeepMessage, edits_to_json
from viewer.stores.errors import CompactionConflict
from viewer.stores.registry import Reader

from . import planning
from .detail_loss import report_data
from .errors import BadSummary, NothingToEdit
from .models import Run
from .plain import plain
from .planning import Basis, Options

LOST_KEPT = 500  # lost details of each list that a run names; the others are only counted


def options_of(run: Run) -> Options:
    """What the person chose for this run."""
    return Options(run.strategy, run.focus, run.keep_last, run.summarizer, run.mode, run.carry)


def plan_fields(basis: Basis, plan: compaction.Plan) -> dict[str, Any]:
    """The row's fields after planning."""
    return {
        "plan": planning.recorded(basis, plan),
        "basis": basis.token,
        "tokens_before": basis.tokens_before(plan),
        "messages_before": basis.messages_before,
    }


def fields(strategy: Strategy, basis: Basis, plan: compaction.Plan, summary: str) -> dict[str, Any]:
    """The row's fields after the summary was made; a plan that needs no summary ignores it.

    Raises BadSummary, or compaction.BadTranscript.
    """
    try:
        result = strategy.apply(plan, plain(summary))
    except compaction.SummaryRejected as problem:
        raise BadSummary(problem.reason) from problem
    report = result.report
    return {
        **plan_fields(basis, plan),
        "edits": edits_to_json(edits_of(basis, result)),
        "summary": result.summary,
        "tokens_after": result.tokens_after,
        "messages_after": len(result.messages),
        "report": {
            "kept": basis.ids(report.kept),
            "shortened": basis.ids(report.shortened),
            "summarised": basis.ids(report.summarised),
            "repairs": list(report.repairs),
            "notes": list(report.notes),
            **_survival(basis, compaction.loss_report(result)),
        },
    }


def edits_of(basis: Basis, result: compaction.Result) -> list[Edit]:
    """The engine's edits, by ids of messages."""
    return [_by_id(basis, edit) for edit in result.edits]


def _by_id(basis: Basis, edit: EngineEdit) -> Edit:
    if isinstance(edit, compaction.Insert):
        return InsertMessage(edit.message)
    message_id = basis.sent[edit.index].id
    return (
        KeepMessage(message_id)
        if isinstance(edit, compaction.Keep)
        else ChangeMessage(message_id, edit.changes, edit.why)
    )


def _survival(basis: Basis, survival: compaction.Survival) -> dict[str, Any]:
    """Which details survive; the most informative of the lost ones are named."""
    return report_data(survival, lambda at: basis.sent[at].id if at >= 0 else None, LOST_KEPT)


def edited(reader: Reader, run: Run, summary: str) -> dict[str, Any]:
    """The row's fields for the same plan with another summary; its report says that somebody `edited` it.

    The plan is made again from the same messages. If it differs (another version of the rules), that is a conflict.
    Raises NothingToEdit, BadSummary, CompactionConflict and what reading raises.
    """
    strategy = planning.strategy_of(run.strategy)
    if not strategy.asks_model:
        raise NothingToEdit("This run shortens tool output and has no summary to edit. Apply it as it is.")
    basis = planning.followed(reader, planning.read_basis(reader, run.session_id, run.mode, run.basis))
    plan = planning.plan_of(basis, options_of(run), run.rules.get("text", ""))
    new = fields(strategy, basis, plan, summary)
    if any(new["plan"][part] != run.plan[part] for part in ("head", "middle", "tail", "lifted")):
        raise CompactionConflict("The plan for this session would be different now. Nothing was written. Plan again.")
    if run.report.get("edited") or new["summary"].strip() != run.summary.strip():
        new["report"]["edited"] = True
    return new
