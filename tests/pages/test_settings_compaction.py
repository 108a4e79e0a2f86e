"""How a store is compacted: the forms of the settings page, and what the panel makes of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries, Settings

from tests.factories.stores import HermesStore
from tests.html import Element, read
from viewer.catalog import sync_worker
from viewer.runs import service
from viewer.runs.models import CompactionSetting, Run

FRAGMENT = {"HX-Request": "true"}
SPLIT = "This session will be split : it ends, and the agent goes on in a new session of the same chain."


@pytest.fixture
def stores(tmp_path: Path, settings: Settings) -> None:
    settings.STORES = {"own": f"sqlite:///{tmp_path}/own.db", "work": f"claude-code:///{tmp_path}/claude"}


def form(page: Element, store: str = "own") -> Element:
    """The line of one store."""
    (found,) = [each for each in page.one("section", id="compaction").all("form") if each.one("b").text == store]
    return found


def choices(shown: Element, name: str) -> list[str]:
    return [option.text for option in shown.one("select", name=name).all("option")]


def chosen(shown: Element, name: str) -> list[str]:
    options = shown.one("select", name=name).all("option")
    return [option.attributes.get("value", "") for option in options if "selected" in option.attributes]


def test_every_store_has_a_form_with_what_its_kind_can_do(signed_in: Client, stores: None) -> None:
    page = read(signed_in.get("/settings"))
    assert [each.one("b").text for each in page.one("section", id="compaction").all("form")] == ["own", "work", "demo"]
    shown = form(page)
    assert choices(shown, "mode") == ["In place", "Split"] and choices(form(page, "work"), "mode") == ["In place"]
    assert choices(shown, "strategy") == ["Automatic", "Summarise", "Shorten tool output"]
    assert (chosen(shown, "mode"), chosen(shown, "strategy")) == (["in_place"], [""])
    ids = [element.attributes["id"] for element in page.walk() if "id" in element.attributes]
    labels = {label.attributes["for"] for label in page.one("section", id="compaction").all("label")}
    assert len(labels) == 6 and labels <= set(ids) and len(ids) == len(set(ids))


def test_a_store_that_can_only_split_is_not_shown_as_in_place(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    open_hermes_store(16)
    shown = form(read(signed_in.get("/settings")), "hermes")
    assert choices(shown, "mode") == ["None: not possible in place", "Split"]


def test_what_is_saved_is_shown_and_said(signed_in: Client, stores: None) -> None:
    said = {"mode": "split", "strategy": "prune"}
    shown = form(read(signed_in.post("/settings/compaction/own", said, follow=True)))
    row = CompactionSetting.objects.get()
    assert (row.store, row.mode, row.strategy) == ("own", "split", "prune")
    assert shown.one("p", "ok").text == "Saved"
    assert (chosen(shown, "mode"), chosen(shown, "strategy")) == (["split"], ["prune"])
    page = read(signed_in.post("/settings/compaction/own", {"mode": "in_place", "strategy": ""}, follow=True))
    assert chosen(form(page), "mode") == ["in_place"] and not form(page, "demo").all("p", "ok")
    row.refresh_from_db()
    assert (row.mode, row.strategy) == ("in_place", "")


@pytest.mark.parametrize(
    ("store", "field", "sentence"),
    [
        ("own", "mode", "There is no such way"),
        ("own", "strategy", "There is no such strategy"),
        ("work", "strategy", "There is no such strategy"),
    ],
)
def test_a_value_that_is_no_choice_is_refused_at_its_field(
    signed_in: Client, stores: None, store: str, field: str, sentence: str
) -> None:
    answer = signed_in.post(f"/settings/compaction/{store}", {"mode": "in_place", "strategy": "", field: "<b>twist"})
    shown = form(read(answer), store)
    (error,) = shown.all("p", "bad")
    assert sentence in error.text
    select = shown.one("select", name=field)
    assert (
        select.attributes["aria-invalid"] == "true" and select.attributes["aria-describedby"] == error.attributes["id"]
    )
    assert "autofocus" in select.attributes
    assert not CompactionSetting.objects.exists()


def test_a_kind_that_cannot_split_refuses_it(signed_in: Client, stores: None) -> None:
    shown = form(read(signed_in.post("/settings/compaction/work", {"mode": "split", "strategy": ""})), "work")
    assert "are compacted in place" in shown.one("p", "bad").text
    assert not CompactionSetting.objects.exists()
    signed_in.post("/settings/compaction/work", {"strategy": "summary"})
    assert CompactionSetting.objects.get().mode == "in_place"


def test_a_store_that_is_of_another_kind_now_says_so(signed_in: Client, stores: None) -> None:
    CompactionSetting.objects.create(store="work", mode="split")
    page = read(signed_in.get("/settings"))
    assert "was set to split" in form(page, "work").one("p", "warn").text
    assert not form(page).all("p", "warn")


def test_only_a_store_that_exists_is_set(signed_in: Client, stores: None) -> None:
    assert signed_in.post("/settings/compaction/nobody", {"mode": "split"}).status_code == 404
    assert signed_in.get("/settings/compaction/own").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in.cookies
    assert strict.post("/settings/compaction/own", {"mode": "split"}).status_code == 403
    assert not CompactionSetting.objects.exists()


def test_more_stores_cost_no_more_questions(
    signed_in: Client,
    stores: None,
    settings: Settings,
    tmp_path: Path,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with CaptureQueriesContext(connection) as few:
        signed_in.get("/settings")
    settings.STORES = {f"s {at} %": f"sqlite:///{tmp_path}/{at}.db" for at in range(30)}
    for name in settings.STORES:
        CompactionSetting.objects.create(store=name, mode="split")
    with django_assert_num_queries(len(few)):
        assert chosen(form(read(signed_in.get("/settings")), "s 29 %"), "mode") == ["split"]


# -- the panel ---------------------------------------------------------------------------------------------------------


def panel(client: Client, store: HermesStore, **query: str) -> Element:
    answer = client.get(f"/stores/hermes/sessions/{store.session_id}/plan", query, headers=FRAGMENT)
    return read(answer).one("section", id="plan")


def test_the_panel_says_that_the_session_will_be_split(signed_in: Client, chat_store: HermesStore) -> None:
    shown = panel(signed_in, chat_store)
    assert not shown.all(id="split")
    assert "You can undo this." in panel(signed_in, chat_store, confirm="1").one("div", "confirm").text
    CompactionSetting.objects.create(store="hermes", mode="split")
    assert panel(signed_in, chat_store).one(id="split").text.startswith(SPLIT)
    asked = panel(signed_in, chat_store, confirm="1").one("div", "confirm").text
    assert "A split has no Undo." in asked and "You can undo" not in asked


def test_the_panel_shows_the_strategy_first_that_is_set(signed_in: Client, hermes_store: HermesStore) -> None:
    def first() -> list[str]:
        radios = panel(signed_in, hermes_store).all("input", name="strategy")
        return [each.attributes["value"] for each in radios if "checked" in each.attributes]

    assert first() == ["summary"]
    CompactionSetting.objects.create(store="hermes", strategy="prune")
    assert first() == ["prune"]


def test_the_panel_says_what_is_set_and_not_possible(signed_in: Client, chat_store: HermesStore) -> None:
    CompactionSetting.objects.create(store="hermes", strategy="prune")
    shown = panel(signed_in, chat_store)
    assert "which is not possible here" in shown.one("p", "warn").text
    assert "checked" in shown.one("input", id="strategy-summary").attributes
    sent = {
        field.attributes["name"]: field.attributes.get("value", "")
        for field in shown.one("form", id="plan-form").all("input")
        if field.attributes.get("type") != "radio" or "checked" in field.attributes
    }
    address = f"/stores/hermes/sessions/{chat_store.session_id}"
    asked = read(signed_in.post(f"{address}/plan", sent | {"confirm": "1"}))
    assert "which is not possible here" in asked.one("p", "warn").text
    signed_in.post(f"{address}/compact", sent | {"apply": "0"})
    made = service.latest(chat_store.store, chat_store.session_id)
    assert made is not None and "which is not possible here" in made.fallback
    assert made.fallback in read(signed_in.get(f"/runs/{made.pk}")).one("dl", "facts").text
    signed_in.post(f"/runs/{made.pk}/cancel")
    signed_in.post(f"{address}/compact", sent | {"apply": "0", "offered": "prune"})
    chosen = service.latest(chat_store.store, chat_store.session_id)
    assert chosen is not None and chosen.fallback == "", "what a person chooses is no fallback"


@pytest.mark.usefixtures("at_once")
def test_a_split_from_the_page_is_previewed_applied_and_branched_from(
    signed_in: Client, hermes_store: HermesStore
) -> None:
    CompactionSetting.objects.create(store="hermes", mode="split")
    signed_in.post(f"/stores/hermes/sessions/{hermes_store.session_id}/compact", {"apply": "0"})
    run = Run.objects.get()
    assert (run.status, run.mode, run.new_session_id) == ("ready", "split", "")
    signed_in.post(f"/runs/{run.pk}/apply", {})
    run.refresh_from_db()
    assert run.status == "applied" and run.new_session_id
    undo = f"/stores/hermes/sessions/{run.new_session_id}/boundaries/{run.handoff_id}/undo"
    assert "split into two sessions here" in read(signed_in.get(undo)).text
    assert signed_in.post(undo).status_code == 409
    assert signed_in.post(undo.replace("/undo", "/branch")).status_code == 302


def test_a_run_that_failed_is_tried_again_in_its_mode(signed_in: Client, chat_store: HermesStore) -> None:
    href = f"/stores/hermes/sessions/{chat_store.session_id}"
    signed_in.post(f"{href}/compact", {"apply": "0", "mode": "split"})
    Run.objects.update(status="cancelled", queued_at=None)
    again = read(signed_in.get(f"/runs/{Run.objects.get().pk}")).one("input", name="mode")
    assert again.attributes["value"] == "split"
    assert panel(signed_in, chat_store, mode="split").one("input", name="mode").attributes["value"] == "split"
    assert not panel(signed_in, chat_store, mode="<twist>").all("input", name="mode")


def test_many_at_once_say_which_are_split(signed_in: Client, chat_store: HermesStore) -> None:
    sync_worker.sync_all()
    many = {"session": f"hermes/{chat_store.session_id}"}
    assert "but a split" not in read(signed_in.post("/compact", many)).text
    CompactionSetting.objects.create(store="hermes", mode="split")
    page = read(signed_in.post("/compact", many)).one("main")
    assert "You can undo each but a split" in page.text and ", split" in page.one("ul", "chosen").text
    done = read(signed_in.post("/compact", {**many, "confirm": "yes"})).one("main")
    assert Run.objects.get().mode == "split" and "can be undone" not in done.text


def test_the_panel_asks_one_question_more_for_it(signed_in: Client, chat_store: HermesStore) -> None:
    panel(signed_in, chat_store)
    with CaptureQueriesContext(connection) as queries:
        panel(signed_in, chat_store)
    assert sum("compactionsetting" in each["sql"] for each in queries.captured_queries) == 1
