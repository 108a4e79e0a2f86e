"""A plan of a session as it is now: which rows are head, middle and tail, and whether it could be written."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from cachetools import LRUCache
from django.utils import timezone

import compaction
from compaction import tokens
from compaction.strategy import STRATEGIES, Strategy, first_plan, named
from viewer.inside import doors
from viewer.stores.base import Session, Store
from viewer.stores.changes import MODES, Json
from viewer.stores.errors import StoreReadOnly
from viewer.stores.lock_owners import Holder
from viewer.stores.message import StoredMessage, count_notes, for_model, row_tokens, weighed
from viewer.stores.refused import Action, reason_of
from viewer.stores.registry import Reader, agent_of, open_store, splits
from viewer.usage import counting
from viewer.workspaces.rules import Rules, rules_of

from . import pins
from .errors import UnknownChoice
from .models import CompactionSetting
from .pickup import before_a_run
from .providers.summarizers import get_summarizer

RECENT = 2  # sessions with the same options whose plans a process keeps, each with its messages

FIRST = ""  # the strategy that the engine offers first for this session
AS_SET = ""  # no mode or strategy was named: use the store's CompactionSetting


@dataclass(frozen=True, slots=True)
class Options:
    """What a person chooses for one compaction.

    `strategy` is one of STRATEGIES, `mode` one of MODES, or AS_SET; `keep_last` is a number of messages, None for as
    many as fit; `carry`: the rules of the session's workspace follow the summary.
    """

    strategy: str = AS_SET
    focus: str = ""
    keep_last: int | None = None
    summarizer: str = "offline"
    mode: str = AS_SET
    carry: bool = True


@dataclass(frozen=True, slots=True)
class Basis:
    """The input of a plan, read at one moment: the live messages that are `sent` to a model, the bytes of all of them
    by id, and the `token` by which a commit recognises them. `tail_only` as in a Policy. `not_shortened` says why tool
    output cannot be shortened, "" if it can. `repeats` are messages that were written twice and are also sent: a
    compaction writes each once. `pinned` are the texts of pinned messages; `recall`: the agent uses
    our tools of recall.
    """

    session: Session
    sent: list[StoredMessage]
    sizes: Mapping[int, int]
    token: Json
    window: int
    tail_only: bool = False
    not_shortened: str = ""
    repeats: Sequence[StoredMessage] = ()
    pinned: tuple[str, ...] = ()
    recall: bool = False

    @property
    def messages_before(self) -> int:
        """How many messages are in context."""
        return len(self.sent) + len(self.repeats)

    def tokens_before(self, plan: compaction.Plan) -> int:
        """Tokens of the messages in context, including those that were written twice."""
        return plan.tokens_before + sum(row_tokens(row, plan.count) for row in self.repeats)

    def ids(self, indices: tuple[int, ...]) -> list[int]:
        """Row ids of messages, by their index in the plan."""
        return [self.sent[index].id for index in indices]


@dataclass(frozen=True, slots=True)
class DryRun:
    """A dry run with a strategy and a mode.

    `fallback` says in sentences what the store's CompactionSetting wants and this session does not allow, "" if
    nothing.

    Ids are rows. `estimate`: the model's own token count is not known exactly. `lock` is who compacts the session now,
    `lease` who runs a turn, which only some stores show (`sees_turns`). `rules` are the rules read from the workspace,
    carried or not. `notes` counts the agent's notes that are not messages, `note_tokens` their tokens. A commit
    compares the session with `token`; `basis` is what was planned.
    """

    session_id: str
    strategy: str
    mode: str
    fallback: str
    plan: compaction.Plan
    rules: Rules
    ids: tuple[int, ...]
    head_ids: tuple[int, ...]
    middle_ids: tuple[int, ...]
    tail_ids: tuple[int, ...]
    lifted_ids: tuple[int, ...]
    model: str
    window: int
    estimate: bool
    lock: Holder | None
    lease: Holder | None
    sees_turns: bool
    pick_up: str
    sends_otherwise: str
    tokens_before: int
    tokens_after_estimate: int
    notes: int
    note_tokens: int
    token: Json
    basis: Basis


def draft(store: Store, session_id: str, options: Options) -> DryRun:
    """Plan without a model and without writing.

    Raises NotFound, StoreUnavailable, StoreReadOnly, SessionEnded, UnknownChoice, ModelNotSetUp, and
    compaction.NothingToCompact.
    """
    with open_store(store) as reader:
        return draft_of(reader, session_id, options)


def draft_of(reader: Reader, session_id: str, options: Options, setting: CompactionSetting | None = None) -> DryRun:
    """`draft` for an open store; its `setting` is read if it is not given."""
    check_options(options)
    setting = setting or setting_of(reader.store)
    mode, not_split = mode_of(reader, session_id, options, setting)
    basis = followed(reader, read_basis(reader, session_id, mode))
    presence = reader.presence(session_id)
    rules = rules_of(reader.store, basis.session)
    strategy, plan, other_strategy = _planned_as_set(basis, options, setting, rules.text)
    notes, note_tokens = count_notes(basis.sent, plan.count)
    agent = agent_of(reader.store)
    return DryRun(
        session_id=session_id,
        strategy=strategy.name,
        mode=mode,
        fallback=" ".join(filter(None, (not_split, other_strategy))),
        plan=plan,
        rules=rules,
        ids=tuple(row.id for row in basis.sent),
        head_ids=tuple(basis.ids(plan.head)),
        middle_ids=tuple(basis.ids(plan.middle)),
        tail_ids=tuple(basis.ids(plan.tail)),
        lifted_ids=tuple(basis.ids(plan.lifted)),
        model=basis.session.model,
        window=basis.window,
        estimate=tokens.encoding_for(basis.session.model)[1],
        lock=presence.holder,
        lease=presence.turn,
        sees_turns=presence.sees_turns,
        pick_up=before_a_run(agent, basis.session),
        sends_otherwise=agent.sends_otherwise(),
        tokens_before=basis.tokens_before(plan),
        tokens_after_estimate=plan.tokens_after_estimate,
        notes=notes,
        note_tokens=note_tokens,
        token=basis.token,
        basis=basis,
    )


def tokens_left(draft: DryRun, options: Options, setting: CompactionSetting) -> dict[str, int | None]:
    """What each strategy would leave in context, in tokens, by its name; None if it makes no plan. The first one is the
    one that is taken where none is named. The session is not read again.
    """
    left = {name: _tokens_left(draft, replace(options, strategy=name)) for name in STRATEGIES}
    with suppress(compaction.NothingToCompact):
        usual = _planned_as_set(draft.basis, replace(options, strategy=AS_SET), setting, draft.rules.text)[0].name
        return {usual: left.pop(usual), **left}
    return left


def _tokens_left(draft: DryRun, options: Options) -> int | None:
    try:
        return plan_of(draft.basis, options, draft.rules.text).tokens_after_estimate
    except (compaction.NothingToCompact, StoreReadOnly):
        return None


def setting_of(store: Store) -> CompactionSetting:
    """The default mode and strategy for this store's sessions; an unsaved row with the defaults if none is stored."""
    return CompactionSetting.objects.filter(store=store.name).first() or CompactionSetting(store=store.name)


def compacting(mode: str) -> Action:
    """The action of a compaction in this mode."""
    return "split" if mode == "split" else "compact"


def mode_of(reader: Reader, session_id: str, options: Options, setting: CompactionSetting) -> tuple[str, str]:
    """The mode in which this session is compacted, and sentences that say why it is not the store's; "" if it is, or if
    the options name a mode. Raises NotFound.
    """
    if options.mode != AS_SET:
        return options.mode, ""
    if setting.mode != "split":
        return "in_place", ""
    refusal = reader.refusal(session_id, "split")
    if splits(reader.store) and (refusal is None or reader.refusal(session_id) is not None):
        return "split", ""  # if neither is possible, the refusal of a split says why
    reason = f" {refusal.message}" if refusal else ""
    return "in_place", f"This store is set to split sessions, which is not possible here.{reason}"


def _planned_as_set(
    basis: Basis, options: Options, setting: CompactionSetting, rules: str
) -> tuple[Strategy, compaction.Plan, str]:
    """`planned` with the named strategy, or with the store's. If the store's makes no plan for this session, the plan
    of the strategy that the engine offers first, and a sentence that says so.
    """
    if options.strategy != AS_SET:
        return *planned(basis, options, rules), ""
    first = replace(options, strategy=FIRST)
    if setting.strategy == FIRST:
        return *planned(basis, first, rules), ""
    try:
        return *planned(basis, replace(options, strategy=setting.strategy), rules), ""
    except (compaction.NothingToCompact, StoreReadOnly, UnknownChoice) as problem:
        reason = problem.reason if isinstance(problem, compaction.NothingToCompact) else problem.message
    strategy = named(setting.strategy)
    sentence = f"This store is set to “{strategy.label if strategy else setting.strategy}”, which is not possible here."
    return *planned(basis, first, rules), f"{sentence} {reason}"


def busy_sentence(owner: Holder, doing: str = "compacting this session") -> str:
    """Who holds a lock or a turn, since when, and when it expires: its process may be dead."""
    if owner.says:
        return owner.says
    who = "Palimpsest" if owner.is_palimpsest else f"Another process ({owner.holder})"
    since, end = (timezone.localtime(datetime.fromtimestamp(at, UTC)) for at in (owner.since, owner.expires))
    return f"{who} has been {doing} since {since:%H:%M:%S}. Its lock expires at {end:%H:%M:%S %Z} unless it is renewed."


def check_options(options: Options) -> None:
    """Raise UnknownChoice for a strategy, a summariser, a mode or a number that does not exist; ModelNotSetUp for a
    summariser without its model.
    """
    get_summarizer(options.summarizer)
    if options.strategy != AS_SET:
        strategy_of(options.strategy)
    if options.mode not in (AS_SET, *MODES):
        raise UnknownChoice(f"There is no mode {options.mode!r}. Choose one of: {', '.join(MODES)}.")
    if options.keep_last is not None and options.keep_last < 1:
        raise UnknownChoice("keep_last must be 1 or more messages.")


def read_basis(reader: Reader, session_id: str, mode: str = "in_place", planned: Json | None = None) -> Basis:
    """The input of a plan now; with `planned`, the token of an earlier basis, without the messages that came since.

    Raises why the session cannot be compacted, or SessionBusy; CompactionConflict if a message of `planned` was changed
    or taken back.
    """
    if (problem := reader.refusal(session_id, compacting(mode))) is not None:
        raise problem
    session, live_context = reader.session(session_id), reader.basis(session_id, planned)
    window = counting.context_window(session.model, session.window)
    sent = for_model(live_context.messages)
    sizes, token = live_context.sizes, live_context.token
    refusal = reader.refusal(session_id, "prune")
    return Basis(session, sent, sizes, token, window, reader.tail_only, reason_of(refusal), live_context.repeats)


def followed(reader: Reader, basis: Basis) -> Basis:
    """The basis with what follows its summary besides rules: pinned messages, and the tool of recall if it is used."""
    return replace(basis, pinned=pins.texts(reader, basis.session), recall=doors.recalls(reader.store))


def plan_of(basis: Basis, options: Options, rules: str) -> compaction.Plan:
    """The plan of `planned` alone."""
    return planned(basis, options, rules)[1]


def planned(basis: Basis, options: Options, rules: str) -> tuple[Strategy, compaction.Plan]:
    """The strategy, and the engine's plan of the basis; with `carry`, these rules follow the summary.

    Raises compaction.NothingToCompact or BadTranscript; StoreReadOnly if the strategy shortens tool output and the
    store cannot.
    """
    chosen = None if options.strategy == FIRST else strategy_of(options.strategy)
    if basis.not_shortened and chosen is not None and not chosen.asks_model:
        raise StoreReadOnly(basis.not_shortened)
    policy = compaction.Policy(
        context_window=basis.window,
        focus=options.focus,
        keep_last=options.keep_last,
        rules=rules if options.carry else "",
        pinned=basis.pinned,
        recall=basis.recall,
        tail_only=basis.tail_only,
        can_prune=not basis.not_shortened,
        handoff="hermes",  # the form that every agent's store can read back
    )
    strategy, plan = _planned_once(basis, chosen, policy)
    repeated = (repeats_sentence(len(basis.repeats)),) if basis.repeats else ()
    return strategy, replace(plan, reasons=(*plan.reasons, *repeated))


# The newest plans of this process by strategy, with their messages.
_recent: LRUCache[tuple[Hashable, ...], tuple[list[StoredMessage], dict[str, tuple[Strategy, compaction.Plan]]]] = (
    LRUCache(RECENT)
)
_lock = Lock()


def _planned_once(basis: Basis, chosen: Strategy | None, policy: compaction.Policy) -> tuple[Strategy, compaction.Plan]:
    """The engine's plan with this strategy, or with the one that it offers first.

    A panel, its confirmation, the preview and an edit of the summary ask for the same plan one after the other: a
    process makes it again only if a message or an option has changed. A worker is another process and makes its own.
    The messages themselves are compared, because the token of a Hermes session has only the length of a row.
    """
    session = basis.session
    key = (session.store, session.id, session.model, policy)
    with _lock:
        sent, plans = _recent.get(key, ([], {}))
    if sent != basis.sent:
        plans = {}
        with _lock:
            _recent[key] = basis.sent, plans
    choice = chosen.name if chosen else FIRST
    if choice not in plans:
        messages, count = list(map(_dated, basis.sent)), counting.counter_for(session.model)
        if chosen:
            plans[choice] = chosen, chosen.plan(messages, policy, count)
        else:
            plans[choice] = first_plan(messages, policy, lambda strategy: _planned_once(basis, strategy, policy)[1])
    return plans[choice]


def repeats_sentence(repeats: int) -> str:
    """The plan's sentence about messages that are in the context more than once."""
    if repeats == 1:
        return "1 message is in context twice, because it was written twice: the compaction writes it once."
    return (
        f"{repeats:,} messages are in context twice, because they were written twice: the compaction writes each once."
    )


def strategy_of(name: str) -> Strategy:
    """The strategy of this name, new or old. Raises UnknownChoice."""
    strategy = named(name)
    if strategy is None:
        raise UnknownChoice(f"There is no strategy {name!r}. Choose one of: {', '.join(STRATEGIES)}.")
    return strategy


def _dated(row: StoredMessage) -> compaction.Message:
    """The message with its time, so that a summary can date what was done."""
    return weighed(row) | ({"timestamp": row.timestamp} if row.timestamp else {})


def recorded(basis: Basis, plan: compaction.Plan) -> dict[str, Any]:
    """The plan as JSON, as a run stores it: ids by part, reasons, tokens and window."""
    return {
        "model": basis.session.model,
        "window": basis.window,
        "head": basis.ids(plan.head),
        "middle": basis.ids(plan.middle),
        "tail": basis.ids(plan.tail),
        "lifted": basis.ids(plan.lifted),
        "reasons": list(plan.reasons),
        "recompaction": plan.recompaction,
        "tokens_after_estimate": plan.tokens_after_estimate,
    }
