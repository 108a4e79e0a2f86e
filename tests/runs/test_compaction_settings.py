"""How a store is compacted where nobody says otherwise: the same for page, API and command, and what is said where a
session does not allow what is set.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

import compaction
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.talk import talk
from tests.clients import ApiClient, session_path
from tests.factories.stores import EmptyStore, HermesStore
from tests.runs.commands import run
from viewer.runs import planning, service
from viewer.runs.models import CompactionSetting, Run
from viewer.runs.planning import DryRun, Options
from viewer.stores.errors import SessionEnded, StoreReadOnly
from viewer.stores.registry import get_store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]


def set_to(mode: str = "in_place", strategy: str = "", store: str = "hermes") -> None:
    CompactionSetting.objects.create(store=store, mode=mode, strategy=strategy)


def drafted(found: HermesStore, **options: Any) -> DryRun:
    return planning.draft(found.store, found.session_id, Options(**options))


def works_on_files(store: EmptyStore) -> str:
    """A session in which shortening tool output alone saves half of the context."""
    store.session("s")
    for at in range(6):
        store.say("s", "user", f"Look at log {at}.")
        store.say("s", "assistant", "", tool_calls=[store.call("terminal", f"c{at}", command=f"tail {at}")])
        store.say("s", "tool", "one more line of it\n" * 900, tool_call_id=f"c{at}", tool_name="terminal")
        store.say("s", "assistant", f"Log {at} is long.")
    store.chat("s", 12)
    return "s"


# -- what is taken -----------------------------------------------------------------------------------------------------


def test_without_a_setting_it_is_in_place_and_automatic(chat_store: HermesStore, empty_store: EmptyStore) -> None:
    talked = drafted(chat_store)
    assert (talked.mode, talked.strategy, talked.fallback) == ("in_place", "summary", "")
    worked = planning.draft(get_store("own"), works_on_files(empty_store), Options())
    assert (worked.mode, worked.strategy, worked.fallback) == ("in_place", "prune", "")


def test_what_is_set_is_taken_and_what_is_named_outranks_it(empty_store: EmptyStore) -> None:
    set_to("split", "summary", store="own")
    store, session_id = get_store("own"), works_on_files(empty_store)
    draft = planning.draft(store, session_id, Options())
    assert (draft.mode, draft.strategy, draft.fallback) == ("split", "summary", "")
    draft = planning.draft(store, session_id, Options("prune", mode="in_place"))
    assert (draft.mode, draft.strategy, draft.fallback) == ("in_place", "prune", "")
    CompactionSetting.objects.update(mode="in_place", strategy="prune")
    assert planning.draft(store, session_id, Options()).strategy == "prune"
    assert planning.draft(store, session_id, Options("summary", mode="split")).mode == "split"


def test_a_run_goes_where_the_store_is_set_to(hermes_store: HermesStore) -> None:
    set_to("split")
    made = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    assert (made.status, made.mode, made.strategy, made.fallback) == ("applied", "split", "summary", "")
    part = replace(hermes_store, session_id=made.new_session_id)
    made = service.start(part.store, part.session_id, Options(mode="in_place", keep_last=5), apply=True)
    assert (made.status, made.mode, made.new_session_id) == ("applied", "in_place", "")
    service.undo_run(made)
    assert made.status == "undone"


def test_a_store_that_can_only_be_split_is_compacted_once_it_is_set_so(
    open_hermes_store: Callable[..., HermesStore],
) -> None:
    hermes_store = open_hermes_store(16, "Airline desk, week 30 #4")
    with pytest.raises(StoreReadOnly, match="choose that for the store in Settings"):
        drafted(hermes_store)
    set_to("split")
    assert drafted(hermes_store).mode == "split"


# -- what a session does not allow -------------------------------------------------------------------------------------


def test_a_session_that_cannot_be_split_is_compacted_in_place_and_that_is_said(hermes_store: HermesStore) -> None:
    set_to("split")
    hermes_store.rows(
        "UPDATE sessions SET ended_at = 5, end_reason = 'session_reset', session_key = 'agent:main:telegram:1' "
        "WHERE id = ?",
        hermes_store.session_id,
    )
    draft = drafted(hermes_store)
    assert draft.mode == "in_place"
    assert draft.fallback.startswith(
        "This store is set to split sessions, which is not possible here. This session was"
    )
    with pytest.raises(SessionEnded, match="join it to what came after"):
        drafted(hermes_store, mode="split")
    made = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    assert (made.status, made.mode, made.fallback) == ("applied", "in_place", draft.fallback)


def test_a_store_that_is_of_another_kind_now(tmp_path: Path, settings: Settings) -> None:
    settings.STORES = {"work": f"claude-code:///{tmp_path / 'claude'}"}
    agent = ClaudeByHand(tmp_path / "claude")
    agent.write("s", talk(60))
    set_to("split", store="work")
    draft = planning.draft(get_store("work"), agent.id_of("s"), Options())
    assert draft.mode == "in_place" and "is set to split sessions, which is not possible" in draft.fallback


def test_where_neither_is_possible_the_refusal_is_that_of_a_split(hermes_store: HermesStore) -> None:
    set_to("split")
    made = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    with pytest.raises(SessionEnded, match=made.new_session_id):
        drafted(hermes_store)


@pytest.mark.parametrize(("strategy", "named"), [("prune", "“Shorten tool output”"), ("gone", "“gone”")])
def test_a_strategy_that_makes_no_plan_gives_way_to_the_automatic_choice(
    chat_store: HermesStore, strategy: str, named: str
) -> None:
    set_to(strategy=strategy)
    draft = drafted(chat_store)
    assert (draft.strategy, draft.mode) == ("summary", "in_place")
    assert draft.fallback.startswith(f"This store is set to {named}, which is not possible here. ")
    with pytest.raises(compaction.NothingToCompact):
        drafted(chat_store, strategy="prune")


def test_where_nothing_can_be_compacted_the_reason_is_said(empty_store: EmptyStore) -> None:
    set_to(strategy="summary", store="own")
    empty_store.session("s")
    empty_store.say("s", "user", "hello")
    with pytest.raises(compaction.NothingToCompact, match="too few messages"):
        planning.draft(get_store("own"), "s", Options())


# -- who asks ----------------------------------------------------------------------------------------------------------


def test_the_command_takes_it_unless_a_flag_says_otherwise(hermes_store: HermesStore) -> None:
    plan = ("compact", "hermes", hermes_store.session_id, "--plan")
    assert "how             Summarise, in place\n" in run(*plan)
    set_to("split", "prune")
    said = run(*plan)
    assert "Shorten tool output, into a new session (split)\n" in said
    assert "how             Summarise, in place\n" in run(*plan, "--strategy", "summary", "--mode", "in_place")
    answer = json.loads(run(*plan, "--json"))
    assert (answer["strategy"], answer["mode"], answer["fallback"]) == ("prune", "split", "")
    assert "It goes on in session" in run("compact", "hermes", hermes_store.session_id, "--strategy", "summary")
    assert Run.objects.get().mode == "split"


def test_the_command_says_what_was_not_possible(chat_store: HermesStore) -> None:
    set_to(strategy="prune")
    sentence = "which is not possible here."
    assert sentence in run("compact", "hermes", chat_store.session_id, "--plan")
    said = run("compact", "hermes", chat_store.session_id)
    assert said.startswith("Compacted: ") and sentence in said


def test_the_api_takes_it_unless_the_call_says_otherwise(hermes_store: HermesStore, api_client: ApiClient) -> None:
    path = session_path(hermes_store)

    def asked(call: str, **body: Any) -> tuple[Any, ...]:
        status, answer = api_client.call("POST", f"{path}/{call}", body)
        assert status in (200, 202), answer
        return tuple(answer[name] for name in ("strategy", "mode", "fallback"))

    assert asked("plan") == ("summary", "in_place", "")
    set_to("split", "prune")
    assert asked("plan") == ("prune", "split", "")
    assert asked("plan", strategy="summary", mode="in_place") == ("summary", "in_place", "")
    assert asked("runs") == ("prune", "split", "")
    assert asked("runs", strategy="summary", mode="in_place") == ("summary", "in_place", "")


def test_the_api_says_what_was_not_possible(chat_store: HermesStore, api_client: ApiClient) -> None:
    set_to(strategy="prune")
    path = session_path(chat_store)
    _, plan = api_client.call("POST", f"{path}/plan", {})
    _, made = api_client.call("POST", f"{path}/runs", {})
    assert plan["strategy"] == made["strategy"] == "summary"
    assert "which is not possible here." in plan["fallback"] == made["fallback"]
    assert api_client.get(f"/runs/{made['id']}")["fallback"] == made["fallback"]
