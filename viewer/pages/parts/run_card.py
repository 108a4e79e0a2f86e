"""A run's card: how it goes while it is open, what came of it, and what can be done next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zlib import crc32

from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from viewer.rendering import formats
from viewer.rendering.texts import clean
from viewer.runs import service
from viewer.runs.models import Run
from viewer.runs.planning import strategy_of
from viewer.runs.providers import PROVIDERS
from viewer.runs.providers.summarizers import OFFLINE
from viewer.stores import counting
from viewer.stores.errors import StoreError
from viewer.stores.registry import get_store, open_store
from viewer.web.session_urls import SessionUrls

from .losses import SummaryReport, report_of
from .rules import ShownRules, rules_of_run

# What a status is called on pages. Progress sentences come from the run itself.
STATUS = {
    "queued": "Waiting for a worker", "planning": "Planning", "summarizing": "Summarising",
    "ready": "Ready to review", "waiting": "Waiting to be written", "applying": "Writing",
    "applied": "Compacted", "undone": "Undone", "discarded": "Discarded",
    "cancelled": "Cancelled", "failed": "Failed", "conflict": "Conflict",
}  # fmt: skip
DONE = {"queued": 0, "planning": 2, "summarizing": 5, "waiting": 90, "applying": 95}  # of 100, when a phase begins
SHOWN_FOR = timedelta(days=1)
QUIET_SECONDS = 120  # without a heartbeat before the card says that no worker seems to be there
# Failures that another model, address, key or context window may mend.
SET_UP = frozenset({
    "unknown_choice", "summary_window_too_small", "model_bad_answer", "model_no_credit",
    "model_not_found", "model_not_set_up", "model_only_thought", "model_redirected", "model_refused_request",
    "model_unauthorized", "model_unreachable", "model_window",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class RetryForm:
    """How to go on after a run that wrote nothing: its options as a form sends them, and an address that plans anew.

    `kept` tells of finished parts; `model` that the summary was asked of a model, `set_up` that its settings may be
    what is wrong.
    """

    options: tuple[tuple[str, str], ...]
    plan: str
    kept: str
    model: bool
    set_up: bool


@dataclass(frozen=True, slots=True)
class RunCard:
    """A run as both its page and the session page show it.

    `phase` changes with the phase and the part, `ticks` with every look. `place` is where the conversation goes on:
    `moved` says that this is a new session. `earlier` is the address of an older run whose summary could not be
    written. `rules` is what stands behind the summary. `kept` is what somebody had typed into a summary that cannot be
    applied any more; `typed` what stands in the form instead of the summary (a draft, or what was refused), and
    `refused` why it could not be applied. `redoable` says that an undone run can be applied again. `summary_tokens`,
    `after_tokens` and `before_tokens` are there to tell what a change of the summary comes to.
    """

    id: int
    href: str
    place: SessionUrls
    status: str
    label: str
    phase: str | SafeString
    ticks: str
    done: int
    part: str
    open: bool
    cancellable: bool
    mark: str
    messages_before: str
    messages_after: str
    tokens_before: SafeString
    tokens_after: SafeString
    summary: str
    rules: ShownRules | None
    report: SummaryReport
    error: str
    stalled: bool
    handoff_id: int | None
    moved: bool
    pick_up: str
    picked_up: SafeString
    usage: str
    facts: tuple[tuple[str, str | SafeString], ...]
    again: RetryForm | None
    model: str
    earlier: str = ""
    redoable: bool = False
    just_applied: bool = False
    kept: str = ""
    typed: str | None = None
    refused: str = ""
    summary_tokens: int = 0
    after_tokens: int = 0
    before_tokens: int = 0

    @property
    def template(self) -> str:
        """The template of what is below the heading: one for each status, and one for all statuses of an open run."""
        return f"compact/card/{'open' if self.open else self.status}.html"

    @property
    def poll(self) -> str:
        """The address that says how it goes, and answers only what is new."""
        return f"{self.href}?seen={self.status}&mark={self.mark}"

    @property
    def poll_every(self) -> str:
        """How often the page asks there: while it is open, and until the agent goes on from the result; else ""."""
        if self.open:
            return "1s"
        return "15s" if self.status == "applied" and not self.picked_up and not self.moved else ""

    @property
    def boundary(self) -> str:
        """Where the compaction is in History, "" before it is applied."""
        return "" if self.handoff_id is None else self.place.boundary(self.handoff_id)

    @property
    def before_after(self) -> str:
        """Where what the model was sent before stands beside what it is sent after it, "" before it is applied."""
        return self._listed("before-after")

    @property
    def undo(self) -> str:
        """Where it can be undone, "" before it is applied."""
        return self._listed("undo")

    def _listed(self, name: str) -> str:
        return "" if self.handoff_id is None else self.place.listed(self.handoff_id, name)

    @property
    def leads_to_undo(self) -> bool:
        """Whether *Undo* is what to do next, if anything: until the agent goes on from the result."""
        return self.status == "applied" and not self.moved and not self.picked_up

    @property
    def news(self) -> str:
        """What a screen reader says when the card changes."""
        return f"Run {self.id}: {self.label}. {self.error or self.part}"


def run_card(run: Run, *, redacting: bool = False) -> RunCard:
    """The card's data."""
    place = SessionUrls(run.store, run.new_session_id or run.session_id)
    waiting, picked_up = _pick_up(run)
    return RunCard(
        id=run.pk,
        href=reverse("pages:run", args=[run.pk]),
        place=place,
        status=run.status,
        label=STATUS.get(run.status, run.status),
        phase=_phase(run),
        ticks=ticks(run),
        done=_done(run),
        part=_part(run),
        open=run.is_open,
        cancellable=run.status in service.CANCELLABLE,
        mark=_mark(run, waiting, picked_up),
        messages_before=formats.exact(run.messages_before or 0),
        messages_after=formats.exact(run.messages_after or 0),
        tokens_before=formats.number(run.tokens_before or 0, "tokens"),
        tokens_after=after_tokens(run),
        summary=clean(run.summary),
        rules=rules_of_run(run, redacting=redacting),
        report=report_of(run, SessionUrls(run.store, run.session_id)),
        error=clean(run.error_message),
        stalled=_is_stalled(run),
        handoff_id=run.handoff_id,
        moved=bool(run.new_session_id),
        pick_up=waiting,
        picked_up=picked_up,
        usage=_usage(run),
        model=clean(run.model),
        facts=_facts(run),
        again=_again(run),
        redoable=service.is_redoable(run),
        after_tokens=run.tokens_after or 0,
        before_tokens=run.tokens_before or 0,
        **(_of_a_candidate(run) if run.status == "ready" else {}),
    )


def _of_a_candidate(run: Run) -> dict[str, Any]:
    """What the card of a summary that can be looked at has beside the others."""
    return {
        "earlier": _earlier(run),
        "summary_tokens": counting.counter_for("")(run.summary),
        "typed": clean(run.draft) if run.draft else None,
    }


def after_tokens(run: Run) -> SafeString:
    """What a run leaves in context, "" where nothing came of it or its summary is still to come."""
    if run.came_to_nothing or run.tokens_after is None:
        return SafeString()
    return formats.number(run.tokens_after, "tokens")


def mark_of(run: Run) -> str:
    """Changes when the card has something new to say, which passing seconds are not."""
    return _mark(run, *_pick_up(run))


def _mark(run: Run, waiting: str, picked_up: SafeString) -> str:
    told = (run.status, _phase(run), _part(run), _is_stalled(run), waiting, picked_up)
    return f"{crc32(repr(told).encode()):08x}"


def _is_stalled(run: Run) -> bool:
    return run.is_open and (timezone.now() - run.heartbeat_at).total_seconds() > QUIET_SECONDS


# -- while it is open ------------------------------------------------------------------------------------------------


def _phase(run: Run) -> str | SafeString:
    """What is being done, without what changes by the second (`ticks`)."""
    said = clean(str(run.progress.get("sentence", "")))
    if run.status == "summarizing":
        doing = clean(str(run.progress.get("doing", said))).removesuffix(".")
        return f"{doing} with {clean(run.model)}." if run.model else f"{doing}."
    until = _time(run.progress.get("until")) if run.status == "waiting" else None
    if until is None:
        return said
    sentence = "{} The run waits until {}, then keeps the summary for you to apply."
    return format_html(sentence, said, formats.moment(until))


def _part(run: Run) -> str:
    chunk, chunks = _parts(run)
    return f"Part {chunk:,} of {chunks:,}." if chunks > 1 else ""


def _parts(run: Run) -> tuple[int, int]:
    """The part that is asked for now and how many there are; 1 of 1 where nobody said."""
    if run.status != "summarizing":
        return 1, 1
    return int(run.progress.get("chunk", 1)), int(run.progress.get("chunks", 1))


def ticks(run: Run) -> str:
    """What a summary has come to, by the second; "" while none is being written."""
    if run.status != "summarizing":
        return ""
    tokens, seconds = int(run.progress.get("tokens", 0)), int(run.progress.get("seconds", 0))
    passed = f"{seconds} s" if seconds < 120 else formats.seconds(seconds)
    told = (f"{tokens:,} tokens written" if tokens else "", passed if seconds else "")
    return ", ".join(filter(None, told))


def _done(run: Run) -> int:
    """How far it is, of 100: the parts of a summary share the stretch between planning and writing."""
    chunk, chunks = _parts(run)
    begun = DONE.get(run.status, 0)
    return begun + (DONE["waiting"] - begun) * (chunk - 1) // chunks if run.status == "summarizing" else begun


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None


# -- afterwards ------------------------------------------------------------------------------------------------------


def _again(run: Run) -> RetryForm | None:
    if run.status not in ("failed", "cancelled", "conflict"):
        return None
    options = options_sent(run)
    return RetryForm(
        options=(*options.items(), ("apply", str(int(run.apply)))),
        plan=SessionUrls(run.store, run.session_id).view("plan", **options),
        kept=_kept_parts(run),
        model=strategy_of(run.strategy).asks_model and run.summarizer != OFFLINE.name,
        set_up=run.error_code in SET_UP,
    )


def options_sent(run: Run) -> dict[str, str]:
    """A run's options as the panel's form sends them."""
    return {
        "strategy": run.strategy, "focus": run.focus, "keep": str(run.keep_last or ""), "summarizer": run.summarizer,
        "mode": run.mode, "carry": str(int(run.carry)),
    }  # fmt: skip


def _kept_parts(run: Run) -> str:
    """Which parts a new run need not ask for again; only the newest run's are looked at (`service.start`)."""
    if not run.chunks or not service.is_newest(run):
        return ""
    of = f" of {run.progress['chunks']:,}" if "chunks" in run.progress else ""
    finished = len(run.chunks)
    parts = "part" if finished == 1 and not of else "parts"
    return f"{finished:,}{of} {parts} {'is' if finished == 1 else 'are'} kept: trying again goes on after them."


def _earlier(run: Run) -> str:
    """The run before this one, where its summary is kept because it could not be written."""
    before = service.run_before(run)
    return reverse("pages:run", args=[before.pk]) if before and before.status == "conflict" else ""


def _pick_up(run: Run) -> tuple[str, SafeString]:
    """What is known of the agent since the commit: a sentence, and when it went on ("" while it has not)."""
    if run.status != "applied":
        return "", SafeString()
    try:
        with open_store(get_store(run.store)) as reader:
            pick_up = service.pick_up(run, reader)
    except StoreError as problem:
        return problem.message, SafeString()
    return pick_up.sentence, formats.moment(pick_up.noticed_at) if pick_up.noticed_at else SafeString()


def _usage(run: Run) -> str:
    """What the model took: "3 calls, 41,200 tokens in, 2,310 out, about $0.02"; "" where none was asked."""
    if not run.usage.get("calls"):
        return ""
    cost = run.usage.get("cost")
    price = "price not known" if cost is None else formats.dollars(cost)
    calls, tokens_in, tokens_out = (run.usage[name] for name in ("calls", "input_tokens", "output_tokens"))
    told = f"{tokens_in:,} tokens in, {tokens_out:,} out" if tokens_in or tokens_out else "tokens not told"
    return f"{formats.counted(calls, 'call')}, {told}, {price}"


def _facts(run: Run) -> tuple[tuple[str, str | SafeString], ...]:
    facts: list[tuple[str, str | SafeString]] = [("How", strategy_of(run.strategy).label)]
    if strategy_of(run.strategy).asks_model:
        facts.append(("Summary by", clean(_summarised_by(run))))
    if usage := _usage(run):
        facts.append(("The model took", usage))
    if run.mode == "split":
        facts.append(("Result", "in a new session that continues this one"))
    if run.fallback:
        facts.append(("Not as set", clean(run.fallback)))
    facts.append(("Started", formats.moment(run.created_at)))
    if run.focus:
        facts.append(("Focus", clean(run.focus)))
    if run.keep_last:
        facts.append(("Keep", f"at least the last {run.keep_last}"))
    if run.worked_seconds is not None:
        facts.append(("Took", formats.seconds(run.worked_seconds)))
    return tuple(facts)


def _summarised_by(run: Run) -> str:
    if run.summarizer == OFFLINE.name:
        return OFFLINE.label
    provider = PROVIDERS.get(run.summarizer)
    label = provider.label if provider else run.summarizer
    return f"{run.model} ({label})" if run.model else label


def matters(run: Run) -> bool:
    """Whether the session's page still has to show a run: while something is to be done, and a day after it ended."""
    if run.is_open or run.status == "ready":
        return True
    ended = run.finished_at or run.created_at
    return run.status in ("applied", "failed", "conflict") and timezone.now() - ended < SHOWN_FOR
