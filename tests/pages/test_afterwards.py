"""The tabs of a boundary that tell what was lost, and what a later summary changed in the one before."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from django.test import Client

from compaction import Message
from compaction.handoff import END_MARKER, LEGACY_HEADER
from compaction.loss.later import used_later
from tests.factories.stores import EmptyStore, HermesStore
from tests.html import Element, message_ids, read
from viewer.history import index_cache
from viewer.runs import detail_loss, service
from viewer.runs.detail_loss import losses, lost_detail
from viewer.runs.planning import Options
from viewer.stores.hermes.paths import get_session
from viewer.stores.hermes.reader import open_store

FRAGMENT = {"HX-Request": "true"}
FIRST, SECOND = 88, 141  # handoffs of the agent's own compactions


def session(hermes_store: HermesStore) -> str:
    return f"/stores/hermes/sessions/{hermes_store.session_id}"


def tabs(signed_in: Client, hermes_store: HermesStore, handoff: int) -> list[str]:
    page = read(signed_in.get(f"{session(hermes_store)}?around={handoff}"))
    return [tab.text for tab in page.one("section", id=f"b{handoff}").one("nav", "tabs").all("a")]


def test_what_the_agent_lost_is_looked_for_when_it_is_asked_for(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    """In the same words as what our own compactions lost, and without a number until somebody opens the boundary."""
    hermes_store = open_hermes_store(21)
    assert tabs(signed_in, hermes_store, FIRST) == ["Summary", "Lost", "28 kept, 7 of them shortened", "56 summarised"]
    href = f"{session(hermes_store)}/boundaries/{FIRST}/details"
    page = read(signed_in.get(href))
    lost = int(page.one("h1").text.split()[0])
    assert page.one("h1").text == f"{lost} lines lost" and page.one("p", "loss").text.startswith(
        f"{lost} lines are lost"
    )
    label = read(signed_in.get(f"{href}?count=1", headers=FRAGMENT))
    assert label.text.split(" (")[0] == f"Lost {lost}" and not label.all("html")
    assert [each.text for each in page.one("div", "losses").all("h2")] == ["Kept", "Lost"]
    assert re.search(r"The (open )?request", page.all("ul", "kept")[0].text) and "%" not in page.one("main").text
    named = [row for each in page.all("ol", "lost") for row in lines(each)]
    assert len(named) == lost > 1
    shown = read(signed_in.get((first := named[0].all("a")[0]).attributes["href"].split("#")[0]))
    assert int(first.attributes["href"].split("#m")[1]) in message_ids(shown)
    assert first.text.split()[0] in shown.text


def lines(group: Element) -> list[Element]:
    """The rows of a list of lost lines, without their headings."""
    return [row for row in group.all("li") if not row.all("h4")]


@pytest.mark.slow
def test_many_lost_lines_are_listed_in_parts(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("s")
    for at in range(250):
        empty_store.say("s", "user", f"Move reservation R{at:05d}.", active=0, compacted=1)
    handoff = empty_store.say("s", "user", f"{LEGACY_HEADER} R00000 is moved.\n\n{END_MARKER}", _compressed_summary=1)
    page = read(signed_in.get(f"/stores/own/sessions/s/boundaries/{handoff}/details"))
    assert page.one("h1").text == "250 lines lost", "a line says it once; 'is moved' is not 'move'"
    needed, group = page.all("details", "lost-group")
    assert needed.one("summary").text.endswith("1 line") and group.one("summary").text.endswith("249 lines")
    named, more = lines(group)[:-1], group.one("li", "more").one("a")
    assert group.one("h4").text == "Request" and len(named) == 100 and more.text == "149 more"
    fragment = read(signed_in.get(more.attributes["href"], headers=FRAGMENT))
    assert not fragment.all("html") and fragment.one("li", "more").text == "49 more"
    assert fragment.all("li")[0].text != named[0].text
    whole = read(signed_in.get(more.attributes["href"]))
    assert whole.all("html") and len(whole.all("ol", "lost")) == 1, "without scripts it is a page"


@pytest.mark.usefixtures("at_once", "db")
def test_of_our_own_compactions_the_tab_says_how_many(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(31)
    ready = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=False)
    run = service.apply(ready, "Done: R00084 is moved, seat 84A stays yours. Anything else I can do?")
    run.refresh_from_db()
    assert run.handoff_id is not None
    lost_detail(run.report, run.report["ranked"][0])["matters"] = "instruction"
    run.save()
    assert tabs(signed_in, hermes_store, run.handoff_id)[1] == f"Lost {run.report['things']:,}"
    row = read(signed_in.get(f"{session(hermes_store)}?around={run.handoff_id}"))
    assert "lost" not in row.one("h2", id=f"b{run.handoff_id}-line").text.lower(), "it is said once"
    page = read(signed_in.get(f"{session(hermes_store)}/boundaries/{run.handoff_id}/details"))
    assert page.one("h1").text == f"{run.report['things']:,} lines lost"
    assert "The next turn needs" in page.one("p", "loss").text, "how many: it depends on later messages as well"


@pytest.mark.usefixtures("db")
def test_what_a_later_message_speaks_of_is_a_group_of_its_own(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("s")
    for text in ("The key is with Priya Raman, box QX-1188.", "Gates are painted green, box QX-2277."):
        empty_store.say("s", "assistant", text, active=0, compacted=1)
    handoff = empty_store.say("s", "user", f"{LEGACY_HEADER} Talk of keys.\n\n{END_MARKER}", _compressed_summary=1)
    empty_store.say("s", "user", "Open the box qx-1188 now.")
    page_href = f"/stores/own/sessions/s/boundaries/{handoff}/details"
    page = read(signed_in.get(page_href))
    group = page.all("details", "lost-group")[0]
    assert group.one("h4").text == "Said by the agent" and ["QX-1188" in row.text for row in lines(group)] == [True]
    assert group.one("h3").text == "Used later" and not page.one("div", "losses").all(cls="bad"), "it is not red"
    assert page.one("p", "loss").text == (
        "2 lines are lost. 1 was used later; as far as we can tell, none is needed by the next turn."
    )
    assert read(signed_in.get(f"{page_href}?count=1", headers=FRAGMENT)).text.strip() == "Lost 2"


@pytest.mark.usefixtures("db")
def test_later_messages_are_searched_once(
    signed_in: Client, empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tab, its number and each further part of the list have one search; a new message means another."""
    searched: list[int] = []

    def counted(texts: Sequence[str], remaining: Sequence[Message], later: Sequence[Message]) -> set[int]:
        searched.append(len(later))
        return used_later(texts, remaining, later)

    monkeypatch.setattr(detail_loss, "used_later", counted)
    empty_store.session("s")
    empty_store.say("s", "assistant", "The key is in box QX-1188.", active=0, compacted=1)
    handoff = empty_store.say("s", "user", f"{LEGACY_HEADER} Talk of keys.\n\n{END_MARKER}", _compressed_summary=1)
    empty_store.say("s", "user", "Where are the keys?")
    href = f"/stores/own/sessions/s/boundaries/{handoff}/details"
    for address in (href, f"{href}?count=1", f"{href}?from=1"):
        assert signed_in.get(address, headers=FRAGMENT).status_code == 200
    assert searched == [1]
    empty_store.say("s", "user", "Open the box qx-1188 now.")
    assert read(signed_in.get(href)).all("details", "lost-group")[0].one("h3").text == "Used later"
    assert searched == [1, 2]


@pytest.mark.usefixtures("at_once", "db")
def test_what_is_looked_for_in_the_rows_is_what_the_run_noted(open_hermes_store: Callable[..., HermesStore]) -> None:
    hermes_store = open_hermes_store(31)
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    with open_store(hermes_store.store) as reader:
        index = index_cache.index_of(reader, get_session(reader, hermes_store.session_id))
        boundary = index.boundary_at(run.handoff_id or 0)
        assert boundary is not None
        found = losses(reader, hermes_store.session_id, index, replace(boundary, run=None))
    assert found["anchors"] == run.report["anchors"]
    noted = {(each["kind"], each["text"]) for each in run.report["lost"]}
    assert noted <= {(each["kind"], each["text"]) for each in found["lost"]}


def test_from_the_second_compaction_on_the_change_is_shown(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    assert "Changes to the summary" in tabs(signed_in, hermes_store, SECOND)
    page = read(signed_in.get(f"{session(hermes_store)}/boundaries/{SECOND}/update"))
    assert page.one("h1").text == "Changes to the summary"
    change = page.one("pre", "diff")
    assert change.all("span", "add")
    assert change.all("span", "del")
    fragment = read(signed_in.get(f"{session(hermes_store)}/boundaries/{SECOND}/update", headers=FRAGMENT))
    assert fragment.one("pre", "diff").text == change.text
    first = read(signed_in.get(f"{session(hermes_store)}/boundaries/{FIRST}/update"), 404)
    assert "first summary" in first.one("main").text
