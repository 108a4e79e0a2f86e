"""A run's card: its progress while it is open, its result, and what can be done next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zlib import crc32

from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from compaction.redaction import redact_shown
from viewer.rendering import formats
from viewer.rendering.texts import clean
from viewer.runs import drafts, service
from viewer.runs.models import Run
from viewer.runs.planning import strategy_of
from viewer.runs.providers import PROVIDERS
from viewer.runs.providers.summarizers import OFFLINE
from viewer.stores.errors import StoreError
from viewer.stores.registry import get_store, open_store
from viewer.usage import counting
from viewer.web.session_urls import SessionUrls

from .losses import SummaryReport, report_of
from .rules import ShownRules, rules_of_run
from .shortened import ShortenedOutputs, examples

# What a status is called on pages. Progress sentences come from the run itself.
STATUS = {
    "queued": "Waiting for a worker", "planning": "Planning", "summarizing": "Summarising",
    "ready": "Preview, not applied", "waiting": "Applying", "applying": "Applying",
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
    """How to continue after a run that wrote nothing: its options as a form sends them, and an address that plans
    again.

    `kept` is a sentence about finished parts; `model`: the summary was asked of a model; `set_up`: its settings may be
    wrong.
    """

    options: tuple[tuple[str, str], ...]
    plan: str
    kept: str
    model: bool
    set_up: bool


@dataclass(frozen=True, slots=True)
class RunCard:
    """A run for its page and for the session page.

    `place` is where the conversation continues; `rules` follow the summary. `pick_up` says what is known of the agent
    since the commit, `picked_up` when it continued, "" while it has not; `resume` is the command by which it does, ""
    if it need not be resumed. `earlier` is the address of an older run whose summary could not be written. `kept` is
    what somebody had typed into a summary that cannot be applied any more; `typed` is in the form instead of the
    summary (a draft, or refused text), and `refused` says why it could not be applied. `just_applied`: the page does
    not show the result yet. `outputs` are examples of what a run without a summary would write, None for all other
    runs. `in_panel` is False on a candidate's own page.
    """

    run: Run
    place: SessionUrls
    rules: ShownRules | None
    report: SummaryReport
    pick_up: str
    picked_up: SafeString
    again: RetryForm | None
    resume: str = ""
    earlier: str = ""
    just_applied: bool = False
    kept: str = ""
    typed: str | None = None
    refused: str = ""
    outputs: ShortenedOutputs | None = None
    in_panel: bool = True

    @property
    def href(self) -> str:
        return reverse("pages:run", args=[self.run.pk])

    @property
    def other_settings(self) -> str:
        """Where its session is planned again, from the run's options."""
        return SessionUrls(self.run.store, self.run.session_id).view("plan", **options_sent(self.run))

    @property
    def template(self) -> str:
        """The template of what is below the heading: one for each status, and one for all statuses of an open run."""
        return f"compact/card/{'open' if self.run.is_open else self.run.status}.html"

    @property
    def label(self) -> str:
        return STATUS.get(self.run.status, self.run.status)

    @property
    def phase(self) -> str | SafeString:
        """The current step; it changes with the phase and the part."""
        return _phase(self.run)

    @property
    def part(self) -> str:
        """Which part of several is being summarised, "" for a single one."""
        return _part(self.run)

    @property
    def ticks(self) -> str:
        """The tokens written, and the seconds: it changes each time."""
        return ticks(self.run)

    @property
    def done(self) -> int:
        """Progress, of 100: the parts of a summary share the range between planning and writing."""
        chunk, chunks = _parts(self.run)
        begun = DONE.get(self.run.status, 0)
        if self.run.status != "summarizing":
            return begun
        return begun + (DONE["waiting"] - begun) * (chunk - 1) // chunks

    @property
    def stalled(self) -> bool:
        return _is_stalled(self.run)

    @property
    def cancellable(self) -> bool:
        return self.run.status in service.CANCELLABLE

    @property
    def redoable(self) -> bool:
        """Whether it was undone and can be applied again."""
        return service.is_redoable(self.run)

    @property
    def tokens_after(self) -> SafeString:
        """The tokens it leaves in context, about how many while its summary is edited."""
        if self.typed is None or self.run.tokens_after is None:
            return after_tokens(self.run)
        more = counting.counter_for("")(self.typed) - self.summary_tokens
        return format_html("about {}", formats.number(max(0, self.run.tokens_after + more), "tokens"))

    @property
    def uncounted(self) -> bool:
        """Whether the report is of another text than the one in the form."""
        return self.typed is not None and not drafts.is_only_put(self.run, self.typed)

    @property
    def summary(self) -> str:
        return clean(self.run.summary)

    @property
    def text(self) -> str:
        """The text in the form."""
        return self.summary if self.typed is None else self.typed

    @property
    def summary_tokens(self) -> int:
        """Tokens of the summary, with which the page estimates the effect of an edit."""
        return counting.counter_for("")(self.run.summary)

    @property
    def error(self) -> str:
        return clean(self.run.error_message)

    @property
    def usage(self) -> str:
        """The model's usage: "3 calls, 41,200 tokens in, 2,310 out, about $0.02"; "" if none was asked."""
        return _usage(self.run)

    @property
    def how(self) -> str:
        return strategy_of(self.run.strategy).label

    @property
    def summarised_by(self) -> str:
        """The author of the summary, "" if there is none."""
        return _summarised_by(self.run) if strategy_of(self.run.strategy).asks_model else ""

    @property
    def poll(self) -> str:
        """The address that returns only what changed."""
        return f"{self.href}?seen={self.run.status}&mark={_mark(self.run, self.pick_up, self.picked_up)}"

    @property
    def poll_every(self) -> str:
        """How often the page asks there: while it is open, and until the agent continues; else ""."""
        return "1s" if self.run.is_open else "15s" if self.leads_to_undo else ""

    @property
    def leads_to_undo(self) -> bool:
        """Whether *Undo* is the main action, if any: until the agent continues from the result."""
        return self.run.status == "applied" and not self.run.new_session_id and not self.picked_up

    @property
    def news(self) -> str:
        """The text for a screen reader when the card changes."""
        return f"Run {self.run.pk}: {self.label}. {self.error or self.part}"


def run_card(run: Run, *, redacting: bool = False) -> RunCard:
    """The card's data."""
    waiting, picked_up, resume = _pick_up(run, redacting)
    is_candidate = run.status == "ready"
    return RunCard(
        run=run,
        place=SessionUrls(run.store, run.new_session_id or run.session_id),
        rules=rules_of_run(run, redacting=redacting),
        report=report_of(run, SessionUrls(run.store, run.session_id)),
        pick_up=waiting,
        picked_up=picked_up,
        again=_again(run),
        resume=resume,
        earlier=_earlier(run) if is_candidate else "",
        typed=clean(run.draft) if run.draft and is_candidate else None,
        outputs=_outputs(run, redacting) if is_candidate else None,
    )


def _outputs(run: Run, redacting: bool) -> ShortenedOutputs | None:
    if strategy_of(run.strategy).asks_model:
        return None
    try:
        return examples(run, redacting=redacting)
    except StoreError:
        return None


def after_tokens(run: Run) -> SafeString:
    """The tokens a run leaves in context, "" if it had no result or its summary is not written yet."""
    if run.came_to_nothing or run.tokens_after is None:
        return SafeString()
    return formats.number(run.tokens_after, "tokens")


def mark_of(run: Run, *, redacting: bool) -> str:
    """Changes when the card has something new, not with the seconds."""
    waiting, picked_up, _ = _pick_up(run, redacting)
    return _mark(run, waiting, picked_up)


def _mark(run: Run, waiting: str, picked_up: SafeString) -> str:
    state = (run.status, _phase(run), _part(run), _is_stalled(run), waiting, picked_up)
    return f"{crc32(repr(state).encode()):08x}"


def _is_stalled(run: Run) -> bool:
    return run.is_open and (timezone.now() - run.heartbeat_at).total_seconds() > QUIET_SECONDS


# -- while it is open ------------------------------------------------------------------------------------------------


def _phase(run: Run) -> str | SafeString:
    """The current step, without what changes each second (`ticks`)."""
    text = clean(str(run.progress.get("sentence", "")))
    if run.status == "summarizing":
        doing = clean(str(run.progress.get("doing", text))).removesuffix(".")
        return f"{doing} with {clean(run.model)}." if run.model else f"{doing}."
    until = _time(run.progress.get("until")) if run.status == "waiting" else None
    if until is None:
        return text
    sentence = "{} The run waits until {}, then keeps the summary for you to apply."
    return format_html(sentence, text, formats.moment(until))


def _part(run: Run) -> str:
    chunk, chunks = _parts(run)
    return f"Part {chunk:,} of {chunks:,}." if chunks > 1 else ""


def _parts(run: Run) -> tuple[int, int]:
    """The current part and the number of parts; 1 of 1 if unknown."""
    if run.status != "summarizing":
        return 1, 1
    return int(run.progress.get("chunk", 1)), int(run.progress.get("chunks", 1))


def ticks(run: Run) -> str:
    """The progress of a summary, by the second; "" while none is being written."""
    if run.status != "summarizing":
        return ""
    tokens, seconds = int(run.progress.get("tokens", 0)), int(run.progress.get("seconds", 0))
    passed = f"{seconds} s" if seconds < 120 else formats.seconds(seconds)
    parts = (f"{tokens:,} tokens written" if tokens else "", passed if seconds else "")
    return ", ".join(filter(None, parts))


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None


# -- afterwards ------------------------------------------------------------------------------------------------------


def _again(run: Run) -> RetryForm | None:
    if not run.came_to_nothing:
        return None
    options, dropped = options_sent(run), run.status == "discarded"
    return RetryForm(
        options=(*options.items(), ("apply", str(int(run.apply and not dropped)))),
        plan=SessionUrls(run.store, run.session_id).view("plan", **options),
        kept="" if dropped else _kept_parts(run),
        model=not dropped and strategy_of(run.strategy).asks_model and run.summarizer != OFFLINE.name,
        set_up=run.error_code in SET_UP,
    )


def options_sent(run: Run) -> dict[str, str]:
    """A run's options as the panel's form sends them; without a mode that was taken in place of the store's."""
    mode = "" if run.fallback and run.mode == "in_place" else run.mode
    return {
        "strategy": run.strategy, "focus": run.focus, "keep": str(run.keep_last or ""), "summarizer": run.summarizer,
        "mode": mode, "carry": str(int(run.carry)),
    }  # fmt: skip


def _kept_parts(run: Run) -> str:
    """Which parts a new run need not ask for again; only the newest run's count (`service.start`)."""
    if not run.chunks or not service.is_newest(run):
        return ""
    of = f" of {run.progress['chunks']:,}" if "chunks" in run.progress else ""
    finished = len(run.chunks)
    parts = "part" if finished == 1 and not of else "parts"
    return f"{finished:,}{of} {parts} {'is' if finished == 1 else 'are'} kept: trying again goes on after them."


def _earlier(run: Run) -> str:
    """The address of the run before this one, if its summary is kept because it could not be written."""
    before = service.run_before(run)
    return reverse("pages:run", args=[before.pk]) if before and before.status == "conflict" else ""


def _pick_up(run: Run, redacting: bool) -> tuple[str, SafeString, str]:
    """What is known of the agent since the commit: a sentence, when it continued ("" while it has not), and the command
    by which it does ("" if it need not be resumed, or for a secret in it that is redacted).
    """
    if run.status != "applied":
        return "", SafeString(), ""
    try:
        with open_store(get_store(run.store)) as reader:
            pick_up = service.pick_up(run, reader)
    except StoreError as problem:
        return problem.message, SafeString(), ""
    noticed = formats.moment(pick_up.noticed_at) if pick_up.noticed_at else SafeString()
    has_secret = redacting and redact_shown(pick_up.resume) != pick_up.resume
    return pick_up.sentence, noticed, "" if has_secret else pick_up.resume


def _usage(run: Run) -> str:
    if not run.usage.get("calls"):
        return ""
    cost = run.usage.get("cost")
    price = "price not known" if cost is None else formats.dollars(cost)
    calls, tokens_in, tokens_out = (run.usage[name] for name in ("calls", "input_tokens", "output_tokens"))
    tokens = f"{tokens_in:,} tokens in, {tokens_out:,} out" if tokens_in or tokens_out else "tokens not told"
    return f"{formats.counted(calls, 'call')}, {tokens}, {price}"


def _summarised_by(run: Run) -> str:
    if run.summarizer == OFFLINE.name:
        return OFFLINE.label
    provider = PROVIDERS.get(run.summarizer)
    label = provider.label if provider else run.summarizer
    return f"{run.model} ({label})" if run.model else label


def matters(run: Run) -> bool:
    """Whether the session's page still shows a run: until nothing is to be done, and a day after its end."""
    if run.is_open or run.status == "ready":
        return True
    ended = run.finished_at or run.created_at
    return run.status in ("applied", "failed", "conflict") and timezone.now() - ended < SHOWN_FOR
