"""The compact panel: the plan in numbers before anything runs, and its options."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString

import compaction
from compaction import pruning
from compaction.strategy import STRATEGIES, Strategy, Summary
from viewer.rendering import formats
from viewer.runs import planning, service
from viewer.runs.models import CompactionSetting
from viewer.runs.planning import DryRun, Options, strategy_of
from viewer.runs.providers import PROVIDERS
from viewer.runs.providers.connections import connection
from viewer.runs.providers.limits import Estimate, estimate
from viewer.runs.providers.summarizers import OFFLINE, Summarizer, summarizers
from viewer.stores.base import Session, Store
from viewer.stores.errors import StoreError
from viewer.stores.refused import reason_of
from viewer.stores.registry import Reader, agent_of
from viewer.web.session_urls import SessionUrls

from .reach import Reach, reach
from .rules import ShownRules, shown_workspace_rules
from .run_card import RunCard, matters, run_card

BAR = 100.0  # width of the plan's bar in its own units
LITTLE = 0.1  # of the context: a plan that saves less says so
LIVE_LIMIT = 50  # messages in context up to which the plan is made with the page; above, htmx or a click asks for it
KEPT = (
    ("", "as many as fit"),
    ("10", "at least the last 10"),
    ("20", "at least the last 20"),
    ("50", "at least the last 50"),
    ("100", "at least the last 100"),
)


@dataclass(frozen=True, slots=True)
class PlanPart:
    """One part of a bar, as of the plan: colour class, label, `few` words for below the bar, tokens; `x` and `width` in
    a bar of 100.
    """

    kind: str
    label: str
    few: str
    tokens: int
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """A dry run with its texts for the panel. `sends` says what a model would receive, "" if none is asked, and in how
    many `requests`; `too_small` why it could not. `rules` are those of the workspace, carried or not; None if no
    summary is made; `reach` says what of them reaches the agent.
    """

    draft: DryRun
    parts: tuple[PlanPart, ...]
    busy: tuple[str, ...]
    little: str
    question: str
    rules: ShownRules | None
    reach: Sequence[Reach] = ()
    sends: str | SafeString = ""
    requests: int = 1
    too_small: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """The panel of one session. `choices` are the strategies, first the one that is taken where none is named, each
    with the tokens it leaves (None: it makes no plan, or nothing is planned yet). `reason` says why nothing can be
    compacted here at all, `nothing` why not now, and `instead` is label and address of the strategy that would help;
    `later`: the plan is not made yet; `summarises`: the strategy asks a summariser; `local`: this one sends nothing
    anywhere; `no_model`: there is no other. `sends_otherwise` is why the agent sends something different from the
    session, `picks_up` when it would use a compaction. `beyond` are the tokens that the agent reports besides the
    messages of the plan: its prompt and its tools. `run` is the session's newest run while it matters.
    """

    place: SessionUrls
    session: Session
    options: Options
    choices: Sequence[tuple[Strategy, int | None]]
    keep: Sequence[tuple[str, str]]
    summarizers: Collection[Summarizer]
    summarises: bool
    local: bool
    no_model: bool
    plan: ShownPlan | None
    reason: str
    nothing: str
    instead: tuple[str, str] | None
    later: bool
    sends_otherwise: str
    picks_up: str
    run: RunCard | None
    beyond: int = 0
    confirming: bool = False

    @property
    def kept(self) -> str:
        """How many messages stay at least, as the form sends it."""
        return str(self.options.keep_last or "")

    @property
    def leads(self) -> bool:
        """Whether *Preview* is the main action: not next to a run that is open, or written and not picked up.
        One that is ready for review takes the plan's place, until *Other settings* are asked for.
        """
        run = self.run
        led = run is not None and (run.run.is_open or run.leads_to_undo)
        return not led and self.plan is not None and not self.plan.little


def panel(
    reader: Reader, session: Session, options: Options | None = None, *, in_context: int = 0, redacting: bool = False
) -> Panel:
    """The panel's data. If `in_context` is large, the plan is left for later."""
    store, usable = reader.store, summarizers()
    options = options or Options(summarizer=_usual(store, usable))
    setting = planning.setting_of(store)
    mode, _ = planning.mode_of(reader, session.id, options, setting)
    reason = reason_of(reader.refusal(session.id, planning.compacting(mode)))
    later = in_context > LIVE_LIMIT and not reason
    plan, nothing, instead = (
        (None, "", "") if later or reason else _planned(reader, session, options, setting, redacting)
    )
    left = planning.tokens_left(plan.draft, options, setting) if plan else dict.fromkeys(STRATEGIES)
    options = replace(options, strategy=options.strategy or (plan.draft.strategy if plan else Summary.name))
    newest = service.latest(store, session.id)
    return Panel(
        place=SessionUrls(store.name, session.id),
        session=session,
        options=options,
        choices=[(STRATEGIES[name], tokens) for name, tokens in left.items()],
        keep=_keep_choices(options),
        summarizers=usable.values(),
        summarises=strategy_of(options.strategy).asks_model,
        local=usable.get(options.summarizer, OFFLINE).local,
        no_model=all(each.local for each in usable.values()),
        plan=plan,
        reason=reason,
        nothing=nothing,
        instead=_instead(SessionUrls(store.name, session.id), options, instead),
        later=later,
        sends_otherwise=agent_of(store).sends_otherwise(),
        picks_up=agent_of(store).noticing(session).sentence,
        run=run_card(newest, redacting=redacting) if newest is not None and matters(newest) else None,
        beyond=max(0, (reader.usage(session.id).tokens or 0) - plan.draft.tokens_before) if plan else 0,
    )


def usual_summarizer(store: Store) -> str:
    """The summariser of the store's last summary, while it is set up; else the one without a model."""
    return _usual(store, summarizers())


def _usual(store: Store, usable: Container[str]) -> str:
    last = service.last_summarizer(store)
    return last if last in usable else OFFLINE.name


def _keep_choices(options: Options) -> list[tuple[str, str]]:
    own = str(options.keep_last or "")
    more = [] if any(value == own for value, _ in KEPT) else [(own, f"at least the last {own}")]
    return [*KEPT, *more]


def _planned(
    reader: Reader, session: Session, options: Options, setting: CompactionSetting, redacting: bool
) -> tuple[ShownPlan | None, str, str]:
    """The plan, or why there is none now and which strategy would help."""
    try:
        store, draft = reader.store, planning.draft_of(reader, session.id, options, setting)
        return _with_sending(store, draft, options, redacting), "", ""
    except compaction.NothingToCompact as problem:
        return None, problem.reason, problem.instead
    except compaction.CompactionError as problem:
        return None, problem.reason, ""
    except StoreError as problem:
        return None, problem.message, ""


def _instead(urls: SessionUrls, options: Options, strategy: str) -> tuple[str, str] | None:
    """The strategy that would help if this one does not: its label and the address that plans with it."""
    if strategy not in STRATEGIES:
        return None
    fields = {
        "keep": options.keep_last, "focus": options.focus, "summarizer": options.summarizer, "mode": options.mode,
    }  # fmt: skip
    return STRATEGIES[strategy].label, urls.view("plan", strategy=strategy, **fields)


def _with_sending(store: Store, draft: DryRun, options: Options, redacting: bool) -> ShownPlan:
    """The draft in the words of the panel, with what a model would receive if one is asked."""
    shown = shown_plan(store, draft, redacting)
    asks = options.summarizer in PROVIDERS and strategy_of(draft.strategy).asks_model
    model = connection(options.summarizer) if asks else None
    if model is None:
        return shown
    try:
        asked = estimate(draft.plan, model)
        return replace(shown, sends=_sends(asked), requests=asked.requests)
    except compaction.SummaryRejected as problem:
        return replace(shown, too_small=problem.reason)


def _sends(estimate: Estimate) -> SafeString:
    """What is sent where, and its cost if that is known."""
    return format_html(
        "Sends {} {} tokens to <b>{}</b>, {}.",
        "up to" if estimate.requests > 1 else "about", formats.thin(estimate.input_tokens), estimate.connection.host,
        "price not known" if estimate.cost is None else formats.dollars(estimate.cost),
    )  # fmt: skip


def shown_plan(store: Store, draft: DryRun, redacting: bool) -> ShownPlan:
    """A draft in the words of the panel."""
    plan = draft.plan
    return ShownPlan(
        draft=draft,
        parts=_parts(draft),
        busy=_busy(draft),
        little=_little(draft),
        question=_question(draft),
        rules=None if plan.keeps_middle else shown_workspace_rules(draft.rules, redacting=redacting),
        reach=() if plan.keeps_middle else reach(store, draft.rules, carried=bool(plan.policy.rules)),
    )


def _question(draft: DryRun) -> str:
    """The question of *Compact now*, in numbers."""
    plan = draft.plan
    undo = "A split has no Undo." if draft.mode == "split" else "You can undo this."
    when = f"{undo} It is written when the running turn ends." if draft.lease is not None else undo
    what = f"{formats.counted(len(plan.middle), 'message')} ({formats.thin(plan.middle_tokens)} tokens)"
    if isinstance(plan, pruning.PrunePlan):
        question = (
            f"Shorten the tool output in {what} to about {formats.thin(plan.middle_tokens - plan.won)}? The full text"
        )
        return f"{question} stays in the store and in History. {when}"
    question = f"Replace {what} by a summary of at most {formats.thin(plan.summary_budget)}? They stay"
    return f"{question} in the store and in History. {when}"


def _little(draft: DryRun) -> str:
    """How little the plan saves, as a sentence; "" if it is worth it."""
    saved = max(draft.tokens_before - draft.tokens_after_estimate, 0)
    if saved >= LITTLE * draft.tokens_before:
        return ""
    return f"This would save little: less than a tenth of the {formats.thin(draft.tokens_before)} tokens in context."


def _parts(draft: DryRun) -> tuple[PlanPart, ...]:
    plan = draft.plan
    labels, does = ("Start, kept", "Previous summary (merged)", "To summarise"), "to summarise"
    if plan.keeps_middle:
        labels, does = ("Older, kept", "Previous note (replaced)", "To shorten"), "to shorten"
    head, middle, tail = f"{len(plan.head):,}", f"{len(plan.middle):,}", f"{len(plan.tail):,}"
    earlier = labels[1].partition(" (")[0].lower()
    rows = [
        ("start", f"{labels[0]}, {head}", f"{head} kept", plan.head_tokens, bool(plan.head)),
        ("earlier", labels[1], earlier, plan.earlier_tokens, plan.earlier_tokens > 0),
        (
            "sum",
            f"{labels[2]}, {formats.counted(len(plan.middle), 'message')}",
            f"{middle} {does}",
            plan.middle_tokens,
            True,
        ),
        ("recent", f"Recent, kept, {tail}", f"{tail} recent, kept", plan.tail_tokens, bool(plan.tail)),
    ]
    return in_a_bar((kind, label, few, tokens) for kind, label, few, tokens, present in rows if present)


def in_a_bar(rows: Iterable[tuple[str, str, str, int]]) -> tuple[PlanPart, ...]:
    """Parts of one bar, each with its colour class, label, few words and tokens."""
    listed = list(rows)
    total = sum(tokens for *_, tokens in listed) or 1
    parts, x = [], 0.0
    for kind, label, few, tokens in listed:
        width = BAR * tokens / total
        parts.append(PlanPart(kind, label, few, tokens, f"{x:.2f}", f"{max(width - 0.6, 0.4):.2f}"))
        x += width
    return tuple(parts)


def _busy(draft: DryRun) -> tuple[str, ...]:
    """Who blocks the compaction now, as sentences."""
    sentences = [planning.busy_sentence(draft.lock)] if draft.lock else []
    if draft.lease:
        sentences.append(
            format_html(
                "A turn has been running since {}; the result is written when it ends. That is waited for up to {}.",
                formats.moment(draft.lease.since),
                formats.seconds(settings.WAIT_SECONDS),
            )
        )
    return tuple(sentences)
