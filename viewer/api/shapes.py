"""What stores and runs hold, in the API's shapes."""

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
from viewer.runs.planning import AS_SET, DryRun, Options
from viewer.stores import counting
from viewer.stores.base import Session
from viewer.stores.lock_owners import Holder
from viewer.stores.registry import Reader, agent_of
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


def session(reader: Reader, found: Session) -> SessionOut:
    """A session with the numbers of its context; the tokens of a long one are known once the worker counted them."""
    index = index_cache.count_some(reader, found, COUNTING_SECONDS, context_alone=True)
    reported = reader.usage(found.id)
    refusal = reader.compact_refusal(found.id)
    return SessionOut(
        id=found.id,
        address=session_address(found.store, found.id),
        store=found.store,
        title=found.title,
        name=found.name,
        source=found.source,
        model=found.model,
        started_at=moment(found.started_at),
        last_active=moment(found.last_active),
        active=found.active,
        archived=found.archived,
        messages_live=len(index.live),
        messages_total=index.messages,
        tokens_live=index.tokens_live if reported.tokens is None else reported.tokens,
        context_window=counting.context_window(found.model, found.window),
        compactions=len(index.compactions),
        parent=found.parent or None,
        cwd=found.cwd,
        git_branch=found.git_branch,
        cost=reported.cost.dollars if reported.cost else None,
        cost_is_least=bool(reported.cost and reported.cost.is_least),
        parts=found.parts,
        can_compact=refusal is None,
        compact_reason=refusal.message if refusal else "",
        sends_otherwise=agent_of(reader.store).sends_otherwise(),
        untried_version=agent_of(reader.store).untried_version(found.id),
    )


def broken(lines: Iterable[UnreadableLine]) -> list[BrokenOut]:
    return [BrokenOut(id=line.id, store=line.store, why=line.why) for line in lines]


def compaction(view: CompactionView, audit: str | None) -> CompactionOut:
    """A compaction with the status of its audit."""
    known = counted(view.run)
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
        details=_lost(known.details) if known else None,
        statements=_lost(known.statements) if known else None,
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
    made = draft.plan
    busy = BusyOut(lock=_held(draft.lock), turn=_held(draft.lease)) if draft.lock or draft.lease else None
    return PlanOut(
        strategy=draft.strategy,
        mode=draft.mode,
        fallback=draft.fallback,
        head=_part(draft.head_ids, made.head_tokens),
        middle=_part(draft.middle_ids, made.middle_tokens),
        tail=_part(draft.tail_ids, made.tail_tokens),
        lifted=list(draft.lifted_ids),
        earlier_tokens=made.earlier_tokens,
        reasons=list(made.reasons),
        tokens_before=draft.tokens_before,
        tokens_after_estimate=draft.tokens_after_estimate,
        notes=draft.notes,
        note_tokens=draft.note_tokens,
        recompaction=made.recompaction,
        lock_seconds_estimate=round(draft.lock_seconds, 2),
        context_window=draft.window,
        tokens_are_estimates=draft.estimate,
        pick_up=draft.pick_up,
        sends_otherwise=draft.sends_otherwise,
        busy=busy,
        rules=_rules(asdict(draft.rules), wanted=bool(made.policy.rules)),
    )


def _rules(found: Mapping[str, Any], wanted: bool) -> RulesOut:
    """`workspaces.Rules` as an object, {} of a run that has not looked for them."""
    known = {name: found[name] for name in RulesOut.model_fields if name in found} | {"reason": reason_in(found)}
    return RulesOut(**known, carried=wanted and bool(found.get("text")))


def _part(ids: tuple[int, ...], tokens: int) -> PartOut:
    return PartOut(ids=list(ids), count=len(ids), tokens=tokens)


def _held(held: Holder | None) -> HeldOut | None:
    return HeldOut(holder=held.holder, since=moment(held.since), expires=moment(held.expires)) if held else None


def runs(found: Sequence[Run]) -> tuple[tuple[RunOut, ...], tuple[UnreadableLine, ...]]:
    """Many of them, each store opened once."""
    undoable = undoable_among(each.pk for each in found)
    return lines_of(found, lambda run: _run(run, run.pk in undoable), lambda run: (run.pk, run.store))


def run(found: Run) -> RunOut:
    return _run(found, service.is_undoable(found))


def _run(found: Run, undoable: bool) -> RunOut:
    error = ErrorOut(code=found.error_code, message=found.error_message) if found.error_code else None
    return RunOut(
        id=found.pk,
        store=found.store,
        session_id=found.session_id,
        address=session_address(found.store, found.session_id),
        status=found.status,
        strategy=found.strategy,
        summarizer=found.summarizer,
        focus=found.focus,
        keep_last=found.keep_last,
        apply=found.apply,
        mode=found.mode,
        fallback=found.fallback,
        new_session_id=found.new_session_id or None,
        model=found.model,
        usage=UsageOut(**found.usage),
        progress=found.progress,
        tokens_before=found.tokens_before,
        tokens_after=None if found.came_to_nothing else found.tokens_after,
        messages_before=found.messages_before,
        messages_after=None if found.came_to_nothing else found.messages_after,
        summary=found.summary,
        rules=_rules(found.rules, wanted=found.carry and planning.strategy_of(found.strategy).carries_rules),
        error=error,
        undoable=undoable,
        created_at=found.created_at,
        finished_at=found.finished_at,
    )
