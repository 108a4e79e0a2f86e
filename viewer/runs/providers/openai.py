"""Models behind the Chat Completions interface of OpenAI, which many servers speak."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2

import compaction

from .provider import (
    ModelAccess,
    ModelQuirks,
    Provider,
    StreamEvent,
    as_count,
    as_text,
    ask_adapting,
    require_events,
    sdk_options,
)  # fmt: skip

if TYPE_CHECKING:  # the SDK takes a second to import: only who talks to a model pays
    import openai
    from openai.types.chat import ChatCompletionChunk


@dataclass
class ChatQuirks(ModelQuirks):
    """Also the name of the output limit, and whether the service can be asked for its usage."""

    limit_name: str = "max_tokens"
    usage: bool = True

    def _adapt(self, text: str, sent: int) -> bool:
        if self.usage and ("stream_options" in text or "include_usage" in text):
            self.usage = False
            return True
        if super()._adapt(text, sent):
            return True
        if self.limit_name == "max_tokens" and "max_completion_tokens" in text:
            self.limit_name = "max_completion_tokens"
            return True
        return False


def stream(
    client: httpx2.Client, connection: ModelAccess, prompt: compaction.Prompt, limit: int
) -> Iterator[StreamEvent]:
    """`Provider.stream` by the SDK of OpenAI."""
    import openai

    api = openai.OpenAI(**sdk_options(client, connection))
    chunks = _open_stream(api, connection, prompt, limit)
    require_events(chunks.response)
    for chunk in chunks:
        yield from _events(chunk)


def _open_stream(
    api: openai.OpenAI, connection: ModelAccess, prompt: compaction.Prompt, limit: int
) -> openai.Stream[ChatCompletionChunk]:
    import openai

    def ask(quirks: ChatQuirks) -> openai.Stream[ChatCompletionChunk]:
        options: dict[str, Any] = {quirks.limit_name: quirks.limit(limit)}
        if quirks.usage:
            options["stream_options"] = {"include_usage": True}
        chunks: openai.Stream[ChatCompletionChunk] = api.chat.completions.create(
            model=connection.model,
            messages=[{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            stream=True,
            **options,
        )
        return chunks

    return ask_adapting(connection, limit, ChatQuirks, (openai.BadRequestError, openai.UnprocessableEntityError), ask)


def _events(chunk: ChatCompletionChunk) -> Iterator[StreamEvent]:
    """The events of a chunk, whose shape is not trusted. Servers send the model's thinking under one of two names."""
    model = as_text(getattr(chunk, "model", None))
    if usage := getattr(chunk, "usage", None):
        details = getattr(usage, "prompt_tokens_details", None)
        yield StreamEvent(
            model=model,
            input_tokens=as_count(getattr(usage, "prompt_tokens", None)),
            cached_tokens=as_count(getattr(details, "cached_tokens", None)),
            output_tokens=as_count(getattr(usage, "completion_tokens", None)),
        )
    for choice in (getattr(chunk, "choices", None) or [])[:1]:
        delta = getattr(choice, "delta", None)
        if thought := as_text(getattr(delta, "reasoning_content", None)) or as_text(getattr(delta, "reasoning", None)):
            yield StreamEvent(thought, thought=True)
        if refusal := as_text(getattr(delta, "refusal", None)):
            yield StreamEvent(refusal, refused=True)
        if text := as_text(getattr(delta, "content", None)):
            yield StreamEvent(text)
        if finish := as_text(getattr(choice, "finish_reason", None)):
            yield StreamEvent(finish=finish, model=model)


PROVIDER = Provider(
    name="openai",
    label="OpenAI or compatible",
    default_url="https://api.openai.com/v1",
    stream=stream,
    headers_variable="OPENAI_CUSTOM_HEADERS",
    sdk_paths=("/chat/completions",),
    error_status={
        "invalid_request_error": 400, "invalid_api_key": 401, "insufficient_quota": 402, "model_not_found": 404,
        "rate_limit_exceeded": 429, "server_error": 500,
    },
    url_hint=(
        "Empty: OpenAI itself. OpenRouter, vLLM, llama.cpp, Ollama and others have URLs of their own, such as "
        "http://127.0.0.1:11434/v1."
    ),
    key_hint="Servers of your own often ask for none.",
)  # fmt: skip
