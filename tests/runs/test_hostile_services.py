"""Services that answer in bad faith or at random: nothing of ours leaks, and a run ends with a reason."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Callable
from typing import Any

import pytest

from tests.factories.stores import HermesStore
from tests.model_services import KEY, NOTES, ModelService, Request, refuses
from tests.runs.model_runs import PROVIDERS, require_no_key, started
from tests.slow import one_in, slow
from viewer.runs.providers.provider import MOST_LESSONS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
UseModel = Callable[..., None]

STRANGE_TIMES = [
    "Mon, 01 Jan 99999999999 00:00:00 GMT",
    "Mon, 01 Jan 2026 00:00:00 -99999999999999",
    "Mon, 01 Jan 0001 00:00:00 +2359",
    "1e308",
    "-5",
    "9" * 400,
]


@pytest.mark.parametrize("said", one_in(3, STRANGE_TIMES))
def test_a_time_to_wait_that_is_none_is_ignored(
    said: str,
    chat_store: HermesStore,
    model_service: ModelService,
    use_model: UseModel,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    use_model("openai")
    model_service.behaviours = [refuses(429, f"slow down {KEY}", retry_after=said)]
    run = started(chat_store, "openai")
    assert (run.status, run.error_code, len(model_service.requests)) == ("failed", "model_rate_limited", 3)
    require_no_key(run, chat_store, caplog)


def test_a_refusal_that_cannot_be_read_is_not_logged(
    chat_store: HermesStore,
    model_service: ModelService,
    use_model: UseModel,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An SDK's exception quotes the answer, and the answer may quote the key."""

    def stumbles(*_: Any) -> None:
        raise RecursionError("too deep")

    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr("viewer.runs.providers.failures.refused", stumbles)
    use_model("anthropic")
    model_service.behaviours = [refuses(400, f"no {KEY}")]
    run = started(chat_store, "anthropic")
    assert (run.status, run.error_code) == ("failed", "model_bad_answer"), run.error_message
    require_no_key(run, chat_store, caplog)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_headers_that_the_environment_adds_go_nowhere(
    provider: str,
    chat_store: HermesStore,
    model_service: ModelService,
    use_model: UseModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SDKs send them to any URL; they are for one service, and may be how its key is given."""
    for sdk in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{sdk}_CUSTOM_HEADERS", f"Authorization: Bearer {KEY}\nX-Gateway-Key: {KEY}")
    use_model(provider, api_key="")
    assert started(chat_store, provider).status == "applied"
    assert KEY not in str(model_service.headers)


def test_an_answer_that_is_packed_is_not_unpacked(
    chat_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    packed = gzip.compress(b"data: {}\n\n" * 2_000_000)
    assert len(packed) < 100_000
    use_model("openai")
    model_service.behaviours = [
        lambda request: request.send(200, "text/event-stream", packed, content_encoding="gzip"),
        lambda request: request.send(401, "application/json", packed, content_encoding="gzip"),
    ]
    assert started(chat_store, "openai").error_code == "model_bad_answer"
    assert started(chat_store, "openai").error_code == "model_unauthorized"


def test_a_model_on_this_machine_is_not_asked_through_a_proxy(
    chat_store: HermesStore,
    model_service: ModelService,
    use_model: UseModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ModelService() as proxy:
        for name in ("HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        use_model("anthropic")
        assert started(chat_store, "anthropic").status == "applied"
        assert (len(proxy.requests), len(model_service.requests)) == (0, 1)
        use_model("anthropic", base_url="http://model.invalid/v1")
        started(chat_store, "anthropic")
        assert len(proxy.requests) == 1
        proxy.shutdown()


@pytest.mark.parametrize("count", [10**400, "12", *slow(float("nan"), -5, 10**12, 1e308, True, [1])])
def test_counts_that_are_none_are_left_out(
    count: Any, chat_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    def behave(request: Request) -> None:
        request.start()
        request.text(NOTES)
        said = {"prompt_tokens": count, "completion_tokens": count}
        choice = {"index": 0, "delta": {}, "finish_reason": "stop"}
        request.event({"id": "1", "model": "some-model", "choices": [choice], "usage": said})
        request.event("[DONE]")

    use_model("openai")
    model_service.behaviours = [behave]
    run = started(chat_store, "openai")
    assert run.status == "applied", run.error_message
    assert run.usage == {"calls": 1, "input_tokens": 0, "output_tokens": 0, "cost": None}


def test_a_service_that_always_wants_a_lower_limit_is_not_followed_for_ever(
    chat_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    def behave(request: Request) -> None:
        refuses(400, f"max_tokens must be at most {request.body['max_tokens'] - 1}")(request)

    use_model("openai")
    model_service.behaviours = [behave]
    assert started(chat_store, "openai").status == "failed"
    assert len(model_service.requests) == 1 + MOST_LESSONS
