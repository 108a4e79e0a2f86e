"""Runs whose summary a model writes, over real HTTP: what goes well, and every way in which it does not."""

from __future__ import annotations

import json
import logging
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import genai_prices.data
import httpx2
import pytest
from django.db import connection
from genai_prices import data_snapshot
from pytest_django import Settings

from tests import model_services
from tests.factories.stores import HermesStore
from tests.model_services import KEY, NOTES, READ, WRITTEN, Behaviour, ModelService, answers, refuses, sends, streams
from tests.runs.model_runs import PROVIDERS, UseModel, require_no_key, started
from tests.slow import one_in
from viewer.runs import job
from viewer.runs.errors import ModelFailed
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.runs.progress import Progress
from viewer.runs.providers import exchange, limits, summarizers
from viewer.runs.providers.provider import StreamEvent
from viewer.runs.service import cancel as cancel_run
from viewer.runs.service import get_run, prepare, undo_run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
ROOT = Path(__file__).resolve().parents[2]


def everything(hermes_store: HermesStore) -> list[list[tuple[Any, ...]]]:
    return [
        hermes_store.rows("SELECT * FROM sessions ORDER BY id"),
        hermes_store.rows("SELECT * FROM messages ORDER BY id"),
    ]


# --- what goes well --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_streamed_answer_is_applied(
    provider: str,
    hermes_store: HermesStore,
    model_service: ModelService,
    use_model: UseModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_model(provider)
    model_service.behaviours = [answers(f"Here are the notes.\n\n{NOTES}")]
    texts: list[str] = []
    real = Progress.on_text

    def listen(progress: Progress, text: str) -> None:
        texts.append(text)
        real(progress, text)

    monkeypatch.setattr(Progress, "on_text", listen)

    run = started(hermes_store, provider)

    assert (run.status, run.error_message, run.model) == ("applied", "", "some-model")
    assert run.summary == NOTES
    assert run.usage == {"calls": 1, "input_tokens": READ, "output_tokens": WRITTEN, "cost": None}
    assert "".join(texts).endswith(NOTES) and len([text for text in texts if text]) > 5
    assert texts[0] == ""
    [body] = model_service.requests
    assert body["stream"] is True and "temperature" not in body and KEY not in json.dumps(body)
    assert sum(NOTES in (content or "") for _, content, *_ in hermes_store.live()) == 1


def test_openai_is_asked_for_usage_and_a_limit(
    hermes_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    use_model("openai", window=40_000)
    run = started(hermes_store, "openai")
    [body] = model_service.requests
    assert body["stream_options"] == {"include_usage": True}
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert run.tokens_before and 3_000 < body["max_tokens"] <= 2_000 * 1.5 / 0.75 + limits.THINKING_TOKENS
    assert model_service.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_service_without_a_key_gets_none(
    provider: str,
    hermes_store: HermesStore,
    model_service: ModelService,
    use_model: UseModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ADMIN_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    use_model(provider, api_key="")
    assert started(hermes_store, provider).status == "applied"
    assert KEY not in str(model_service.headers)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_it_cost_stands_on_the_run(
    provider: str,
    hermes_store: HermesStore,
    model_service: ModelService,
    use_model: UseModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed, price, from_cache = {
        "openai": ("gpt-4o", (2.5, 10, 1.25), 0),
        "anthropic": ("claude-sonnet-4-6", (3, 15, 0.3), 1),
    }[provider]
    [listed_provider] = [each for each in genai_prices.data.providers if each.id == provider]
    monkeypatch.setattr(listed_provider, "api_pattern", re.escape(model_service.url))  # as if it ran here
    monkeypatch.setattr(data_snapshot, "_custom_snapshot", data_snapshot.DataSnapshot([listed_provider], False))
    limits.listed_model.cache_clear()
    use_model(provider, model=listed)
    run = started(hermes_store, provider)
    limits.listed_model.cache_clear()
    assert run.status == "applied", run.error_message
    cost = (READ - from_cache) * price[0] + WRITTEN * price[1] + from_cache * price[2]
    assert run.usage["cost"] == pytest.approx(cost / 1e6)


def test_errors_that_pass_are_asked_again(
    hermes_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    use_model("openai")
    model_service.behaviours = [refuses(503), model_services.hangs_up, answers()]
    run = started(hermes_store, "openai")
    assert (run.status, len(model_service.requests), run.usage["calls"]) == ("applied", 3, 1)


@pytest.mark.parametrize("how", ["seconds", "date", "milliseconds"])
def test_a_service_is_given_the_time_it_asks_for(
    how: str,
    hermes_store: HermesStore,
    model_service: ModelService,
    use_model: UseModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_model("openai")
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    said: dict[str, dict[str, Any]] = {
        "seconds": {"retry_after": "30"},
        "date": {"retry_after": soon},
        "milliseconds": {"retry_after_ms": "29500"},
    }
    model_service.behaviours = [refuses(429, **said[how]), answers()]
    rests: list[float] = []
    monkeypatch.setattr(summarizers, "pause", lambda seconds, listener: rests.append(seconds))
    assert started(hermes_store, "openai").status == "applied"
    [rest] = rests
    assert 25 < rest <= 30


def test_it_waits_for_as_long_as_it_says(
    hermes_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    use_model("openai")
    model_service.behaviours = [refuses(429, retry_after="1"), answers()]
    began = time.monotonic()
    assert started(hermes_store, "openai").status == "applied"
    assert time.monotonic() - began >= 1 and len(model_service.requests) == 2


def names_the_limit(said: str) -> Behaviour:
    """A refusal that repeats how many tokens of an answer were asked for."""

    def behave(request: model_services.Request) -> None:
        asked = request.body.get("max_completion_tokens") or request.body["max_tokens"]
        refuses(400, said.format(asked))(request)

    return behave


def test_a_server_without_usage_and_with_the_newer_limit_is_learned(
    hermes_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    use_model("openai")
    model_service.behaviours = [
        refuses(400, "Unrecognized request argument supplied: stream_options"),
        refuses(400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                     "'max_completion_tokens' instead."),
        names_the_limit("max_completion_tokens is too large: {}. This model supports at most 4,096 completion tokens."),
        answers(),
    ]  # fmt: skip
    run = started(hermes_store, "openai")
    assert (run.status, len(model_service.requests)) == ("applied", 4)
    assert run.usage == {"calls": 1, "input_tokens": 0, "output_tokens": 0, "cost": None}
    undo_run(run)
    assert started(hermes_store, "openai").status == "applied"
    last = model_service.requests[4]
    assert len(model_service.requests) == 5
    assert (last.get("stream_options"), last.get("max_tokens"), last["max_completion_tokens"]) == (None, None, 4096)


def test_anthropic_is_asked_for_no_more_than_the_model_writes(
    hermes_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    use_model("anthropic")
    said = "max_tokens: {} > 4096, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20240620"
    model_service.behaviours = [names_the_limit(said), answers()]
    run = started(hermes_store, "anthropic")
    assert run.status == "applied", run.error_message
    assert [body["max_tokens"] for body in model_service.requests][1:] == [4096]


def test_a_complete_answer_does_not_wait_long_for_what_it_took(
    hermes_store: HermesStore, model_service: ModelService, use_model: UseModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summarizers, "USAGE_WAIT", 0.2)
    use_model("openai")
    model_service.behaviours = [model_services.stalls(NOTES, finish="stop")]
    run = started(hermes_store, "openai")
    assert (run.status, run.usage["cost"]) == ("applied", None)
    assert model_service.left.wait(model_services.PATIENCE)


@pytest.mark.slow
def test_sdks_are_imported_only_to_talk_to_a_model() -> None:
    code = (
        "import django, sys; django.setup()\n"
        "from viewer.runs import job\n"
        "from viewer.runs.providers import PROVIDERS, summarizers\n"
        "from viewer.runs.providers.provider import ModelAccess\n"
        "made = [summarizers.summarizer_of(ModelAccess(provider, 'm', 'http://h/v1', 'k', None, 'environment')) "
        "for provider in PROVIDERS.values()]\n"
        "assert [each.name for each in made] == ['openai', 'anthropic']\n"
        "print([name for name in ('openai', 'anthropic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- what does not ---------------------------------------------------------------------------------------------------

QUOTA = {"code": "insufficient_quota", "type": "insufficient_quota"}
HALF = NOTES[: len(NOTES) // 2]
# name: (behaviours, code, requests, words of the sentence)
FAILURES: dict[str, tuple[list[Behaviour], str, int, str]] = {
    "401": ([refuses(401, f"Incorrect API key provided: {KEY}")], "model_unauthorized", 1, "set a valid one"),
    "403": ([refuses(403, f"{KEY} may not")], "model_unauthorized", 1, "use another"),
    "404": ([refuses(404, "no such model")], "model_not_found", 1, "check the model's name and the URL"),
    "402": ([refuses(402)], "model_no_credit", 1, "top it up"),
    "quota": ([refuses(429, error=QUOTA)], "model_no_credit", 1, "top it up"),
    "quota in words": ([refuses(429, "You exceeded your current quota")], "model_no_credit", 1, "used up its quota"),
    "429": ([refuses(429, f"slow down {KEY}")], "model_rate_limited", 3, "start again later"),
    "429 for an hour": ([refuses(429, retry_after="3600")], "model_rate_limited", 1, "start again after "),
    "500": ([refuses(500, f"key was {KEY}")], "model_unavailable", 3, "(500, “key was [REDACTED]”)"),
    "502 page": ([sends(b"<html>Bad gateway</html>", "text/html", 502)], "model_unavailable", 3, "(502)"),
    "409": ([refuses(409)], "model_unavailable", 3, "start again"),
    "503": ([refuses(503)], "model_unavailable", 3, "start again"),
    "529": ([refuses(529)], "model_unavailable", 3, "start again"),
    "400": ([refuses(400, "I do not like it")], "model_refused_request", 1, "“I do not like it”"),
    "413": ([refuses(413)], "model_window", 1, "set its context window"),
    "html with 200": ([sends(b"<!doctype html><p>Hello", "text/html")], "model_bad_answer", 1, "a web page"),
    "json with 200": ([sends(b'{"ok": true}', "application/json")], "model_bad_answer", 1, "a document"),
    "broken json with 200": ([sends(b'{"ok', "application/json")], "model_bad_answer", 1, "a document"),
    "error with 200": (
        [sends(b'{"error": {"code": 502, "message": "no provider"}}', "application/json")],
        "model_unavailable", 3, "(502, “no provider”)",
    ),
    "broken events": ([streams('{"choices": [', text=HALF)], "model_bad_answer", 1, "start again"),
    "no utf-8": (
        [sends(b"event: message_start\ndata: \xff\xfe\n\n", "text/event-stream")], "model_bad_answer", 1,
        "check the URL",
    ),
    "empty": ([answers("")], "summary_empty", 1, "Start again, or choose another model"),
    "blank": ([answers(" \n")], "summary_empty", 1, "Start again"),
    "only thinking": ([answers("Hmm, hmm.", kind="thinking")], "model_only_thought", 1, "turn its thinking down"),
    "cut off": ([answers(NOTES, finish="length")], "summary_cut_off", 1, "reached its limit"),
    "declined": ([answers("I'm sorry, but I cannot help with that.")], "summary_refusal", 1, "declined"),
    "filtered": ([answers(HALF, finish="refusal")], "summary_refusal", 1, "declined"),
    "no sections": ([answers("It was about a flight. " * 9)], "summary_no_sections", 1, "lacks the sections"),
    "too much": ([answers(NOTES + "\n- word word word word" * 4_000)], "summary_too_long", 1, "were asked for"),
    "not finished": ([streams(text=NOTES)], "model_dropped", 1, "stopped before the end of its answer"),
    "connection lost": ([model_services.breaks_off(HALF)], "model_dropped", 1, "stopped before the end of its answer"),
    "no answer": ([model_services.hangs_up], "model_dropped", 3, "without an answer"),
    "stalled": ([model_services.stalls(HALF)], "model_stalled", 1, "sent nothing for"),
    "silent": ([model_services.never_answers], "model_stalled", 1, "PALIMPSEST_MODEL_SILENCE"),
    "slow": ([model_services.trickles()], "model_slow", 1, "PALIMPSEST_MODEL_TIMEOUT"),
    "redirect": ([refuses(307, location=f"https://elsewhere/v2?k={KEY}")], "model_redirected", 1, "https://elsewhere/v2,"),
    "overloaded in the stream": (
        [streams({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})],
        "model_unavailable", 3, "(529, “Overloaded”)",
    ),
    "error in the middle": (
        [streams({"type": "error", "error": {"code": 502, "type": "api_error", "message": f"lost {KEY}"}}, text=HALF)],
        "model_unavailable", 1, "(502, “lost [REDACTED]”)",
    ),
}  # fmt: skip
TIMES = {"stalled": (0.3, 20), "silent": (0.3, 20), "slow": (5, 0.7)}  # silence, whole answer


CASES = [(name, PROVIDERS[at % 2]) for at, name in enumerate(FAILURES)]  # each failure with one of them, in turn


@pytest.mark.parametrize(("name", "provider"), one_in(3, CASES))
def test_a_failure_is_named_and_touches_nothing(
    name: str,
    provider: str,
    chat_store: HermesStore,
    model_service: ModelService,
    use_model: UseModel,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    settings.MODEL_SILENCE, settings.MODEL_TIMEOUT = TIMES.get(name, (20, 20))
    use_model(provider)
    model_service.behaviours, code, requests, words = FAILURES[name]
    before = everything(chat_store)

    run = started(chat_store, provider)

    assert (run.status, run.error_code, len(model_service.requests)) == ("failed", code, requests), run.error_message
    assert words in run.error_message and "\n" not in run.error_message and len(run.error_message) < 500
    assert run.progress == {"sentence": run.error_message}
    assert everything(chat_store) == before
    assert chat_store.holders("compression_locks") + chat_store.holders("session_turn_leases") == []
    assert (run.holder, run.summary, run.handoff_id) == ("", "", None)
    require_no_key(run, chat_store, caplog)


TOO_LONG = {
    "OpenAI": (400, "This model's maximum context length is 8192 tokens. However, yours were 9000 tokens.",
               {"code": "context_length_exceeded"}),
    "OpenAI's code alone": (400, "No.", {"code": "context_length_exceeded"}),
    "vLLM": (400, "This model's maximum context length is 4096 tokens. However, you requested 5010 tokens", {}),
    "vLLM, newer": (400, "The decoder prompt (length 5010) is longer than the maximum model length of 4096.", {}),
    "vLLM, the limit": (400, "'max_tokens' or 'max_completion_tokens' is too large: 19200. This model's maximum "
                             "context length is 8192 tokens and your request has 5000 input tokens.", {}),
    "llama.cpp": (400, "request (9031 tokens) exceeds the available context size (8192 tokens), try increasing it",
                  {"type": "exceed_context_size_error"}),
    "Anthropic": (400, "prompt is too long: 213000 tokens > 200000 maximum", {"type": "invalid_request_error"}),
    "Anthropic, the limit": (400, "input length and `max_tokens` exceed context limit: 190000 + 19200 > 200000", {}),
    "Anthropic, bytes": (413, "Request exceeds the maximum size", {"type": "request_too_large"}),
    "a server's own 500": (500, "context size exceeded", {}),
}  # fmt: skip


@pytest.mark.parametrize("dialect", list(TOO_LONG))
def test_a_request_that_is_too_long_says_to_set_the_window(
    dialect: str, chat_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    provider = "anthropic" if dialect.startswith("Anthropic") else "openai"
    use_model(provider)
    status, message, error = TOO_LONG[dialect]
    model_service.behaviours = [refuses(status, message, error)]
    run = started(chat_store, provider)
    assert (run.error_code, len(model_service.requests)) == ("model_window", 1), run.error_message
    assert f"(PALIMPSEST_{provider.upper()}_WINDOW)" in run.error_message


def test_a_server_that_drops_half_of_the_request_is_noticed(
    chat_store: HermesStore, model_service: ModelService, use_model: UseModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_services, "READ", 2_048)
    use_model("openai")
    run = started(chat_store, "openai")
    assert (run.status, run.error_code) == ("failed", "model_window")
    assert "read only 2,048 of about" in run.error_message


def test_an_answer_without_end_is_cut_off(
    hermes_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    use_model("openai")
    model_service.behaviours = [model_services.never_ends]
    run = started(hermes_store, "openai")
    assert (run.status, run.error_code) == ("failed", "summary_cut_off")
    assert model_service.left.wait(model_services.PATIENCE)


@pytest.mark.parametrize("line", [b": still working\n\n", b": still working\n", b"data: "], ids=["many", "one", "line"])
def test_a_flood_of_nothing_is_left(
    line: bytes,
    hermes_store: HermesStore,
    model_service: ModelService,
    use_model: UseModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchange, "MOST_BYTES", 1_000_000)
    monkeypatch.setattr(exchange, "MOST_EVENT_BYTES", 1_000_000 if line.endswith(b"\n\n") else 200_000)
    use_model("openai")
    model_service.behaviours = [model_services.floods(line)]
    run = started(hermes_store, "openai")
    assert (run.status, run.error_code, len(model_service.requests)) == ("failed", "model_bad_answer", 1)
    assert model_service.left.wait(model_services.PATIENCE)


@pytest.mark.parametrize(("after", "waits"), [(60.0, True), (60.5, False)])
def test_a_service_that_asks_for_more_than_a_minute_is_not_waited_for(after: float, waits: bool) -> None:
    failure = ModelFailed("model_rate_limited", "Busy.", passing=True, after=after)
    assert summarizers._wait_before_next(failure, 1) == (after if waits else None)


def test_a_model_whose_answers_are_all_refused_is_paid_for(
    hermes_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    use_model("openai")
    model_service.behaviours = [answers("I'm sorry, but I cannot help with that.")]
    run = started(hermes_store, "openai")
    assert run.usage == {"calls": 1, "input_tokens": READ, "output_tokens": WRITTEN, "cost": None}


def test_a_refusal_beside_the_text_is_one(
    hermes_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    use_model("openai")
    model_service.behaviours = [answers("I can do nothing with this.", kind="refusal")]
    assert started(hermes_store, "openai").error_code == "summary_refusal"


def test_a_broken_answer_of_anthropic_tells_what_was_read(
    hermes_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    use_model("anthropic")
    model_service.behaviours = [streams(text=HALF)]
    run = started(hermes_store, "anthropic")
    assert (run.error_code, run.usage["calls"], run.usage["input_tokens"]) == ("model_dropped", 1, READ)


@pytest.mark.slow
def test_strange_events_never_end_a_run_in_the_log(
    hermes_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    use_model("anthropic")
    for strange in ("[1]", "5", '"x"', "null", '{"choices": 5, "delta": 5}', '{"choices": [7], "usage": "?"}', "{}"):
        model_service.behaviours = [streams(strange)]
        run = started(hermes_store, "anthropic")
        assert run.status == "failed" and run.error_code in ("model_bad_answer", "model_dropped"), run.error_message


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://127.0.0.1:{free}/v1", "Nothing answers at 127.0.0.1"),
        ("http://no-such-host.invalid/v1", "The name no-such-host.invalid could not be found"),
        ("https://127.0.0.1:{service}/v1", "TLS"),
    ],
    ids=["refused", "no name", "no TLS"],
)
def test_a_service_that_is_not_there_is_named(
    address: str,
    words: str,
    hermes_store: HermesStore,
    model_service: ModelService,
    use_model: UseModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        use_model("openai", base_url=address.format(free=unused.getsockname()[1], service=model_service.server_port))
        run = started(hermes_store, "openai")
    assert (run.status, run.error_code) == ("failed", "model_unreachable")
    assert words in run.error_message and "check the URL" in run.error_message.replace(
        "check that the URL", "check the URL"
    )


@pytest.mark.parametrize("key", ["sk-schlüssel-0123456789", "sk-two\nlines-0123456789"], ids=["umlaut", "newline"])
def test_a_key_that_cannot_be_one_is_not_shown(
    key: str,
    hermes_store: HermesStore,
    model_service: ModelService,
    use_model: UseModel,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    use_model("anthropic", api_key=key)
    run = started(hermes_store, "anthropic")
    assert (run.status, run.error_code) == ("failed", "model_unauthorized")
    assert "0123456789" not in run.error_message + caplog.text


def test_every_code_is_explained() -> None:
    """In docs/models.md, which names no code that does not exist either."""
    made = set(re.findall(r'"(model_[a-z_]+)"', (ROOT / "viewer/runs/providers/failures.py").read_text()))
    made |= set(re.findall(r'code = "(model_[a-z_]+)"', (ROOT / "viewer/runs/errors.py").read_text()))
    for source in (ROOT / "compaction").rglob("*.py"):
        made |= {f"summary_{code}" for code in re.findall(r'SummaryRejected\(\s*"([a-z_]+)"', source.read_text())}
    named = set(re.findall(r"`((?:model|summary)_[a-z_]+)`", (ROOT / "docs/models.md").read_text()))
    assert made == named and len(made) > 20


# --- cancelling ------------------------------------------------------------------------------------------------------


HANGING: dict[str, Behaviour] = {
    "trickles": model_services.trickles(),
    "stalls": model_services.stalls(HALF),
    "never answers": model_services.never_answers,
    "floods": model_services.floods(b": still working\n\n"),
}


@pytest.mark.parametrize("behaviour", list(HANGING))
def test_a_cancelled_run_hangs_up(
    behaviour: str, hermes_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    use_model("openai")
    model_service.behaviours = [HANGING[behaviour]]
    run = prepare(hermes_store.store, hermes_store.session_id, Options(summarizer="openai"), apply=True)
    cancelled_in(run, lambda: len(model_service.requests) == 1)
    assert model_service.left.wait(model_services.PATIENCE), "the connection was left open"
    assert len(model_service.requests) == 1


def test_an_exchange_that_was_left_sends_nothing_any_more(
    model_service: ModelService, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_send, done = threading.Event(), threading.Event()

    def ask(client: httpx2.Client) -> Iterator[StreamEvent]:
        may_send.wait(model_services.PATIENCE)
        try:
            client.post(f"{model_service.url}/v1/chat/completions", json={})
        finally:
            done.set()
        yield StreamEvent()

    monkeypatch.setattr(exchange, "LEAVE_SECONDS", 0.05)
    with exchange.Exchange(ask, 5):
        pass
    may_send.set()
    assert done.wait(model_services.PATIENCE) and model_service.requests == []


def test_a_cancelled_run_stops_waiting_for_its_next_attempt(
    hermes_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    use_model("openai")
    model_service.behaviours = [refuses(429, retry_after="50"), answers()]
    run = prepare(hermes_store.store, hermes_store.session_id, Options(summarizer="openai"), apply=True)
    cancelled_in(run, lambda: len(model_service.requests) == 1)
    assert len(model_service.requests) == 1


def cancelled_in(run: Run, reached: Callable[[], bool]) -> None:
    """Carry the run out in this thread, and cancel it from another once `reached`."""

    def cancel() -> None:
        try:
            until = time.monotonic() + model_services.PATIENCE
            while not reached() and time.monotonic() < until:
                time.sleep(0.02)
            cancel_run(get_run(run.pk))
        finally:
            connection.close()

    thread = threading.Thread(target=cancel)
    thread.start()
    began = time.monotonic()
    job.compact(run.pk)
    thread.join(model_services.PATIENCE)
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("cancelled", "")
    assert time.monotonic() - began < 45, "the wait went on"
