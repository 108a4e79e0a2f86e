"""*Branch from here*: from a boundary, from a refused undo, from the menu; with and without htmx."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.test import Client

from tests.factories.histories import history_of
from tests.factories.stores import EmptyStore, HermesStore
from tests.html import read
from tests.slow import slow
from viewer.catalog.lines import SessionFilter, page_of_lines
from viewer.runs import branching, compaction_list, service
from viewer.runs.planning import Options
from viewer.stores.hermes.reader import open_store
from viewer.stores.registry import get_store

FRAGMENT = {"HX-Request": "true"}


def page_of(hermes_store: HermesStore) -> str:
    return f"/stores/hermes/sessions/{hermes_store.session_id}"


def first_boundary(hermes_store: HermesStore) -> tuple[int, int]:
    """Handoff, and messages before."""
    with open_store(hermes_store.store) as reader:
        found = history_of(reader, hermes_store.session_id).boundaries[0]
    return found.handoff_id, found.messages_before


def made_of(hermes_store: HermesStore) -> str:
    ((made,),) = hermes_store.rows("SELECT id FROM sessions WHERE title = 'Airline desk, week 29 (branch)'")
    return f"/stores/hermes/sessions/{made}"


@pytest.mark.parametrize("version", [*slow(21), 31])
def test_from_a_boundary_without_javascript(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], version: int
) -> None:
    hermes_store = open_hermes_store(version)
    before, (handoff, messages) = hermes_store.live(), first_boundary(hermes_store)
    button = (
        read(signed_in.get(f"{page_of(hermes_store)}?around={handoff}")).one(id=f"b{handoff}-undo").all("a", "btn")[0]
    )
    assert button.text == "Branch from here…"
    asked = read(signed_in.get(button.attributes["href"])).one("main")
    assert f"A new session gets the {messages:,} messages (" in asked.one("form").text
    assert "tokens) that were in context before this compaction" in asked.one("form").text
    assert {link.attributes["href"] for link in asked.all("a")} == {
        f"{page_of(hermes_store)}?around={handoff}#b{handoff}"
    }
    assert not hermes_store.rows("SELECT 1 FROM sessions WHERE title LIKE '%(branch)'"), "asking makes none"

    answer = signed_in.post(asked.one("form").attributes["action"])
    assert (answer.status_code, answer["Location"]) == (302, made_of(hermes_store))
    page = read(signed_in.get(answer["Location"]))
    assert page.one("h1").text == "Airline desk, week 29 (branch)"
    origin = page.one("div", "head").one("a", "branch")
    assert origin.text == "Branch of Airline desk, week 29"
    assert origin.attributes["href"] == page_of(hermes_store)
    resume = page.all("button", "resume")[0].attributes["data-copy-text"]
    assert resume == f"hermes --resume {made_of(hermes_store).rsplit('/', 1)[1]}"
    assert f"{messages:,} messages, all in context" in page.one("div", "meta").text
    assert hermes_store.live() == before


def test_from_a_boundary_with_htmx(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    hermes_store = open_hermes_store(31)
    handoff, _ = first_boundary(hermes_store)
    asked = read(signed_in.get(f"{page_of(hermes_store)}/boundaries/{handoff}/branch", headers=FRAGMENT))
    assert not asked.all("html")
    form = asked.one("form")
    assert form.attributes["hx-target"] == "closest .undo"
    answer = signed_in.post(form.attributes["hx-post"], headers=FRAGMENT)
    assert answer["HX-Redirect"] == made_of(hermes_store)


def test_from_an_undo_that_is_refused(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    hermes_store = open_hermes_store(31)
    handoff, _ = first_boundary(hermes_store)
    for headers in ({}, FRAGMENT):
        answer = read(signed_in.get(f"{page_of(hermes_store)}/boundaries/{handoff}/undo", headers=headers))
        link = next(link for link in answer.all("a") if link.text == "Branch from here…")
        assert link.attributes["href"] == f"{page_of(hermes_store)}/boundaries/{handoff}/branch"
        assert link.attributes["hx-target"] == "closest .undo"


def test_from_the_menu_as_it_is_now(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    hermes_store = open_hermes_store(31)
    menu = read(signed_in.get(page_of(hermes_store))).one("details", "menu")
    link = next(link for link in menu.all("a") if link.text == "Branch this session…")
    asked = read(signed_in.get(link.attributes["href"])).one("main")
    assert f"{len(hermes_store.live()):,} messages" in asked.one("form").text
    assert "are in context now" in asked.one("form").text
    assert signed_in.post(asked.one("form").attributes["action"])["Location"] == made_of(hermes_store)


def test_a_large_context_is_warned_of(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s", model="gpt-4")
    empty_store.say("s", "user", "walnut " * 7900)
    assert "the agent compacts by itself at" in read(signed_in.get(f"{href}/branch")).one("p", "warn").text


def test_refusals_say_why(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    asked = read(signed_in.get(f"{href}/branch"))
    assert asked.one("main").one("button").attributes.keys() >= {"disabled"}
    assert "no message in context" in asked.one("main").text
    assert not asked.one("main").all("form")
    assert "no message in context" in read(signed_in.post(f"{href}/branch"), 409).one("main").text
    fragment = read(signed_in.post(f"{href}/branch", headers=FRAGMENT), 409)
    assert "no message in context" in fragment.one(role="alert").text


def test_only_a_signed_in_browser_with_its_own_form(empty_store: EmptyStore, signed_in: Client) -> None:
    href = empty_store.session("s")
    empty_store.chat("s", 4)
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in.cookies
    assert strict.post(f"{href}/branch").status_code == 403
    assert Client().post(f"{href}/branch").status_code in (302, 403)
    assert [line.session_id for line in page_of_lines(SessionFilter(), [get_store("own")], 10).lines] == ["s"]


def test_an_agents_own_branch_is_told_too_and_one_whose_origin_is_gone(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    empty_store.session("origin", title="Where <it> began")
    href = empty_store.session("fork", model_config=json.dumps({"_branched_from": "origin"}))
    origin = read(signed_in.get(href)).one("a", "branch")
    assert (origin.text, origin.attributes["href"]) == ("Branch of Where <it> began", "/stores/own/sessions/origin")
    href = empty_store.session("orphan", model_config=json.dumps({"_branched_from": "gone"}))
    lost = read(signed_in.get(f"{href}/context")).one("a", "branch")
    assert lost.text == "Branch of gone" and "href" not in lost.attributes
    assert not read(signed_in.get("/stores/own/sessions/origin")).all("a", "branch")


@pytest.mark.usefixtures("at_once")
def test_a_session_that_was_split_here_leads_on_and_can_be_branched(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], transactional_db: None
) -> None:
    hermes_store = open_hermes_store(31)
    before = hermes_store.live()
    run = service.start(hermes_store.store, hermes_store.session_id, Options(mode="split"), apply=True)
    part = f"/stores/hermes/sessions/{run.new_session_id}"
    assert signed_in.get(page_of(hermes_store))["Location"] == part
    page = read(signed_in.get(f"{part}?around={run.handoff_id}"))
    assert page.one("h1").text == "Airline desk, week 29"
    assert page.one(id=f"b{run.handoff_id}-line").text.find("by you, here") > 0
    undo = page.one(id=f"b{run.handoff_id}-undo")
    assert "split into two sessions here" in undo.text
    asked = read(signed_in.get(undo.all("a")[0].attributes["href"])).one("main")
    made = signed_in.post(asked.one("form").attributes["action"])["Location"].rsplit("/", 1)[1]
    assert HermesStore(hermes_store.store, hermes_store.path, made).live() == before
    assert read(signed_in.get(f"/runs/{run.pk}")).one("main").text.count(run.new_session_id) >= 1


@pytest.mark.parametrize("version", [*slow(21), 31])
def test_a_summary_that_a_branch_begins_with_is_no_compaction_of_its_own(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], version: int
) -> None:
    """Undoing it would take the summary out of context and bring nothing back."""
    hermes_store = open_hermes_store(version)
    branch = HermesStore(
        hermes_store.store, hermes_store.path, branching.branch(hermes_store.store, hermes_store.session_id, None)
    )
    before = branch.live()
    with open_store(hermes_store.store) as reader:
        (inherited,) = history_of(reader, branch.session_id).boundaries
    page = read(signed_in.get(f"{page_of(branch)}?around={inherited.handoff_id}"))
    told = page.one("section", "boundary")
    assert told.one("h2").text == "Summary of messages that are not in this session"
    assert not told.all("button") and "Undo" not in told.text and "kept" not in told.text
    assert "never compacted" in page.one("header", "about").text
    assert "begins with a summary" in page.one(id="contents").text
    exported = b"".join(signed_in.get(f"{page_of(branch)}/export?format=md")).decode()
    assert "Handed on from another session" in exported and " messages before, " not in exported
    refused = read(signed_in.post(f"{page_of(branch)}/boundaries/{inherited.handoff_id}/undo"), 409)
    assert "began with the summary" in refused.one("main").text
    assert branch.live() == before
    with open_store(hermes_store.store) as reader:
        assert compaction_list.compactions(reader, branch.session_id) == []


def test_what_a_person_said_behind_a_merged_summary_is_still_theirs(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    """A branch has such a message only in the row that the agent flags as a summary."""
    hermes_store = open_hermes_store(31, "Merged carrier 92")
    made = branching.branch(hermes_store.store, hermes_store.session_id, None)
    with open_store(hermes_store.store) as reader:
        (inherited,) = history_of(reader, made).boundaries
    page = read(signed_in.get(f"/stores/hermes/sessions/{made}?around={inherited.handoff_id}"))
    assert "typed by a person" not in page.one(id=f"m{inherited.handoff_id}").text
