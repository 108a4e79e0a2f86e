"""Summaries by a model behind the Chat Completions interface of OpenAI, which many servers speak."""

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
    import openai
    from openai.types.chat import ChatCompletionChunk


def pieces(
    client: httpx2.Client, connection: ModelAccess, prompt: compaction.Prompt, limit: int
) -> Iterator[AnswerPart]:
    """Ask, and say what comes. Raises what the SDK raises, and failures.NotStreamed."""
    import openai

    api = openai.OpenAI(**sdk_options(client, connection))
    stream = _opened(api, connection, prompt, limit)
    failures.require_events(stream.response)
    for chunk in stream:
        yield from _said(chunk)


def _opened(
    api: openai.OpenAI, connection: ModelAccess, prompt: compaction.Prompt, limit: int
) -> openai.Stream[ChatCompletionChunk]:
    import openai

    def ask(known: ModelQuirks) -> openai.Stream[ChatCompletionChunk]:
        options: dict[str, Any] = {known.limit_name: known.limit(limit)}
        if known.usage:
            options["stream_options"] = {"include_usage": True}
        stream: openai.Stream[ChatCompletionChunk] = api.chat.completions.create(
            model=connection.model,
            messages=[{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            stream=True,
            **options,
        )
        return stream

    return asked(connection, limit, (openai.BadRequestError, openai.UnprocessableEntityError), ask)


def _said(chunk: ChatCompletionChunk) -> Iterator[AnswerPart]:
    """Read without trust in its shape; servers send the model's thinking, too, under either of two names."""
    model = words(getattr(chunk, "model", None))
    if usage := getattr(chunk, "usage", None):
        details = getattr(usage, "prompt_tokens_details", None)
        yield AnswerPart(
            model=model,
            input_tokens=number(getattr(usage, "prompt_tokens", None)),
            cached_tokens=number(getattr(details, "cached_tokens", None)),
            output_tokens=number(getattr(usage, "completion_tokens", None)),
        )
    for choice in (getattr(chunk, "choices", None) or [])[:1]:
        delta = getattr(choice, "delta", None)
        if thought := words(getattr(delta, "reasoning_content", None)) or words(getattr(delta, "reasoning", None)):
            yield AnswerPart(thought, thought=True)
        if refusal := words(getattr(delta, "refusal", None)):
            yield AnswerPart(refusal, refused=True)
        if text := words(getattr(delta, "content", None)):
            yield AnswerPart(text)
        if finish := words(getattr(choice, "finish_reason", None)):
            yield AnswerPart(finish=finish, model=model)
