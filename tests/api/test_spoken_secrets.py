"""A secret that somebody only names goes into no summary, handoff or export, nor to a model; nor one in the focus."""

from __future__ import annotations

import pytest
from django.test import Client

import compaction
from compaction.llm.prompt import prompt_of
from tests.clients import ApiClient
from tests.factories.stores import HermesStore

SAID = "Never use password hunter2 in prod."
FOCUS = "the refund; never use password swordfish7 in prod"


def messages() -> list[dict[str, str]]:
    words = [f"Message {at}. {SAID if at == 8 else ''} " + f"Ticket {at} is about a refund. " * 40 for at in range(40)]
    return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(words)]


@pytest.mark.usefixtures("at_once")
def test_a_named_secret_is_kept_nowhere_but_in_its_message(
    hermes_store: HermesStore, api_client: ApiClient, client: Client
) -> None:
    status, made = api_client.call("POST", "/stores/hermes/sessions", {"model": "gpt-5", "messages": messages()})
    assert status == 201
    path = f"/stores/hermes/sessions/{made['id']}"
    status, run = api_client.call("POST", f"{path}/runs", {"apply": True, "keep_last": 4, "focus": FOCUS})
    assert (status, run["status"]) == (202, "applied"), run
    wanted = "SELECT content FROM messages WHERE session_id = ? AND content LIKE '%CONTEXT SUMMARY%'"
    handoffs = hermes_store.rows(wanted, made["id"])
    exported = client.get(f"/api/v1{path}/export?format=md", headers={"Authorization": f"Bearer {api_client.token}"})
    for text in (run["summary"], handoffs[0][0], b"".join(exported).decode()):
        assert "hunter2" not in text and "swordfish7" not in text
    assert "[REDACTED]" in run["summary"] and "Focus: the refund; never use password [REDACTED]" in run["summary"]


def test_a_model_is_sent_no_named_secret() -> None:
    policy = compaction.Policy(context_window=8_000, focus=FOCUS, keep_last=4, handoff="hermes")
    asked: list[str] = []

    def ask(request: compaction.SummaryRequest) -> str:
        prompt = prompt_of(request)
        asked.append(f"{prompt.system} {prompt.user}")
        return "## Goal\n- A refund."

    plan = compaction.plan(messages(), policy, lambda text: len(text) // 4)
    compaction.summarize(plan, ask)
    assert asked and all("hunter2" not in text and "swordfish7" not in text for text in asked)
    assert "never use password [REDACTED]" in asked[0]
