"""Summaries that are made in parts, because the model's window is small: over real HTTP, broken off at every point."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

import compaction
from compaction.llm.digest import Finished
from tests.factories.stores import HermesStore
from tests.model_services import KEY, NOTES, Behaviour, ModelService, answers, refuses, stalls
from tests.runs.model_runs import UseModel
from tests.slow import slow
from viewer.runs import job, recovery, service
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.runs.progress import Progress
from viewer.runs.providers import limits

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
ROOT = Path(__file__).resolve().parents[2]
WINDOW = 15_000  # tokens: the session's middle is read in four parts
PARTS = 4
PATIENCE = 180.0


def notes(part: int) -> str:
    return NOTES.replace("What is to be said", f"Part {part} says", 1)


def in_parts(*broken: tuple[int, Behaviour]) -> list[Behaviour]:
    """A good answer to each part, but for those that are broken."""
    made = [answers(notes(part)) for part in range(1, PARTS + 1)]
    for part, behaviour in broken:
        made[part - 1] = behaviour
    return made


def start(chat_store: HermesStore, **options: Any) -> Run:
    return service.start(chat_store.store, chat_store.session_id, Options(summarizer="openai", **options), apply=True)


def parts_of(model_service: ModelService) -> list[tuple[int, int]]:
    """Which part of how many each request asked for."""
    found = [re.search(r"This is part (\d+) of (\d+) of the transcript", prompt) for prompt in model_service.prompts()]
    return [(int(match[1]), int(match[2])) for match in found if match]


@pytest.fixture
def parts(model_service: ModelService, use_model: UseModel) -> ModelService:
    """A model with a small window that answers each part."""
    use_model("openai", window=WINDOW)
    model_service.behaviours = in_parts()
    return model_service


def test_each_part_carries_the_notes_so_far(
    chat_store: HermesStore, parts: ModelService, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    report = Progress.report

    def reporting(progress: Progress) -> None:
        report(progress)
        told.append(progress._hold.run.progress["sentence"])

    monkeypatch.setattr(Progress, "report", reporting)
    run = start(chat_store)
    assert (run.status, run.error_message, run.summary, run.chunks) == ("applied", "", notes(PARTS), [])
    assert parts_of(parts) == [(part, PARTS) for part in range(1, PARTS + 1)]
    for part, prompt in enumerate(parts.prompts(), 1):
        assert [f"Part {other} says" in prompt for other in range(1, PARTS + 1)] == [
            other == part - 1 for other in range(1, PARTS + 1)
        ]
    assert run.usage["calls"] == PARTS
    assert all(any(f"Part {part} of {PARTS}." in sentence for sentence in told) for part in range(1, PARTS + 1))


@pytest.mark.parametrize("model", ["gpt-4o", *slow("some-model")])
@pytest.mark.parametrize("window", [8_192, *slow(6_500, 16_000, 32_000, 128_000)])
def test_every_request_fits_the_window(
    window: int, model: str, chat_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    use_model("openai", window=window, model=model)
    start(chat_store)
    count = compaction.counter_for("gpt-4o")
    share = limits.EXACT_SHARE if model == "gpt-4o" else limits.ESTIMATED_SHARE
    assert model_service.requests
    for body in model_service.requests:
        read = sum(count(message["content"]) for message in body["messages"])
        asked = re.search(r"Use at most ([\d,]+) tokens", body["messages"][1]["content"])
        assert asked
        assert read / share + body["max_tokens"] <= window
        assert body["max_tokens"] >= int(asked[1].replace(",", "")) * 1.5 / share - 1


def test_a_window_too_small_asks_nothing(
    chat_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    use_model("openai", window=2_048)
    run = start(chat_store)
    assert (run.status, run.error_code, model_service.requests) == ("failed", "summary_window_too_small", [])


@pytest.mark.parametrize(
    ("first", "code"), [(refuses(401), "model_unauthorized"), (answers("No."), "summary_no_sections")]
)
def test_after_a_failure_only_the_rest_is_asked_for(
    first: Behaviour, code: str, chat_store: HermesStore, parts: ModelService
) -> None:
    parts.behaviours = in_parts((3, first))
    failed = start(chat_store)
    assert (failed.status, failed.error_code, len(failed.chunks), failed.usage["calls"] >= 2) == (
        "failed",
        code,
        2,
        True,
    )
    assert [part for part, _ in parts_of(parts)] == [1, 2, 3]

    parts.requests.clear()
    parts.behaviours = in_parts()[2:]
    run = start(chat_store)
    assert (run.status, run.summary, run.chunks) == ("applied", notes(PARTS), [])
    assert parts_of(parts) == [(3, PARTS), (4, PARTS)]
    assert "Part 2 says" in parts.prompts()[0]


def test_parts_of_another_model_are_not_taken_over(
    chat_store: HermesStore, parts: ModelService, use_model: UseModel
) -> None:
    parts.behaviours = in_parts((3, refuses(401)))
    assert len(start(chat_store).chunks) == 2
    parts.requests.clear()
    parts.behaviours = in_parts()
    use_model("openai", window=WINDOW, model="another")
    assert start(chat_store).status == "applied"
    assert [part for part, _ in parts_of(parts)] == [1, 2, 3, 4]


@pytest.mark.slow
def test_a_worker_killed_between_parts_is_followed_by_one_that_goes_on(
    chat_store: HermesStore, parts: ModelService, settings: Settings
) -> None:
    parts.behaviours = in_parts((3, stalls()))
    settings.AT_ONCE = False
    run = start(chat_store)
    worker = subprocess.Popen(
        [sys.executable, "manage.py", "worker"],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
        env=os.environ | {
            "PALIMPSEST_DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}",
            "PALIMPSEST_STORES": f"hermes={chat_store.store.url}",
            "PALIMPSEST_OPENAI_MODEL": "some-model",
            "PALIMPSEST_OPENAI_URL": f"{parts.url}/v1",
            "PALIMPSEST_OPENAI_KEY": KEY,
            "PALIMPSEST_OPENAI_WINDOW": str(WINDOW),
        },
    )  # fmt: skip
    try:
        until = time.monotonic() + PATIENCE
        while len(parts.requests) < 3:
            assert time.monotonic() < until, service.get_run(run.pk).error_message
            time.sleep(0.05)
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    assert parts.left.wait(PATIENCE)

    parts.requests.clear()
    parts.behaviours = in_parts()[2:]
    settings.AT_ONCE = True
    assert recovery.recover(service.get_run(run.pk))
    run.refresh_from_db()
    assert (run.status, run.attempts, run.summary) == ("applied", 2, notes(PARTS))
    assert parts_of(parts) == [(3, PARTS), (4, PARTS)]
    assert run.usage["calls"] == PARTS
    assert chat_store.holders("compression_locks") == []


def test_cancelled_between_parts_nothing_more_is_asked(
    chat_store: HermesStore, parts: ModelService, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished = Progress.finished

    def cancel_after_two(progress: Progress, part: Finished) -> None:
        finished(progress, part)
        if len(progress._hold.run.chunks) == 2:
            service.cancel(service.get_run(progress._hold.run.pk))

    monkeypatch.setattr(Progress, "finished", cancel_after_two)
    run = service.prepare(chat_store.store, chat_store.session_id, Options(summarizer="openai"), apply=True)
    before = chat_store.live()
    job.compact(run.pk)
    run.refresh_from_db()
    assert (run.status, len(run.chunks), len(parts.requests)) == ("cancelled", 2, 2)
    assert chat_store.live() == before and chat_store.holders("compression_locks") == []


def test_parts_of_a_summary_that_is_too_large_are_not_kept(
    chat_store: HermesStore, model_service: ModelService, use_model: UseModel
) -> None:
    chat_store.rows("DELETE FROM messages WHERE id > 26")
    use_model("openai", window=WINDOW)
    model_service.behaviours = [answers(NOTES + "\n- word word word word" * 440)]
    run = start(chat_store)
    assert (run.status, run.error_code, run.chunks) == ("failed", "summary_not_smaller", [])
    model_service.behaviours = [answers()]
    assert start(chat_store).status == "applied"
    assert len(model_service.requests) == 2
