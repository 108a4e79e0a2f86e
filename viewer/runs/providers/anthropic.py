"""Models behind the Messages interface of Anthropic."""

from __future__ import annotations

from collections.abc import Iterator
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
    import anthropic
    from anthropic.types import RawMessageStreamEvent


def stream(
    client: httpx2.Client, connection: ModelAccess, prompt: compaction.Prompt, limit: int
) -> Iterator[StreamEvent]:
    """`Provider.stream` by the SDK of Anthropic."""
    import anthropic

    api = anthropic.Anthropic(**sdk_options(client, connection))
    raw_events = _open_stream(api, connection, prompt, limit)
    require_events(raw_events.response)
    for raw_event in raw_events:
        yield from _events(raw_event)


def _open_stream(
    api: anthropic.Anthropic, connection: ModelAccess, prompt: compaction.Prompt, limit: int
) -> anthropic.Stream[RawMessageStreamEvent]:
    import anthropic

    def ask(quirks: ModelQuirks) -> anthropic.Stream[RawMessageStreamEvent]:
        return api.messages.create(
            model=connection.model,
            max_tokens=quirks.limit(limit),
            system=prompt.system,
            messages=[{"role": "user", "content": prompt.user}],
            stream=True,
        )

    return ask_adapting(connection, limit, ModelQuirks, (anthropic.BadRequestError,), ask)


def _events(raw_event: RawMessageStreamEvent) -> Iterator[StreamEvent]:
    """The events of one of the SDK, whose shape is not trusted. The first has the input tokens, the last but one the
    output tokens.
    """
    message, delta = getattr(raw_event, "message", None), getattr(raw_event, "delta", None)
    usage = getattr(raw_event, "usage", None) or getattr(message, "usage", None)
    if usage is not None or message is not None:
        cached = as_count(getattr(usage, "cache_read_input_tokens", None))
        yield StreamEvent(
            model=as_text(getattr(message, "model", None)),
            input_tokens=_input_tokens(usage, cached),
            cached_tokens=cached,
            output_tokens=as_count(getattr(usage, "output_tokens", None)),
        )
    if thought := as_text(getattr(delta, "thinking", None)):
        yield StreamEvent(thought, thought=True)
    if text := as_text(getattr(delta, "text", None)):
        yield StreamEvent(text)
    if finish := as_text(getattr(delta, "stop_reason", None)):
        yield StreamEvent(finish=finish)


def _input_tokens(usage: Any, cached: int | None) -> int | None:
    """All input tokens: `input_tokens` of this interface is without those read from the cache or written to it."""
    uncached = as_count(getattr(usage, "input_tokens", None))
    written_to_cache = as_count(getattr(usage, "cache_creation_input_tokens", None))
    return None if uncached is None else uncached + (cached or 0) + (written_to_cache or 0)


PROVIDER = Provider(
    name="anthropic",
    label="Anthropic",
    default_url="https://api.anthropic.com",
    stream=stream,
    headers_variable="ANTHROPIC_CUSTOM_HEADERS",
    sdk_paths=("/v1/messages", "/v1"),
    error_status={
        "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
        "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500,
        "timeout_error": 504, "overloaded_error": 529,
    },
    url_hint="Empty: Anthropic itself.",
)  # fmt: skip
