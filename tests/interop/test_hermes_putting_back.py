"""*Put back* into a session of the real Hermes: its next request has the quotation; after the undo it is gone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from compaction.handoff import PUT_BACK_START
from tests.agents.hermes.model import Model
from tests.agents.hermes.real import Hermes
from tests.clients import ApiClient

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]

SESSION = "20261127_100000_aaaaaa"
PATH = f"/stores/hermes/sessions/{SESSION}"
LONG = "All that is known of this bed is written here, in many words. " * 30


def asked(hermes: Hermes, model: Model, text: str) -> list[dict[str, Any]]:
    """The messages of a turn's request; its title is asked for in another, shorter one."""
    model.reply = "Noted."
    hermes.turn(text)
    requests: list[list[dict[str, Any]]] = [
        each["messages"] for each in model.requests if text in str(each["messages"][-1]["content"])
    ]
    return max(requests, key=len)


def pairs(messages: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """The ids of the calls and of the results."""
    calls = [call["id"] for each in messages for call in each.get("tool_calls") or ()]
    return calls, [each["tool_call_id"] for each in messages if each["role"] == "tool"]


def test_the_next_request_has_it_and_after_the_undo_it_is_gone(
    hermes: Hermes, database: Path, model: Model, settings: Settings, api_client: ApiClient
) -> None:
    settings.STORES = {"hermes": f"sqlite:///{database}"}
    hermes.create_session(SESSION, "cli", model="test-model")
    for at in range(14):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "terminal", "arguments": "{}"}}
        hermes.append(SESSION, "user", f"Question {at}: ticket T-{4000 + at}")
        hermes.append(SESSION, "assistant", "", tool_calls=[call])
        hermes.append(SESSION, "tool", f"Bed {at}. {LONG}", tool_call_id=f"c{at}", tool_name="terminal")
        hermes.append(SESSION, "assistant", f"Answer {at}: see /srv/x-{at}.txt. {LONG}")
    status, run = api_client.call("POST", f"{PATH}/runs", {"apply": True, "summarizer": "offline"})
    assert (status, run["status"]) == (202, "applied"), run

    items = api_client.get(f"{PATH}/messages", limit=200)["items"]
    away = next(each for each in items if each["state"] == "under" and each["role"] == "assistant" and each["content"])
    quoted = away["content"].strip()
    hermes.resume(SESSION)
    before = asked(hermes, model, "Go on.")
    assert quoted not in json.dumps(before)

    status, answer = api_client.call("POST", f"{PATH}/put-back", {"messages": [away["id"]]})
    assert status == 201, answer
    hermes.resume(SESSION)
    sent = asked(hermes, model, "And now?")
    assert sum(quoted in str(each["content"]) and PUT_BACK_START in str(each["content"]) for each in sent) == 1
    assert pairs(sent) == pairs(before) and pairs(sent)[0] == pairs(sent)[1] != []

    before_undo = hermes.session(SESSION)
    assert api_client.call("DELETE", f"{PATH}/put-back/{answer['id']}")[0] == 200
    after_undo = hermes.session(SESSION)
    assert after_undo["message_count"] == sum(row["active"] for row in hermes.rows(SESSION))
    assert after_undo["rewind_count"] == (before_undo["rewind_count"] or 0) + 1
    hermes.resume(SESSION)
    sent = asked(hermes, model, "And then?")
    assert quoted not in json.dumps(sent) and PUT_BACK_START not in json.dumps(sent)
    assert any("And now?" in str(each["content"]) for each in sent), "what was said meanwhile stays"
    assert pairs(sent) == pairs(before)
    said = [each["content"] for each in api_client.get(f"{PATH}/messages", limit=200)["items"]]
    assert not any(PUT_BACK_START in str(each) for each in said)
    assert hermes.search("quotations") == []
