"""What every kind of store shows of its sessions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.base import Agent
from tests.agents.talk import FILLING, heard, talk, turn
from tests.store_api import StoreApi, loaded_as_sent

from .conftest import shared

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "\x1b[31mred\x1b[0m \x07 \u202eback\u202c \u2028 \ufeff",
    "'; DROP TABLE messages; -- %s {} {{ x }} {% x %}",
    "👩‍👩‍👧 日本語 ก็ é",
    "one long word " + "x" * 300_000,
)
FORMATS = ("md", "html", "json", "jsonl")


@shared
def test_the_list(agent: Agent, store_api: StoreApi) -> None:
    said = {"first": talk(1, "a"), "second": talk(2, "b")}
    for name, messages in said.items():
        agent.write(name, messages)
    store_api.worker_looks()
    listed = {each["id"]: each for each in store_api.sessions()}
    assert set(listed) == set(said)
    for name, messages in said.items():
        assert (listed[name]["title"], listed[name]["model"]) == (name, "test-model")
        assert listed[name]["messages_live"] == listed[name]["messages_total"] == len(messages)
        assert store_api.api_client.get(store_api.at(name))["messages_live"] == len(messages)
    assert [each["id"] for each in store_api.sessions(q="second")] == ["second"]
    agent.say("first", {"role": "user", "content": "once more"})
    assert [each["id"] for each in store_api.sessions()] == ["first", "second"], "the one that was active last is first"


@shared
def test_windows(agent: Agent, store_api: StoreApi) -> None:
    agent.write("long", talk(8))
    everything = store_api.messages("long")
    items: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        answer = store_api.api_client.get(f"{store_api.at('long')}/messages", limit=7, **cursor)
        assert 0 < len(answer["items"]) <= 7
        items += answer["items"]
        if not answer["next"]:
            break
        cursor = {"cursor": answer["next"]}
    assert sorted(item["id"] for item in items) == [item["id"] for item in everything]
    middle = everything[20]["id"]
    around = store_api.api_client.get(f"{store_api.at('long')}/messages", limit=5, around=middle)["items"]
    assert middle in [item["id"] for item in around] and len(around) <= 5


def test_every_message_once_and_in_order(agent: Agent, store_api: StoreApi) -> None:
    said = talk(5)
    agent.write("s", said)
    assert heard(store_api.messages("s")) == heard(list(said))
    assert [item["tool_calls"] for item in store_api.messages("s")] == [each.get("tool_calls", []) for each in said]
    assert {item["state"] for item in store_api.messages("s")} == {"live"}
    assert store_api.compactions("s") == []


def test_what_the_model_sees_is_what_the_agent_loads(agent: Agent, store_api: StoreApi) -> None:
    agent.write("s", talk(4))
    agent.take_back("s")
    assert heard(store_api.context("s")) == heard(list(talk(3))) and loaded_as_sent(agent, store_api)


def test_what_was_taken_back_is_in_no_history(agent: Agent, store_api: StoreApi) -> None:
    agent.write("s", talk(3))
    agent.take_back("s")
    assert heard(store_api.messages("s")) == heard(list(talk(2)))
    assert len(store_api.messages("s", view="raw")) == len(talk(3 if agent.keeps_taken_back else 2))


def test_rows_of_no_known_version_are_shown_as_they_are(agent: Agent, store_api: StoreApi) -> None:
    agent.write("s", talk(2))
    agent.break_rows("s")
    raw, shown = store_api.messages("s", view="raw"), store_api.messages("s")
    assert len(raw) == len(shown) == len(talk(2))
    assert shown[0]["role"] == "narrator" and shown[0]["content"] == talk(2)[0]["content"]
    assert shown[1]["content"] == "looking0"


def test_the_change_token(agent: Agent, store_api: StoreApi) -> None:
    agent.write("s", talk(2))
    agent.write("other", talk(1))
    seen = [store_api.change_token("s")]
    assert store_api.change_token("s") == seen[0]
    agent.say("other", {"role": "user", "content": "not here"})
    assert store_api.change_token("s") == seen[0]
    agent.say("s", {"role": "user", "content": "here"})
    seen.append(store_api.change_token("s"))
    agent.take_back("s")
    seen.append(store_api.change_token("s"))
    assert len(set(map(str, seen))) == 3


def test_search(agent: Agent, store_api: StoreApi) -> None:
    agent.write("s", [*talk(2), {"role": "user", "content": f"Is it a marmoset? {FILLING}"}])
    agent.write("t", talk(2, "t"))
    (hit,) = store_api.api_client.get(f"/stores/{store_api.store}/search", q="marmoset")["items"]
    assert (hit["session"], hit["id"], hit["role"]) == (agent.id_of("s"), store_api.messages("s")[-1]["id"], "user")
    assert any("marmoset" in piece["text"] for piece in hit["snippet"])
    assert store_api.api_client.get(f"/stores/{store_api.store}/search", q="armadillo")["items"] == []


def test_hostile_content(agent: Agent, store_api: StoreApi) -> None:
    said = [{"role": "user", "content": text} for text in HOSTILE]
    agent.write("s", [message for each in said for message in (each, {"role": "assistant", "content": "ok"})])
    assert [content for role, content in heard(store_api.messages("s")) if role == "user"] == list(HOSTILE)
    assert [content for role, content in heard(store_api.context("s")) if role == "user"] == list(HOSTILE)
    assert [each["id"] for each in store_api.sessions()] == ["s"]
    assert store_api.api_client.get(f"/stores/{store_api.store}/search", q="DROP TABLE")["items"]


@shared
@pytest.mark.parametrize("form", FORMATS)
def test_exports(agent: Agent, store_api: StoreApi, form: str) -> None:
    agent.write("s", [{"role": "user", "content": HOSTILE[0]}, *talk(2)])
    status, text = store_api.export("s", form)
    assert status == 200
    for message in talk(2):
        assert text.count(message["content"].split()[0]) >= 1
    if form == "html":
        assert "<script>alert" not in text


def test_what_is_not_there(agent: Agent, store_api: StoreApi) -> None:
    agent.write("s", turn("one"))
    assert store_api.refusal("GET", store_api.at("nobody")) == "not_found"
    assert store_api.refusal("GET", f"{store_api.at('nobody')}/messages") == "not_found"
    assert store_api.refusal("GET", f"{store_api.at('s')}/messages?around=987654321") == "not_found"


@shared
def test_a_kind_says_what_it_cannot_do(agent: Agent, store_api: StoreApi) -> None:
    agent.write("s", talk(12))
    session = store_api.api_client.get(store_api.at("s"))
    assert session["can_compact"] is agent.can_compact
    assert bool(session["compact_reason"]) is not agent.can_compact
    if agent.can_compact:
        return
    before = agent.rows()
    assert store_api.refusal("POST", f"{store_api.at('s')}/plan") == "store_read_only"
    assert store_api.refusal("POST", f"{store_api.at('s')}/runs", {"apply": True}) == "store_read_only"
    assert agent.rows() == before
