"""Data of stores and runs in the API's shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from compaction.handoff import rules_in
from viewer.history import index_cache
from viewer.history.undo import undoable_among
from viewer.runs import planning, service
from viewer.runs.compaction_list import CompactionView
from viewer.runs.detail_loss import counted
from viewer.runs.models import Run
from viewer.runs.planning import AS_SET, DryRun, Options, compacting, mode_of, setting_of
from viewer.stores.base import Session
from viewer.stores.lock_owners import Holder
from viewer.stores.refused import reason_of
from viewer.stores.registry import Reader, agent_of
from viewer.usage import counting
from viewer.web.unreadable import UnreadableLine, lines_of
from viewer.web.url_segments import session_address
from viewer.workspaces.rules import reason_in

from .losses import DetailsOut
from .run_schemas import RunOut, UsageOut
from .schemas import (
    BrokenOut,
    BusyOut,
    CompactionOut,
    ErrorOut,
    HeldOut,
    PartOut,
    PlanIn,
    PlanOut,
    ReportedOut,
    RulesOut,
    SessionOut,
    moment,
)

COUNTING_SECONDS = 2.0  # that a call waits for tokens nobody has counted yet


def session(reader: Reader, stored: Session) -> SessionOut:
    """A session with the numbers of its context; the tokens of a long one are known once a worker has counted them."""
    index = index_cache.count_some(reader, stored, COUNTING_SECONDS, context_alone=True)
    reported = reader.usage(stored.id)
    mode, _ = mode_of(reader, stored.id, Options(), setting_of(reader.store))
    refusal = reader.refusal(stored.id, compacting(mode))
    return SessionOut(
        id=stored.id,
        address=session_address(stored.store, stored.id),
        store=stored.store,
        title=stored.title,
        name=stored.name,
        source=stored.source,
        model=stored.model,
        started_at=moment(stored.started_at),
        last_active=moment(stored.last_active),
        active=stored.active,
        archived=stored.archived,
        messages_live=len(index.live),
        messages_total=index.messages,
        tokens_live=index.tokens_live if reported.tokens is None else reported.tokens,
        context_window=counting.context_window(stored.model, stored.window),
        compactions=len(index.compactions),
        parent=stored.parent or None,
        cwd=stored.cwd,
        git_branch=stored.git_branch,
        cost=reported.cost.dollars if reported.cost else None,
        cost_is_least=bool(reported.cost and reported.cost.is_least),
        parts=stored.parts,
        can_compact=refusal is None,
        compact_reason=reason_of(refusal),
        sends_otherwise=agent_of(reader.store).sends_otherwise(),
        untried_version=agent_of(reader.store).untried_version(stored.id),
    )


def broken(lines: Iterable[UnreadableLine]) -> list[BrokenOut]:
    return [BrokenOut(id=line.id, store=line.store, why=line.why) for line in lines]


def compaction(view: CompactionView, audit: str | None) -> CompactionOut:
    """A compaction with the status of its audit."""
    counts = counted(view.run)
    return CompactionOut(
        at=moment(view.at),
        by=view.by,
        messages_before=view.messages_before,
        messages_after=view.messages_after,
        tokens_before=view.tokens_before,
        tokens_after=view.tokens_after,
        summary=view.summary,
        rules=rules_in(view.summary),
        audit=audit,
        boundary_message_id=view.boundary_message_id,
        handoff_id=view.handoff_id,
        summarised_ids=list(view.summarised_ids),
        kept_ids=list(view.kept_ids),
        shortened_ids=list(view.shortened_ids),
        run=view.run,
        undoable=view.undoable,
        unsure=view.unsure,
        reported=ReportedOut(**asdict(view.reported)) if view.reported else None,
        details=_lost(counts.details) if counts else None,
        statements=_lost(counts.statements) if counts else None,
    )


def _lost(counts: tuple[int, int]) -> DetailsOut:
    return DetailsOut(lost=counts[0], total=counts[1])


def options(body: PlanIn) -> Options:
    """What a call asks for; what it does not name is as the store is set."""
    return Options(
        strategy=body.strategy or AS_SET,
        focus=body.focus,
        keep_last=body.keep_last,
        summarizer=body.summarizer,
        mode=body.mode or AS_SET,
        carry=body.rules,
    )


def plan(draft: DryRun) -> PlanOut:
    engine_plan = draft.plan
    busy = BusyOut(lock=_holder_out(draft.lock), turn=_holder_out(draft.lease)) if draft.lock or draft.lease else None
    return PlanOut(
        strategy=draft.strategy,
        mode=draft.mode,
        fallback=draft.fallback,
        head=_part(draft.head_ids, engine_plan.head_tokens),
        middle=_part(draft.middle_ids, engine_plan.middle_tokens),
        tail=_part(draft.tail_ids, engine_plan.tail_tokens),
        lifted=list(draft.lifted_ids),
        earlier_tokens=engine_plan.earlier_tokens,
        reasons=list(engine_plan.reasons),
        tokens_before=draft.tokens_before,
        tokens_after_estimate=draft.tokens_after_estimate,
        notes=draft.notes,
        note_tokens=draft.note_tokens,
        recompaction=engine_plan.recompaction,
        context_window=draft.window,
        tokens_are_estimates=draft.estimate,
        pick_up=draft.pick_up,
        sends_otherwise=draft.sends_otherwise,
        busy=busy,
        rules=_rules(asdict(draft.rules), is_carried=bool(engine_plan.policy.rules)),
    )


def _rules(rules: Mapping[str, Any], is_carried: bool) -> RulesOut:
    """`workspaces.Rules` as an object, {} for a run that has not looked for them."""
    values = {name: rules[name] for name in RulesOut.model_fields if name in rules} | {"reason": reason_in(rules)}
    return RulesOut(**values, carried=is_carried and bool(rules.get("text")))


def _part(ids: tuple[int, ...], tokens: int) -> PartOut:
    return PartOut(ids=list(ids), count=len(ids), tokens=tokens)


def _holder_out(holder: Holder | None) -> HeldOut | None:
    return HeldOut(holder=holder.holder, since=moment(holder.since), expires=moment(holder.expires)) if holder else None


def runs(listed: Sequence[Run]) -> tuple[tuple[RunOut, ...], tuple[UnreadableLine, ...]]:
    """Many runs; each store is opened once."""
    undoable = undoable_among(each.pk for each in listed)
    return lines_of(listed, lambda run: _run(run, run.pk in undoable), lambda run: (run.pk, run.store))


def run(stored: Run) -> RunOut:
    return _run(stored, service.is_undoable(stored))


def _run(stored: Run, undoable: bool) -> RunOut:
    error = ErrorOut(code=stored.error_code, message=stored.error_message) if stored.error_code else None
    return RunOut(
        id=stored.pk,
        store=stored.store,
        session_id=stored.session_id,
        address=session_address(stored.store, stored.session_id),
        status=stored.status,
        strategy=stored.strategy,
        summarizer=stored.summarizer,
        focus=stored.focus,
        keep_last=stored.keep_last,
        apply=stored.apply,
        mode=stored.mode,
        fallback=stored.fallback,
        new_session_id=stored.new_session_id or None,
        model=stored.model,
        usage=UsageOut(**stored.usage),
        progress=stored.progress,
        tokens_before=stored.tokens_before,
        tokens_after=None if stored.came_to_nothing else stored.tokens_after,
        messages_before=stored.messages_before,
        messages_after=None if stored.came_to_nothing else stored.messages_after,
        summary=stored.summary,
        rules=_rules(stored.rules, is_carried=stored.carry and planning.strategy_of(stored.strategy).carries_rules),
        error=error,
        undoable=undoable,
        created_at=stored.created_at,
        finished_at=stored.finished_at,
    )
