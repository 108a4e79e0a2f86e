"""What a summariser reads, and the fold that summarises a transcript of any length within any window.

A fold does no I/O: `Fold.request` is the next request, `Fold.take` takes the answer. The digest is cut into chunks that
fit the window, and every chunk except the first carries the summary of the chunks before it, so all text is read. A
finished chunk is a plain value; given back after a crash, it lets the fold continue after it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from itertools import islice
from typing import Any

from .. import messages as m
from ..cancelling import takes_back
from ..errors import SummaryRejected
from ..handoff import FLAG, is_handoff, restated, without_directives
from ..messages import Message
from ..planning import Plan
from ..policy import BUDGET_SHARE, LONGEST_SUMMARY, MIN_SUMMARY_TOKENS, PROMPT_TOKENS, SMALLEST_CHUNK_TOKENS
from ..redaction import redact, redact_value
from ..text.clip import start_of
from ..tokens import Counter
from .answers import checked
from .chunks import Chunk, chunks_of
from .transcript import earlier_summary, entries


@dataclass(frozen=True)
class SummaryRequest:
    """The material of one summary; derived values are computed when first read.

    `sources` are the messages to summarise, oldest first, without earlier handoffs and with secrets. `previous_summary`
    is the body of those handoffs; `budget_tokens` the maximum size of the answer by `count`; `today` the date of the
    compaction, if known. If a transcript is folded, this is part `chunk` of `chunks`: `excerpt` is its piece of the
    digest, `sources` the messages that the piece shows completely or partly, and `begins_inside` the label of the
    message it starts inside. `kept` are the messages that stay next to the summary, `newer` those of them that follow
    it, with secrets. `places` are the positions of `sources` and then `kept` in the transcript, by default consecutive;
    positions before `since` are older than `previous_summary`.
    """

    sources: tuple[Message, ...] = field(repr=False)
    previous_summary: str = ""
    focus: str = ""
    budget_tokens: int = MIN_SUMMARY_TOKENS
    today: date | None = None
    count: Counter = field(kw_only=True, repr=False)
    chunk: int = 1
    chunks: int = 1
    excerpt: str | None = field(default=None, repr=False)
    begins_inside: str = ""
    kept: tuple[Message, ...] = field(default=(), repr=False)
    newer: tuple[Message, ...] = field(default=(), repr=False)
    places: tuple[int, ...] = field(default=(), repr=False)
    since: int = 0

    @cached_property
    def turns(self) -> tuple[Message, ...]:
        """The sources without secrets."""
        return tuple(_redacted(message) for message in self.sources)

    @cached_property
    def digest(self) -> str:
        """The text a model reads: labelled turns without secrets, long tool output cut, repeated output shown once."""
        return "".join(entry.text for entry in entries(self.sources)) if self.excerpt is None else self.excerpt

    @cached_property
    def taken_back(self) -> tuple[str, ...]:
        """The newest messages in which people take something back ("Never mind, undo that"), oldest
        first, shortened.
        """
        typed = (message for message in (*reversed(self.newer), *reversed(self.sources)) if m.is_typed(message))
        typed_words = [m.words(message) for message in islice(typed, _NEWEST)]
        return tuple(reversed([_short(words) for words in typed_words if takes_back(words)][:_MOST_QUOTED]))

    @cached_property
    def key(self) -> str:
        """A hash of everything that is asked except the date. Equal keys mean that an earlier
        answer can be used again.
        """
        given = (self.digest, self.previous_summary, self.focus, str(self.budget_tokens), self.begins_inside)
        parts = (*given, *self.taken_back)
        digest = hashlib.blake2b(digest_size=16)
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
        return digest.hexdigest()


_NEWEST = 4  # messages of people that are asked whether they take something back
_MOST_QUOTED, _QUOTED = 2, 100  # of those that do, and characters of each
Ask = Callable[[SummaryRequest], str]


def _short(words: str) -> str:
    words = " ".join(without_directives(redact(words)).split())
    return words if len(words) <= _QUOTED else f"{start_of(words, _QUOTED).rstrip()}…"


@dataclass(frozen=True, slots=True)
class Finished:
    """A summarised chunk: the key of its request and the summary so far; two strings that can be stored as JSON."""

    key: str
    summary: str


def request_of(plan: Plan, today: date | None = None) -> SummaryRequest:
    """The request for a plan: its middle without earlier handoffs. Does not read the middle's text."""
    newer = tuple(_unwrapped(plan.messages[i]) for i in plan.tail)
    return SummaryRequest(
        tuple(_unwrapped(plan.messages[i]) for i in plan.middle),
        without_directives(redact(plan.previous_summary)),
        without_directives(redact(plan.policy.focus)),
        plan.summary_budget,
        today,
        count=plan.count,
        kept=(*(_unwrapped(plan.messages[i]) for i in plan.head), *newer),
        newer=newer,
        places=(*plan.middle, *plan.head, *plan.tail),
        since=plan.since,
    )


def summarize(
    plan: Plan,
    ask: Ask,
    *,
    today: date | None = None,
    window: int | None = None,
    finished: Iterable[Finished] = (),
    on_chunk: Callable[[Finished], object] | None = None,
) -> str:
    """Have the plan's middle summarised by `ask`, which does the I/O; returns the body of the new handoff.

    `window` is what the summariser can read and write at once, in tokens by the plan's counter: a larger transcript is
    asked for in parts. None: one request with everything. `on_chunk` is called with each finished part, for storing;
    parts given back in `finished` are not asked for again. Raises SummaryRejected if an answer is not text, empty, a
    refusal, visibly cut off, or too long to continue with. Exceptions of `ask` pass through.
    """
    steps = fold(plan, window, today=today, finished=finished)
    while (request := steps.request) is not None:
        steps.take(ask(request))
        if on_chunk:
            on_chunk(Finished(request.key, steps.summary))
    return steps.summary


def fold(plan: Plan, window: int | None, *, today: date | None = None, finished: Iterable[Finished] = ()) -> Fold:
    """The parts in which a plan's middle is summarised, with the `finished` ones already taken; see `summarize`."""
    whole = request_of(plan, today)
    steps = Fold([whole], None) if window is None else _fitted(whole, window)
    for done in finished:
        if steps.request is None or steps.request.key != done.key:
            break
        with suppress(SummaryRejected):  # then it is simply asked for again
            steps.take(done.summary)
    return steps


class Fold:
    """The parts of one summary, asked for one after another.

    `request` is the next one, None when all are answered; then `summary` is the result.
    """

    def __init__(self, requests: Sequence[SummaryRequest], longest: int | None) -> None:
        self._waiting = iter(requests)
        self._longest = longest
        self._answered: list[tuple[SummaryRequest, str]] = []
        self.request = next(self._waiting, None)

    def take(self, answer: Any) -> None:
        """Accept the answer to `request`. Raises SummaryRejected; then `request` is unchanged and
        can be asked again.
        """
        if self.request is None:
            raise ValueError("every part is answered already")
        summary = checked(answer)
        if self._longest is not None and self.request.count(summary) > self._longest:
            raise too_long(self.request.count(summary), self.request.budget_tokens)
        self._answered.append((self.request, summary))
        upcoming = next(self._waiting, None)
        self.request = upcoming and replace(upcoming, previous_summary=summary)

    @property
    def finished(self) -> tuple[Finished, ...]:
        """The parts answered so far, to store and give back later."""
        return tuple(Finished(request.key, summary) for request, summary in self._answered)

    @property
    def summary(self) -> str:
        """The summary so far; "" before the first answer."""
        return self._answered[-1][1] if self._answered else ""


def too_long(tokens: int, budget: int) -> SummaryRejected:
    return SummaryRejected("too_long", f"The summary has {tokens:,} tokens; {budget:,} were asked for.")


def _fitted(whole: SummaryRequest, window: int) -> Fold:
    """The whole request if the window can hold it, else one for each chunk of its digest."""
    count = whole.count
    budget = max(min(whole.budget_tokens, int(window * BUDGET_SHARE)), 1)
    longest = int(budget * LONGEST_SUMMARY)
    room = window - PROMPT_TOKENS - count(whole.focus) - longest
    earlier = count(whole.previous_summary)
    shown = entries(whole.sources)
    sizes = [count(entry.text) for entry in shown]
    if sum(sizes) + earlier <= room:
        text = "".join(entry.text for entry in shown)
        return Fold([replace(whole, budget_tokens=budget, excerpt=text)], longest)
    if room - longest < SMALLEST_CHUNK_TOKENS:
        reason = f"A window of {window:,} tokens is too small to summarise in."
        raise SummaryRejected("window_too_small", reason)
    before = 0
    if earlier > longest:  # too long to be carried next to the first chunk: read as material instead
        shown.insert(0, entry := earlier_summary(whole.previous_summary))
        sizes.insert(0, count(entry.text))
        whole, before = replace(whole, previous_summary=""), 1
    chunks = list(chunks_of(shown, sizes, room - longest, count))
    return Fold([_part(whole, chunk, k, len(chunks), budget, before) for k, chunk in enumerate(chunks, 1)], longest)


def _part(whole: SummaryRequest, chunk: Chunk, k: int, chunks: int, budget: int, before: int) -> SummaryRequest:
    return replace(
        whole,
        sources=whole.sources[max(chunk.first - before, 0) : chunk.last + 1 - before],
        budget_tokens=budget,
        chunk=k,
        chunks=chunks,
        excerpt=chunk.text,
        begins_inside=chunk.begins_inside,
    )


def _unwrapped(message: Message) -> Message:
    """The message without an earlier handoff, and without the agent's words before a request that it repeats; the
    message itself if it has neither.
    """
    content = m.live_content(message)
    request = restated(content) if isinstance(content, str) else None
    if request is None and not is_handoff(message):
        return message
    turn = {key: value for key, value in message.items() if key != FLAG}
    return {**turn, "content": request or content}


def _redacted(message: Message) -> Message:
    """The message without secrets, and without Hermes' copy of what was sent, which may hold injected memory."""
    turn = {key: value for key, value in message.items() if key != "api_content"}
    for key in ("content", "tool_calls", m.TYPED, m.ADDED) if isinstance(turn.get("role"), str) else tuple(turn):
        if turn.get(key):
            turn[key] = redact_value(turn[key])
    return turn
