"""A call of a model: asked again where that may help, listened to, ended when it takes too long or nobody waits."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import genai_prices
import httpx2
from django.conf import settings

import compaction
from viewer.runs.errors import ModelFailed

from . import failures, limits
from .base import ProgressCallback, Summarizer, Usage
from .connections import ModelAccess
from .exchange import AnswerPart, Ask, Ended, Exchange

Pieces = Callable[[httpx2.Client, ModelAccess, compaction.Prompt, int], Iterator[AnswerPart]]

MOST_ATTEMPTS = 3
TICK = 1.0  # seconds between two signs of life while nothing comes
FIRST_WAIT = 1.0  # seconds before the second attempt where the service names no time, twice as many before the third
LONGEST_WAIT = 60.0  # seconds a service may ask for; who asks for more is not waited for
USAGE_WAIT = 5.0  # seconds that a finished answer gets to say what it took and to close
CHARACTERS = 16  # a token of the limit; an answer longer than that ignores its limit
READ_SHARE = 0.5  # of the usual count that a service reads at least; less was cut off without a word


def summarizer(connection: ModelAccess, pieces: Pieces) -> Summarizer:
    """The summariser that asks this model; `pieces` makes a request with an output limit and says what comes."""

    def ask(request: compaction.SummaryRequest, listener: ProgressCallback) -> str:
        def call(prompt: compaction.Prompt) -> compaction.Reply:
            tokens = request.count(prompt.system) + request.count(prompt.user)
            limit = limits.output_limit(connection, request, tokens)
            return complete(
                lambda client: pieces(client, connection, prompt, limit), connection, listener, _usual(prompt), limit
            )

        return compaction.asking(call)(request)

    window = limits.planned_window(connection)
    return Summarizer(connection.kind, connection.model, ask, model=connection.model, window=window)


@dataclass
class Answer:
    """What has come so far."""

    text: list[str] = field(default_factory=list)
    characters: int = 0
    refusal: str = ""
    thoughts: int = 0
    finish: str = ""
    told: AnswerPart = field(default_factory=AnswerPart)  # the newest of each number, and the model's own name
    begun: bool = False

    def take(self, piece: AnswerPart) -> None:
        self.begun = True
        if piece.thought:
            self.thoughts += len(piece.text)
        elif piece.refused:
            self.refusal += piece.text
        elif piece.text:
            self.text.append(piece.text)
            self.characters += len(piece.text)
        self.finish = piece.finish or self.finish
        self.told = AnswerPart(
            model=piece.model or self.told.model,
            input_tokens=_newer(piece.input_tokens, self.told.input_tokens),
            cached_tokens=_newer(piece.cached_tokens, self.told.cached_tokens),
            output_tokens=_newer(piece.output_tokens, self.told.output_tokens),
        )

    @property
    def has_usage(self) -> bool:
        return self.told.input_tokens is not None and self.told.output_tokens is not None

    def usage(self, connection: ModelAccess) -> Usage:
        read, written = self.told.input_tokens or 0, self.told.output_tokens or 0
        cost = None
        if self.has_usage:
            cached = min(self.told.cached_tokens or 0, read)
            took = genai_prices.Usage(input_tokens=read, cache_read_tokens=cached, output_tokens=written)
            cost = limits.price(connection, [self.told.model, connection.model], took)
        return Usage(1, read, written, cost)

    def reply(self, connection: ModelAccess) -> compaction.Reply:
        """What a finished answer says. Raises ModelFailed."""
        text = "".join(self.text)
        if self.refusal and not text.strip():
            return compaction.Reply(self.refusal, "refusal")
        if self.thoughts and not text.strip():
            raise failures.only_thought(connection)
        return compaction.Reply(text, self.finish)


def _usual(prompt: compaction.Prompt) -> int:
    """Tokens of a request as most models of today count them; an older model's count can be twice as high."""
    count = compaction.counter_for(None)
    return count(prompt.system) + count(prompt.user)


def _newer(told: int | None, before: int | None) -> int | None:
    return before if told is None else told


def complete(
    ask: Ask, connection: ModelAccess, listener: ProgressCallback, prompt_tokens: int, limit: int
) -> compaction.Reply:
    """The model's answer to what `ask` sends; `prompt_tokens` as `_usual` counts, `limit` is what it may write.

    Raises ModelFailed, and what the listener raises; the connection is closed then.
    """
    failures.require_sendable(connection)
    until = time.monotonic() + settings.MODEL_TIMEOUT
    for attempt in range(1, MOST_ATTEMPTS + 1):
        listener.heard("")
        answer = Answer()
        try:
            _listen(Exchange(ask, settings.MODEL_SILENCE), answer, connection, listener, until, limit)
            _require_read(answer, connection, prompt_tokens)
            return answer.reply(connection)
        except ModelFailed as failure:
            wait = _wait_before_next(failure, attempt)
            if wait is None or answer.text or time.monotonic() + wait >= until:
                raise
        finally:
            if answer.begun:
                listener.spent(answer.usage(connection))
        rest(wait, listener)
    raise AssertionError("the last attempt returns or raises")


def _listen(
    exchange: Exchange, answer: Answer, connection: ModelAccess, listener: ProgressCallback, until: float, limit: int
) -> None:
    heard = time.monotonic()
    with exchange:
        while True:
            if answer.characters > limit * CHARACTERS:
                answer.finish = "length"
                return
            now = time.monotonic()
            if now >= until:
                if answer.finish:
                    return
                raise failures.slow(connection)
            if now - heard >= TICK:
                listener.heard("")
                heard = now
            try:
                piece = exchange.next(min(TICK, until - now))
            except Ended:
                if answer.finish:
                    return
                raise failures.unfinished(connection, bool(answer.begun)) from None
            except Exception as problem:
                if answer.finish:
                    return
                raise failures.of(problem, connection, answer.begun) from None  # its text may hold the key
            if piece is None:
                continue
            answer.take(piece)
            if piece.finish:
                until = min(until, time.monotonic() + USAGE_WAIT)
            if piece.text and not piece.thought:
                listener.heard(piece.text)
                heard = time.monotonic()


def _require_read(answer: Answer, connection: ModelAccess, prompt_tokens: int) -> None:
    """Some servers cut a request that is too long without a word: a summary of the rest would lose what was cut."""
    read = answer.told.input_tokens or 0
    if 0 < read < prompt_tokens * READ_SHARE:
        raise failures.read_in_part(connection, read, prompt_tokens)


def _wait_before_next(failure: ModelFailed, attempt: int) -> float | None:
    """Seconds to wait before the model is asked again, None where it is not."""
    if not failure.passing or attempt == MOST_ATTEMPTS:
        return None
    if failure.after is None:
        return FIRST_WAIT * 2.0 ** (attempt - 1) * random.uniform(0.75, 1.25)
    return failure.after if failure.after <= LONGEST_WAIT else None


def rest(seconds: float, listener: ProgressCallback) -> None:
    """Wait for so long, with a sign to the listener each `TICK`, who may cancel."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        listener.heard("")
        time.sleep(min(TICK, left))
