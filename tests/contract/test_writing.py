"""What every kind of store that can be compacted does when it is, and what becomes of its messages."""

from __future__ import annotations

import time
from typing import Any

import pytest

from compaction.handoff import PUT_BACK_START
from tests.agents.base import Agent
from tests.agents.talk import heard, talk, turn
from tests.slow import slow
from tests.store_api import StoreApi, loaded_as_sent

from .conftest import BY_HAND, COMPACTED, UNLIKE, shared_by_compacted

each_kind = pytest.mark.parametrize("agent", COMPACTED, indirect=True)
each_unlike = pytest.mark.parametrize("agent", UNLIKE, indirect=True)

TURNS = 8
ASKED = {"role": "user", "content": "What came meanwhile?"}
ANSWERED = {"role": "assistant", "content": "This did."}


@pytest.fixture
def said(agent: Agent) -> list[Any]:
    """The messages of the session "s"."""
    messages = talk(TURNS)
    agent.write("s", messages)
    return heard(list(messages))


@shared_by_compacted
def test_a_plan_has_each_message_once_and_writes_nothing(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    before = agent.rows()
    plan = store_api.api_client.call("POST", f"{store_api.at('s')}/plan", {"keep_last": 6})[1]
    planned = [row_id for part in ("head", "middle", "tail") for row_id in plan[part]["ids"]]
    assert planned == [item["id"] for item in store_api.messages("s")]
    assert bool(plan["head"]["count"]) is agent.keeps_start
    assert plan["middle"]["count"] and plan["tail"]["count"] >= 6
    assert plan["tokens_after_estimate"] < plan["tokens_before"]
    assert agent.rows() == before


@each_kind
def test_a_compaction(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    run = store_api.compact("s")
    assert run["session_id"] == agent.id_of("s")
    shown = [item for item in store_api.messages("s") if item["kind"] == "message"]
    assert heard(shown) == said, "each message once, where it was, word for word"
    (boundary,) = store_api.compactions("s")
    assert boundary["run"] == run["id"] and boundary["undoable"]
    states = {item["id"]: item["state"] for item in shown}
    assert {row_id for row_id, state in states.items() if state == "under"} == set(boundary["summarised_ids"])
    assert {row_id for row_id, state in states.items() if state == "live"} == set(boundary["kept_ids"])
    assert len(boundary["summarised_ids"]) + len(boundary["kept_ids"]) == len(said)
    assert (boundary["messages_before"], boundary["messages_after"]) == (len(said), len(boundary["kept_ids"]) + 1)
    sent = heard(store_api.context("s"))
    assert len(sent) == boundary["messages_after"] and sent[-6:] == said[-6:]
    live = store_api.messages("s", view="live")
    summary = [item["kind"] for item in live].index("handoff")
    in_order = [*heard(live[:summary]), sent[summary], *heard(live[summary + 1 :])]
    assert in_order == sent, "as it is sent"
    assert loaded_as_sent(agent, store_api)


@shared_by_compacted
def test_the_agent_goes_on(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    store_api.compact("s")
    more = turn("next")
    for message in more:
        agent.say("s", message)
    assert heard(store_api.context("s"))[-len(more) :] == heard(list(more))
    assert [each for each in store_api.messages("s") if each["kind"] == "message"][-1]["content"] == more[-1]["content"]
    assert loaded_as_sent(agent, store_api)


@each_unlike
def test_a_second_compaction_on_top(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    first = store_api.compact("s")
    more = talk(TURNS, "more")
    for message in more:
        agent.say("s", message)
    second = store_api.compact("s")
    assert [each["run"] for each in store_api.compactions("s")] == [first["id"], second["id"]]
    shown = [item for item in store_api.messages("s") if item["kind"] == "message"]
    assert heard(shown) == [*said, *heard(list(more))]
    assert store_api.refusal("POST", f"/runs/{first['id']}/undo") == "not_undoable"
    assert loaded_as_sent(agent, store_api)


@pytest.mark.parametrize("agent", slow(*BY_HAND), indirect=True)
def test_later_compactions_leave_what_one_did_as_it_was(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    def told() -> dict[str, Any]:
        """What is said of the first compaction, but that it can be undone."""
        return {name: value for name, value in store_api.compactions("s")[0].items() if name != "undoable"}

    store_api.compact("s")
    first = told()
    for message in talk(TURNS, "more"):
        agent.say("s", message)
    assert told() == first
    prune = {"apply": True, "strategy": "prune"}
    if not agent.shortens:
        assert store_api.refusal("POST", f"{store_api.at('s')}/runs", prune) == "store_read_only"
    else:
        run = store_api.run("s", **prune)
        assert run["status"] == "applied"
        newest = store_api.compactions("s")[-1]
        assert newest["run"] == run["id"] and newest["summarised_ids"] == [] and newest["shortened_ids"]
        assert newest["messages_after"] == newest["messages_before"] + 1 and told() == first
    store_api.compact("s")
    assert told() == first


@shared_by_compacted
def test_what_comes_meanwhile_stays_behind(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    run = store_api.run("s", apply=False)
    assert run["status"] == "ready"
    for message in (ASKED, ANSWERED):
        agent.say("s", message)
    store_api.api_client.call("POST", f"/runs/{run['id']}/apply")
    assert store_api.run_now(run["id"])["status"] == "applied"
    late = heard([ASKED, ANSWERED])
    assert heard(store_api.context("s"))[-2:] == late and loaded_as_sent(agent, store_api)
    store_api.api_client.call("POST", f"/runs/{run['id']}/undo")
    assert heard(store_api.context("s")) == [*said, *late] and loaded_as_sent(agent, store_api)


@each_kind
def test_what_changed_under_us_is_a_conflict(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    run = store_api.run("s", apply=False)
    agent.take_back("s")
    before = agent.rows()
    assert store_api.refusal("POST", f"/runs/{run['id']}/apply") == "compaction_conflict"
    assert store_api.run_now(run["id"])["status"] == "conflict"
    assert agent.rows() == before
    store_api.compact("s")
    assert loaded_as_sent(agent, store_api)


@each_unlike
@pytest.mark.slow
def test_what_changed_while_a_writer_was_about_to_commit(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    """The rows are compared within the commit's transaction, too."""
    before: list[Any] = []

    def meanwhile() -> None:
        agent.overwrite("s")
        before.extend(agent.rows())

    assert store_api.written(agent.url, "s", "never", meanwhile) == "compaction_conflict"
    assert agent.rows() == before
    assert store_api.written(agent.url, "s", "never", lambda: agent.say("s", ASKED)) == ""
    assert heard(store_api.context("s"))[-1] == heard([ASKED])[0] and loaded_as_sent(agent, store_api)


@each_kind
def test_while_somebody_else_compacts(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    before = agent.rows()
    with agent.compacting("s"):
        assert store_api.refusal("POST", f"{store_api.at('s')}/runs", {"apply": True}) == "session_busy"
        assert store_api.api_client.call("POST", f"{store_api.at('s')}/plan", {})[1]["busy"]["lock"]
    assert agent.rows() == before
    store_api.compact("s")


@each_kind
def test_undo(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    before = agent.load("s")
    run = store_api.compact("s")
    status, undone = store_api.api_client.call("POST", f"/runs/{run['id']}/undo")
    assert (status, undone["status"]) == (200, "undone")
    assert agent.load("s") == before and heard(store_api.context("s")) == said
    assert store_api.compactions("s") == []
    assert heard(store_api.messages("s")) == said and {each["state"] for each in store_api.messages("s")} == {"live"}
    again = store_api.compact("s")
    assert [each["run"] for each in store_api.compactions("s")] == [again["id"]]
    assert store_api.refusal("POST", f"/runs/{run['id']}/undo") == "not_undoable"


@each_kind
def test_redo(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    run = store_api.compact("s")
    redo, short = f"/runs/{run['id']}/redo", agent.load("s")
    assert store_api.refusal("POST", redo) == "not_redoable"
    store_api.api_client.call("POST", f"/runs/{run['id']}/undo")
    agent.say("s", ASKED)
    before = agent.rows()
    if not agent.redoes:
        assert store_api.refusal("POST", redo) == "not_redoable" and agent.rows() == before
        assert store_api.run_now(run["id"])["status"] == "undone"
        return
    with agent.compacting("s"):
        assert store_api.refusal("POST", redo) == "session_busy" and agent.rows() == before
    status, redone = store_api.api_client.call("POST", redo)
    assert (status, redone["status"], redone["undoable"]) == (200, "applied", True)
    assert agent.load("s") == [*short, *heard([ASKED])] and loaded_as_sent(agent, store_api)
    (boundary,) = store_api.compactions("s")
    assert boundary["run"] == run["id"] and boundary["undoable"]
    assert store_api.refusal("POST", redo) == "not_redoable"
    store_api.api_client.call("POST", f"/runs/{run['id']}/undo")
    assert heard(store_api.context("s")) == [*said, *heard([ASKED])]
    later = store_api.compact("s")
    assert store_api.refusal("POST", redo) == "not_redoable"
    assert [each["run"] for each in store_api.compactions("s")] == [later["id"]]


@shared_by_compacted
def test_undo_keeps_what_was_said_and_taken_back_since(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    run = store_api.compact("s")
    for message in (*turn("kept"), ASKED, ANSWERED):
        agent.say("s", message)
    agent.take_back("s")
    store_api.api_client.call("POST", f"/runs/{run['id']}/undo")
    assert heard(store_api.context("s")) == [*said, *heard(list(turn("kept")))]
    assert loaded_as_sent(agent, store_api)


@each_unlike
@pytest.mark.slow
@pytest.mark.parametrize("moment", ["inside", "behind"])
def test_a_writer_that_is_killed(agent: Agent, store_api: StoreApi, said: list[Any], moment: str) -> None:
    store_api.written(agent.url, "s", moment)
    shown = [item for item in store_api.messages("s") if item["kind"] == "message"]
    assert heard(shown) == said
    assert len(store_api.compactions("s")) == (moment == "behind")
    assert loaded_as_sent(agent, store_api)
    assert len(agent.load("s")) == (
        len(said) if moment == "inside" else store_api.compactions("s")[0]["messages_after"]
    )
    for message in talk(TURNS, "more"):
        agent.say("s", message)
    store_api.compact("s")  # what the dead writer held is nobody's
    assert len(store_api.compactions("s")) == 1 + (moment == "behind")


@shared_by_compacted
def test_what_is_kept_is_word_for_word(agent: Agent, store_api: StoreApi) -> None:
    hostile = [
        {"role": "user", "content": "<b>&amp;</b> \x1b[1m 👩‍👩‍👧 \u2028 %s '; --"},
        {"role": "assistant", "content": "  spaces around  \n\n"},
    ]
    agent.write("s", [*talk(TURNS), *hostile])
    before = agent.load("s")[-2:]
    run = store_api.compact("s")
    assert agent.load("s")[-2:] == before and loaded_as_sent(agent, store_api)
    store_api.api_client.call("POST", f"/runs/{run['id']}/undo")
    assert agent.load("s")[-2:] == before


@each_kind
def test_append_and_create(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    if not agent.writes_messages:
        before = agent.rows()
        assert store_api.refusal("POST", f"{store_api.at('s')}/messages", {"messages": [ASKED]}) == "store_read_only"
        assert (
            store_api.refusal("POST", f"/stores/{store_api.store}/sessions", {"messages": [ASKED]}) == "store_read_only"
        )
        assert agent.rows() == before
        return
    status, _ = store_api.api_client.call("POST", f"{store_api.at('s')}/messages", {"messages": [ASKED, ANSWERED]})
    assert status == 201
    assert agent.load("s")[-2:] == heard([ASKED, ANSWERED])
    status, made = store_api.api_client.call(
        "POST", f"/stores/{store_api.store}/sessions", {"title": "made", "messages": [ASKED]}
    )
    assert status == 201 and agent.load(made["id"]) == heard([ASKED])


@each_kind
def test_put_back_and_undone(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    store_api.compact("s")
    away = next(item for item in store_api.messages("s") if item["state"] == "under" and item["content"])
    before, rows, asked = agent.load("s"), agent.rows(), {"messages": [away["id"]]}
    path = f"{store_api.at('s')}/put-back"
    if not agent.writes_messages:
        assert store_api.refusal("POST", path, asked) == "store_read_only"
        assert store_api.refusal("DELETE", f"{path}/{away['id']}", {}) == "store_read_only"
        assert agent.rows() == rows
        return
    shown = store_api.messages("s")
    status, made = store_api.api_client.call("POST", path, asked)
    assert status == 201
    loaded = agent.load("s")
    assert loaded[:-1] == before and PUT_BACK_START in str(loaded[-1])
    assert store_api.refusal("POST", path, asked) == "in_context"
    assert store_api.api_client.call("DELETE", f"{path}/{made['id']}")[0] == 200
    assert agent.load("s") == before and store_api.messages("s") == shown


@each_kind
def test_branch_and_rename(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    agent.write("made", [ASKED])
    before = agent.rows()
    if agent.branches:
        status, branch = store_api.api_client.call("POST", f"{store_api.at('s')}/branches", {})
        assert status == 201 and agent.load(branch["id"]) == agent.load("s")
    else:
        assert (
            store_api.refusal("POST", f"{store_api.at('s')}/branches", {}) == "store_read_only"
            and agent.rows() == before
        )
    if not agent.renames:
        before = agent.rows()
        assert store_api.refusal("PATCH", store_api.at("s"), {"title": "renamed"}) == "store_read_only"
        assert agent.rows() == before
        return
    status, renamed = store_api.api_client.call("PATCH", store_api.at("s"), {"title": "renamed"})
    assert (status, renamed["title"]) == (200, "renamed")
    if agent.unique_titles:
        assert store_api.refusal("PATCH", store_api.at("made"), {"title": "renamed"}) == "title_taken"


@shared_by_compacted
def test_list_and_session_agree_on_what_is_active(agent: Agent, store_api: StoreApi, said: list[Any]) -> None:
    """Also where a clock was wrong: a time that is yet to come tells nothing."""
    late = {"role": "user", "content": "later", "timestamp": time.time() + 3_600}
    assert store_api.api_client.get(store_api.at("s"))["active"] is True
    if not agent.writes_messages:
        return
    assert store_api.api_client.call("POST", f"{store_api.at('s')}/messages", {"messages": [late]})[0] == 201
    store_api.worker_looks()
    (listed,) = store_api.sessions()
    assert listed["active"] is store_api.api_client.get(store_api.at("s"))["active"] is False
