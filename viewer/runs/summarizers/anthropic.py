"""Summaries by a model behind the Messages interface of Anthropic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx2

import compaction

from . import failures
from .connections import ModelAccess, sdk_options
from .exchange import AnswerPart, number, words
from .model_quirks import ModelQuirks, asked

if TYPE_CHECKING:  # the SDK takes a second to import: only who talks to a model pays
    import anthropic
    from anthropic.types import RawMessageStreamEvent


def pieces(
    client: httpx2.Client, connection: ModelAccess, prompt: compaction.Prompt, limit: int
) -> Iterator[AnswerPart]:
    """Ask, and say what comes. Raises what the SDK raises, and failures.NotStreamed."""
    import anthropic

    api = anthropic.Anthropic(**sdk_options(client, connection))
    stream = _opened(api, connection, prompt, limit)
    failures.require_events(stream.response)
    for event in stream:
        yield from _said(event)


def _opened(
    api: anthropic.Anthropic, connection: ModelAccess, prompt: compaction.Prompt, limit: int
) -> anthropic.Stream[RawMessageStreamEvent]:
    import anthropic

    def ask(known: ModelQuirks) -> anthropic.Stream[RawMessageStreamEvent]:
        return api.messages.create(
            model=connection.model,
            max_tokens=known.limit(limit),
            system=prompt.system,
            messages=[{"role": "user", "content": prompt.user}],
            stream=True,
        )

    return asked(connection, limit, (anthropic.BadRequestError,), ask)


def _said(event: RawMessageStreamEvent) -> Iterator[AnswerPart]:
    """Read without trust in its shape. The first event tells what was read, the last but one what was written."""
    message, delta = getattr(event, "message", None), getattr(event, "delta", None)
    usage = getattr(event, "usage", None) or getattr(message, "usage", None)
    if usage is not None or message is not None:
        cached = number(getattr(usage, "cache_read_input_tokens", None))
        yield AnswerPart(
            model=words(getattr(message, "model", None)),
            input_tokens=_read(usage, cached),
            cached_tokens=cached,
            output_tokens=number(getattr(usage, "output_tokens", None)),
        )
    if thought := words(getattr(delta, "thinking", None)):
        yield AnswerPart(thought, thought=True)
    if text := words(getattr(delta, "text", None)):
        yield AnswerPart(text)
    if finish := words(getattr(delta, "stop_reason", None)):
        yield AnswerPart(finish=finish)


def _read(usage: Any, cached: int | None) -> int | None:
    """All tokens that were read: those from the cache are counted apart there."""
    fresh = number(getattr(usage, "input_tokens", None))
    made = number(getattr(usage, "cache_creation_input_tokens", None))
    return None if fresh is None else fresh + (cached or 0) + (made or 0)
