"""A run whose summary a real language model writes, on this machine: a very small one, so its text may be refused."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from compaction.sections import INTENT
from tests.factories.stores import HermesStore
from tests.runs.small_model import served
from viewer.runs import service
from viewer.runs.planning import Options
from viewer.runs.providers import limits

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once"), pytest.mark.slow]
WINDOW = 6_144  # tokens, of the 8,192 the model can
# A model of this size cannot do much: that it wrote something is all that is certain.
REFUSED = ("summary_cut_off", "summary_no_sections", "summary_too_long", "summary_not_smaller", "summary_refusal")
TALK = [
    "Please rename report.txt to report-2026.txt. Never delete anything in /srv/reports.",
    "I renamed /srv/reports/report.txt to /srv/reports/report-2026.txt. Nothing was deleted.",
    "Thanks. Which other files are there?",
    "There are three files: report-2026.txt (48 kB), summary.csv (2 kB) and logo.png (310 kB).",
    "Convert summary.csv to JSON and keep the CSV.",
    "I wrote /srv/reports/summary.json with 118 records. The CSV is still there.",
    "Does the JSON open in the dashboard?",
    "The dashboard answered: ERROR 422, field 'amount' must be a number. 4 of the 118 records have an empty amount.",
    "Use 0 for those four and tell me which they are.",
    "Records 17, 42, 43 and 101 had no amount. They are 0 now, and the dashboard took the file.",
]


@pytest.fixture
def talk(hermes_store: HermesStore) -> HermesStore:
    """A short session of its own in a real database."""
    hermes_store.rows(
        "INSERT INTO sessions (id, source, model, started_at, title) VALUES ('talk', 'cli', 'm', 1, 'Reports')"
    )
    made = HermesStore(hermes_store.store, hermes_store.path, "talk")
    for number, text in enumerate(TALK * 2):
        made.append(text, "assistant" if number % 2 else "user")
    return made


def test_it_is_written_or_refused_with_the_reason(
    talk: HermesStore, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "THINKING_TOKENS", 0)  # it does not think; what it repeats without end is cut earlier
    settings.MODEL_TIMEOUT = 300  # it takes seconds where nothing else runs
    before = talk.live()
    with served(WINDOW) as address:
        model = {"model": "smollm2", "base_url": f"{address}/v1", "api_key": "", "window": WINDOW}
        settings.MODELS = settings.MODELS | {"openai": model}
        run = service.start(talk.store, talk.session_id, Options(summarizer="openai"), apply=True)

    assert run.usage["calls"] == 1 and run.usage["input_tokens"] > 500 and run.usage["output_tokens"] > 0
    if run.status == "applied":
        assert f"## {INTENT}" in run.summary and len(talk.live()) < len(before)
    else:
        assert (run.status, run.error_code in REFUSED) == ("failed", True), run.error_message
        assert run.error_message and talk.live() == before
    assert talk.holders("compression_locks") == []
    print(f"\n{run.status} {run.error_code}: {run.error_message}\n{run.usage}\n{run.summary}")
