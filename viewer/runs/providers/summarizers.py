"""Summarisers: each makes the text of a summary from a request of the engine, one without a model, the others by
calling one. A call is repeated if that may help, and ended if it takes too long or nobody waits for it.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

import genai_prices
from django.conf import settings

import compaction
from compaction import offline
from viewer.runs.errors import ModelFailed, ModelNotSetUp, UnknownChoice
from viewer.stores.errors import StoreError

from . import PROVIDERS, connections, failures, limits
from .exchange import Ended, Exchange, OpenStream
from .provider import ModelAccess, StreamEvent

MOST_ATTEMPTS = 3
TICK = 1.0  # seconds between two calls of the listener while nothing arrives
FIRST_WAIT = 1.0  # seconds before the second attempt if the service names no time, twice as many before the third
LONGEST_WAIT = 60.0  # seconds that a service may ask for; if it asks for more, the call fails
USAGE_WAIT = 5.0  # seconds that a finished answer gets to report its usage and to close
CHARACTERS = 16  # a token of the limit; an answer longer than that ignores its limit
READ_SHARE = 0.5  # of the usual count that a service reads at least; fewer tokens mean that it cut the request
TEST_SECONDS = 60.0  # for a connection test; a model that is loaded into memory first takes a while
TEST_MESSAGES: tuple[compaction.Message, ...] = (
    {"role": "user", "content": "Please rename report.txt to report-2026.txt. Never delete anything."},
    {"role": "assistant", "content": "Done: report.txt is now report-2026.txt. Nothing was deleted."},
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of calls of a model: tokens as the service counted them, `cost` in US dollars (None: not known)."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        is_priced = self.cost is not None and other.cost is not None
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            (self.cost or 0.0) + (other.cost or 0.0) if is_priced else None,
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class ProgressCallback(Protocol):
    """The listener that waits for a summary. Either method may raise, which ends the call of the model."""

    def on_text(self, text: str) -> None:
        """The next text of the answer, "" before each attempt and while nothing arrives."""

    def on_usage(self, usage: Usage) -> None:
        """The usage of a call; once for each call, also if its answer is then rejected."""


@dataclass(frozen=True, slots=True)
class Summarizer:
    """One way to make a summary: `label` is for pages, `ask` makes the text and may do I/O.

    `window` is what it can read and write at once, in tokens; None: anything. `local` ones send nothing anywhere.
    """

    name: str
    label: str
    ask: Callable[[compaction.SummaryRequest, ProgressCallback], str]
    local: bool = False
    model: str = ""
    window: int | None = None


OFFLINE = Summarizer(
    "offline",
    "Extract, no model",
    lambda request, listener: offline.summarize(request),
    local=True,
)


def summarizers() -> dict[str, Summarizer]:
    """The summarisers that can be used now, by name: the one without a model, and each model that is set up."""
    by_models = map(summarizer_of, connections.all_connections())
    return {summarizer.name: summarizer for summarizer in [OFFLINE, *by_models]}


def get_summarizer(name: str) -> Summarizer:
    """The summariser of this name. Raises UnknownChoice, or ModelNotSetUp."""
    usable = summarizers()
    if name in usable:
        return usable[name]
    if name in PROVIDERS:
        variable = PROVIDERS[name].model_variable
        raise ModelNotSetUp(f"No {name} model is set up: name one on the settings page, or set {variable}.")
    raise UnknownChoice(f"There is no summariser {name!r}. Choose one of: {', '.join(usable)}.")


def summarizer_of(connection: ModelAccess) -> Summarizer:
    """The summariser that asks this model."""

    def ask(request: compaction.SummaryRequest, listener: ProgressCallback) -> str:
        def call(prompt: compaction.Prompt) -> compaction.Reply:
            prompt_tokens = request.count(prompt.system) + request.count(prompt.user)
            limit = limits.output_limit(connection, request, prompt_tokens)
            return complete(
                lambda client: connection.provider.stream(client, connection, prompt, limit),
                connection, listener, _usual_count(prompt), limit,
            )  # fmt: skip

        return compaction.asking(call)(request)

    window = limits.planned_window(connection)
    return Summarizer(connection.provider.name, connection.model, ask, model=connection.model, window=window)


def _usual_count(prompt: compaction.Prompt) -> int:
    """Tokens of a request as most models of today count them; an older model's count can be twice as high."""
    count = compaction.counter_for(None)
    return count(prompt.system) + count(prompt.user)


# --- a call of a model -----------------------------------------------------------------------------------------------


@dataclass
class Answer:
    """What has arrived so far."""

    text: list[str] = field(default_factory=list)
    characters: int = 0
    refusal: str = ""
    has_thought: bool = False
    finish: str = ""
    newest: StreamEvent = field(default_factory=StreamEvent)  # of each number, and of the model's own name
    begun: bool = False

    def add(self, event: StreamEvent) -> None:
        self.begun = True
        if event.thought:
            self.has_thought = True
        elif event.refused:
            self.refusal += event.text
        elif event.text:
            self.text.append(event.text)
            self.characters += len(event.text)
        self.finish = event.finish or self.finish
        self.newest = StreamEvent(
            model=event.model or self.newest.model,
            input_tokens=_newer(event.input_tokens, self.newest.input_tokens),
            cached_tokens=_newer(event.cached_tokens, self.newest.cached_tokens),
            output_tokens=_newer(event.output_tokens, self.newest.output_tokens),
        )

    def usage(self, connection: ModelAccess) -> Usage:
        read, written = self.newest.input_tokens, self.newest.output_tokens
        cost = None
        if read is not None and written is not None:
            cached = min(self.newest.cached_tokens or 0, read)
            tokens = genai_prices.Usage(input_tokens=read, cache_read_tokens=cached, output_tokens=written)
            cost = limits.price(connection, [self.newest.model, connection.model], tokens)
        return Usage(1, read or 0, written or 0, cost)

    def reply(self, connection: ModelAccess) -> compaction.Reply:
        """The finished answer for the engine. Raises ModelFailed."""
        text = "".join(self.text)
        if self.refusal and not text.strip():
            return compaction.Reply(self.refusal, "refusal")
        if self.has_thought and not text.strip():
            raise failures.only_thought(connection)
        return compaction.Reply(text, self.finish)


def _newer(new: int | None, old: int | None) -> int | None:
    return old if new is None else new


def complete(
    open_stream: OpenStream, connection: ModelAccess, listener: ProgressCallback, prompt_tokens: int, limit: int
) -> compaction.Reply:
    """The model's answer to the request of `open_stream`. `prompt_tokens` is its `_usual_count`, `limit` the number of
    tokens that the answer may have.

    Raises ModelFailed, and what the listener raises; the connection is closed then.
    """
    failures.require_sendable(connection)
    deadline = time.monotonic() + settings.MODEL_TIMEOUT
    for attempt in range(1, MOST_ATTEMPTS + 1):
        listener.on_text("")
        answer = Answer()
        try:
            _receive(Exchange(open_stream, settings.MODEL_SILENCE), answer, connection, listener, deadline, limit)
            _require_read(answer, connection, prompt_tokens)
            return answer.reply(connection)
        except ModelFailed as failure:
            wait = _wait_before_next(failure, attempt)
            if wait is None or answer.text or time.monotonic() + wait >= deadline:
                raise
        finally:
            if answer.begun:
                listener.on_usage(answer.usage(connection))
        pause(wait, listener)
    raise AssertionError("the last attempt returns or raises")


def _receive(
    exchange: Exchange, answer: Answer, connection: ModelAccess, listener: ProgressCallback, deadline: float, limit: int
) -> None:
    """Add what arrives to `answer` until it is complete. Raises ModelFailed, and what the listener raises."""
    last_call = time.monotonic()
    with exchange:
        while True:
            if answer.characters > limit * CHARACTERS:
                answer.finish = "length"
                return
            now = time.monotonic()
            if now >= deadline:
                if answer.finish:
                    return
                raise failures.slow(connection)
            if now - last_call >= TICK:
                listener.on_text("")
                last_call = now
            try:
                event = exchange.next(min(TICK, deadline - now))
            except Ended:
                if answer.finish:
                    return
                raise failures.unfinished(connection, answer.begun) from None
            except Exception as problem:
                if answer.finish:
                    return
                raise failures.failure_of(problem, connection, answer.begun) from None  # its text may hold the key
            if event is None:
                continue
            answer.add(event)
            if event.finish:
                deadline = min(deadline, time.monotonic() + USAGE_WAIT)
            if event.text and not event.thought:
                listener.on_text(event.text)
                last_call = time.monotonic()


def _require_read(answer: Answer, connection: ModelAccess, prompt_tokens: int) -> None:
    """Some servers cut a request that is too long without an error: the summary would lose what was cut."""
    read = answer.newest.input_tokens or 0
    if 0 < read < prompt_tokens * READ_SHARE:
        raise failures.read_in_part(connection, read, prompt_tokens)


def _wait_before_next(failure: ModelFailed, attempt: int) -> float | None:
    """Seconds to wait before the model is called again, None if it is not."""
    if not failure.passing or attempt == MOST_ATTEMPTS:
        return None
    if failure.after is None:
        return FIRST_WAIT * 2.0 ** (attempt - 1) * random.uniform(0.75, 1.25)
    return failure.after if failure.after <= LONGEST_WAIT else None


def pause(seconds: float, listener: ProgressCallback) -> None:
    """Wait so many seconds; calls the listener each `TICK`, which may raise to cancel."""
    until = time.monotonic() + seconds
    while (remaining := until - time.monotonic()) > 0:
        listener.on_text("")
        time.sleep(min(TICK, remaining))


# --- the connection test ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """The result, with a sentence that never has the key in it.

    `answers` but not `works`: the model was reached, and its text would be refused as a summary.
    """

    works: bool
    sentence: str
    answers: bool = True


class _TooSlow(Exception):
    """The request took longer than TEST_SECONDS."""


class _TestListener:
    """Ends the wait after TEST_SECONDS."""

    def __init__(self) -> None:
        self.usage = Usage()
        self._began = time.monotonic()

    def on_text(self, text: str) -> None:
        if time.monotonic() > self._began + TEST_SECONDS:
            raise _TooSlow

    def on_usage(self, usage: Usage) -> None:
        self.usage += usage

    def took(self) -> str:
        tokens = f" ({self.usage.input_tokens:,} tokens in, {self.usage.output_tokens:,} out)"
        return f"{time.monotonic() - self._began:.1f} s{tokens if self.usage.output_tokens else ''}"


def try_connection(connection: ModelAccess) -> ConnectionTest:
    """Have the model summarise two short messages. Raises nothing: an error is in the result."""
    if connection.source == "settings":  # its failures are read on the settings page and need not name it
        connection = replace(connection, source="form")
    listener, model = _TestListener(), f"{connection.model} at {connection.host}"
    request = compaction.SummaryRequest(TEST_MESSAGES, count=compaction.counter_for(connection.model))
    try:
        summarizer_of(connection).ask(request, listener)
    except compaction.SummaryRejected as problem:
        return ConnectionTest(
            False, f"{model} answered in {listener.took()}, but its text cannot be used as a summary: {problem.reason}"
        )
    except StoreError as problem:
        return ConnectionTest(False, problem.message, answers=False)
    except _TooSlow:
        sentence = f"{model} did not finish two short messages within {TEST_SECONDS:.0f} s."
        return ConnectionTest(False, sentence, answers=False)
    except Exception as problem:  # its text may quote the request and with it the key: only the type is shown
        logger.error("Trying %s: %s", model, type(problem).__name__)
        return ConnectionTest(False, f"Something unexpected went wrong ({type(problem).__name__}).", answers=False)
    return ConnectionTest(True, f"Works: {model} wrote a summary in {listener.took()}.")
