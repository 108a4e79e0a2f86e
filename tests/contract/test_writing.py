"""What every kind of store that can be compacted does when it is, and what becomes of its messages."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.agents.base import Agent
from tests.agents.talk import heard, talk, turn
from tests.contract.site import loaded_as_sent

from .conftest import COMPACTED
from .site import Site

pytestmark = pytest.mark.parametrize("agent", COMPACTED, indirect=True)

TURNS = 16
ASKED = {"role": "user", "content": "What came meanwhile?"}
ANSWERED = {"role": "assistant", "content": "This did."}


@pytest.fixture
def said(agent: Agent) -> list[Any]:
    """The messages of the session "s"."""
    messages = talk(TURNS)
    agent.write("s", messages)
    return heard(list(messages))


def test_a_plan_has_each_message_once_and_writes_nothing(agent: Agent, site: Site, said: list[Any]) -> None:
    before = agent.rows()
    plan = site.tool.call("POST", f"{site.at('s')}/plan", {"keep_last": 6})[1]
    planned = [row_id for part in ("head", "middle", "tail") for row_id in plan[part]["ids"]]
    assert planned == [item["id"] for item in site.messages("s")]
    assert bool(plan["head"]["count"]) is agent.keeps_start
    assert plan["middle"]["count"] and plan["tail"]["count"] >= 6
    assert plan["tokens_after_estimate"] < plan["tokens_before"]
    assert agent.rows() == before


def test_a_compaction(agent: Agent, site: Site, said: list[Any]) -> None:
    run = site.compact("s")
    assert run["session_id"] == agent.id_of("s")
    shown = [item for item in site.messages("s") if item["kind"] == "message"]
    assert heard(shown) == said, "each message once, where it was, word for word"
    (boundary,) = site.compactions("s")
    assert boundary["run"] == run["id"] and boundary["undoable"]
    states = {item["id"]: item["state"] for item in shown}
    assert {row_id for row_id, state in states.items() if state == "under"} == set(boundary["summarised_ids"])
    assert {row_id for row_id, state in states.items() if state == "live"} == set(boundary["kept_ids"])
    assert len(boundary["summarised_ids"]) + len(boundary["kept_ids"]) == len(said)
    assert (boundary["messages_before"], boundary["messages_after"]) == (len(said), len(boundary["kept_ids"]) + 1)
    sent = heard(site.context("s"))
    assert len(sent) == boundary["messages_after"] and sent[-6:] == said[-6:]
    live = site.messages("s", view="live")
    summary = [item["kind"] for item in live].index("handoff")
    in_order = [*heard(live[:summary]), sent[summary], *heard(live[summary + 1 :])]
    assert in_order == sent, "as it is sent"
    assert loaded_as_sent(agent, site)


def test_the_agent_goes_on(agent: Agent, site: Site, said: list[Any]) -> None:
    site.compact("s")
    more = turn("next")
    for message in more:
        agent.say("s", message)
    assert heard(site.context("s"))[-len(more) :] == heard(list(more))
    assert [each for each in site.messages("s") if each["kind"] == "message"][-1]["content"] == more[-1]["content"]
    assert loaded_as_sent(agent, site)


def test_a_second_compaction_on_top(agent: Agent, site: Site, said: list[Any]) -> None:
    first = site.compact("s")
    more = talk(TURNS, "more")
    for message in more:
        agent.say("s", message)
    second = site.compact("s")
    assert [each["run"] for each in site.compactions("s")] == [first["id"], second["id"]]
    shown = [item for item in site.messages("s") if item["kind"] == "message"]
    assert heard(shown) == [*said, *heard(list(more))]
    assert site.refusal("POST", f"/runs/{first['id']}/undo") == "not_undoable"
    assert loaded_as_sent(agent, site)


def test_later_compactions_leave_what_one_did_as_it_was(agent: Agent, site: Site, said: list[Any]) -> None:
    def told() -> dict[str, Any]:
        """What is said of the first compaction, but that it can be undone."""
        return {name: value for name, value in site.compactions("s")[0].items() if name != "undoable"}

    site.compact("s")
    first = told()
    for message in talk(TURNS, "more"):
        agent.say("s", message)
    assert told() == first
    prune = {"apply": True, "strategy": "prune"}
    if not agent.shortens:
        assert site.refusal("POST", f"{site.at('s')}/runs", prune) == "store_read_only"
    else:
        run = site.run("s", **prune)
        assert run["status"] == "applied"
        newest = site.compactions("s")[-1]
        assert newest["run"] == run["id"] and newest["summarised_ids"] == [] and newest["shortened_ids"]
        assert newest["messages_after"] == newest["messages_before"] + 1 and told() == first
    site.compact("s")
    assert told() == first


def test_what_comes_meanwhile_stays_behind(agent: Agent, site: Site, said: list[Any]) -> None:
    run = site.run("s", apply=False)
    assert run["status"] == "ready"
    for message in (ASKED, ANSWERED):
        agent.say("s", message)
    site.tool.call("POST", f"/runs/{run['id']}/apply")
    assert site.run_now(run["id"])["status"] == "applied"
    late = heard([ASKED, ANSWERED])
    assert heard(site.context("s"))[-2:] == late and loaded_as_sent(agent, site)
    site.tool.call("POST", f"/runs/{run['id']}/undo")
    assert heard(site.context("s")) == [*said, *late] and loaded_as_sent(agent, site)


def test_what_changed_under_us_is_a_conflict(agent: Agent, site: Site, said: list[Any]) -> None:
    run = site.run("s", apply=False)
    agent.take_back("s")
    before = agent.rows()
    assert site.refusal("POST", f"/runs/{run['id']}/apply") == "compaction_conflict"
    assert site.run_now(run["id"])["status"] == "conflict"
    assert agent.rows() == before
    site.compact("s")
    assert loaded_as_sent(agent, site)


def test_what_changed_while_a_writer_was_about_to_commit(agent: Agent, site: Site, said: list[Any]) -> None:
    """The rows are compared within the commit's transaction, too."""
    before: list[Any] = []

    def meanwhile() -> None:
        agent.overwrite("s")
        before.extend(agent.rows())

    assert site.written(agent.url, "s", "never", meanwhile) == "compaction_conflict"
    assert agent.rows() == before
    assert site.written(agent.url, "s", "never", lambda: agent.say("s", ASKED)) == ""
    assert heard(site.context("s"))[-1] == heard([ASKED])[0] and loaded_as_sent(agent, site)


def test_while_somebody_else_compacts(agent: Agent, site: Site, said: list[Any]) -> None:
    before = agent.rows()
    with agent.compacting("s"):
        assert site.refusal("POST", f"{site.at('s')}/runs", {"apply": True}) == "session_busy"
        assert site.tool.call("POST", f"{site.at('s')}/plan", {})[1]["busy"]["lock"]
    assert agent.rows() == before
    site.compact("s")


def test_undo(agent: Agent, site: Site, said: list[Any]) -> None:
    before = agent.load("s")
    run = site.compact("s")
    status, undone = site.tool.call("POST", f"/runs/{run['id']}/undo")
    assert (status, undone["status"]) == (200, "undone")
    assert agent.load("s") == before and heard(site.context("s")) == said
    assert site.compactions("s") == []
    assert heard(site.messages("s")) == said and {each["state"] for each in site.messages("s")} == {"live"}
    again = site.compact("s")
    assert [each["run"] for each in site.compactions("s")] == [again["id"]]
    assert site.refusal("POST", f"/runs/{run['id']}/undo") == "not_undoable"


def test_redo(agent: Agent, site: Site, said: list[Any]) -> None:
    run = site.compact("s")
    redo, short = f"/runs/{run['id']}/redo", agent.load("s")
    assert site.refusal("POST", redo) == "not_redoable"
    site.tool.call("POST", f"/runs/{run['id']}/undo")
    agent.say("s", ASKED)
    before = agent.rows()
    if not agent.redoes:
        assert site.refusal("POST", redo) == "not_redoable" and agent.rows() == before
        assert site.run_now(run["id"])["status"] == "undone"
        return
    with agent.compacting("s"):
        assert site.refusal("POST", redo) == "session_busy" and agent.rows() == before
    status, redone = site.tool.call("POST", redo)
    assert (status, redone["status"], redone["undoable"]) == (200, "applied", True)
    assert agent.load("s") == [*short, *heard([ASKED])] and loaded_as_sent(agent, site)
    (boundary,) = site.compactions("s")
    assert boundary["run"] == run["id"] and boundary["undoable"]
    assert site.refusal("POST", redo) == "not_redoable"
    site.tool.call("POST", f"/runs/{run['id']}/undo")
    assert heard(site.context("s")) == [*said, *heard([ASKED])]
    later = site.compact("s")
    assert site.refusal("POST", redo) == "not_redoable"
    assert [each["run"] for each in site.compactions("s")] == [later["id"]]


def test_undo_keeps_what_was_said_and_taken_back_since(agent: Agent, site: Site, said: list[Any]) -> None:
    run = site.compact("s")
    for message in (*turn("kept"), ASKED, ANSWERED):
        agent.say("s", message)
    agent.take_back("s")
    site.tool.call("POST", f"/runs/{run['id']}/undo")
    assert heard(site.context("s")) == [*said, *heard(list(turn("kept")))]
    assert loaded_as_sent(agent, site)


@pytest.mark.parametrize("moment", ["inside", "behind"])
def test_a_writer_that_is_killed(agent: Agent, site: Site, said: list[Any], moment: str) -> None:
    site.written(agent.url, "s", moment)
    shown = [item for item in site.messages("s") if item["kind"] == "message"]
    assert heard(shown) == said
    assert len(site.compactions("s")) == (moment == "behind")
    assert loaded_as_sent(agent, site)
    assert len(agent.load("s")) == (len(said) if moment == "inside" else site.compactions("s")[0]["messages_after"])
    for message in talk(TURNS, "more"):
        agent.say("s", message)
    site.compact("s")  # what the dead writer held is nobody's
    assert len(site.compactions("s")) == 1 + (moment == "behind")


def test_what_is_kept_is_word_for_word(agent: Agent, site: Site) -> None:
    hostile = [
        {"role": "user", "content": "<b>&amp;</b> \x1b[1m 👩‍👩‍👧 \u2028 %s '; --"},
        {"role": "assistant", "content": "  spaces around  \n\n"},
    ]
    agent.write("s", [*talk(TURNS), *hostile])
    before = agent.load("s")[-2:]
    run = site.compact("s")
    assert agent.load("s")[-2:] == before and loaded_as_sent(agent, site)
    site.tool.call("POST", f"/runs/{run['id']}/undo")
    assert agent.load("s")[-2:] == before


def test_append_and_create(agent: Agent, site: Site, said: list[Any]) -> None:
    if not agent.writes_messages:
        before = agent.rows()
        assert site.refusal("POST", f"{site.at('s')}/messages", {"messages": [ASKED]}) == "store_read_only"
        assert site.refusal("POST", f"/stores/{site.store}/sessions", {"messages": [ASKED]}) == "store_read_only"
        assert agent.rows() == before
        return
    status, _ = site.tool.call("POST", f"{site.at('s')}/messages", {"messages": [ASKED, ANSWERED]})
    assert status == 201
    assert agent.load("s")[-2:] == heard([ASKED, ANSWERED])
    status, made = site.tool.call("POST", f"/stores/{site.store}/sessions", {"title": "made", "messages": [ASKED]})
    assert status == 201 and agent.load(made["id"]) == heard([ASKED])


def test_branch_and_rename(agent: Agent, site: Site, said: list[Any]) -> None:
    agent.write("made", [ASKED])
    before = agent.rows()
    if agent.branches:
        status, branch = site.tool.call("POST", f"{site.at('s')}/branches", {})
        assert status == 201 and agent.load(branch["id"]) == agent.load("s")
    else:
        assert site.refusal("POST", f"{site.at('s')}/branches", {}) == "store_read_only" and agent.rows() == before
    if not agent.renames:
        before = agent.rows()
        assert site.refusal("PATCH", site.at("s"), {"title": "renamed"}) == "store_read_only"
        assert agent.rows() == before
        return
    status, renamed = site.tool.call("PATCH", site.at("s"), {"title": "renamed"})
    assert (status, renamed["title"]) == (200, "renamed")
    if agent.unique_titles:
        assert site.refusal("PATCH", site.at("made"), {"title": "renamed"}) == "title_taken"


def test_list_and_session_agree_on_what_is_active(agent: Agent, site: Site, said: list[Any]) -> None:
    """Also where a clock was wrong: a time that is yet to come tells nothing."""
    late = {"role": "user", "content": "later", "timestamp": time.time() + 3_600}
    assert site.tool.get(site.at("s"))["active"] is True
    if not agent.writes_messages:
        return
    assert site.tool.call("POST", f"{site.at('s')}/messages", {"messages": [late]})[0] == 201
    site.worker_looks()
    (listed,) = site.sessions()
    assert listed["active"] is site.tool.get(site.at("s"))["active"] is False
