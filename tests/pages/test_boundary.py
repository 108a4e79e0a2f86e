"""Boundaries: their lists, and undoing a compaction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from compaction.handoff import END_MARKER, LEGACY_HEADER
from tests.agents.base import Agent
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.codex.by_hand import CodexByHand
from tests.agents.pi.by_hand import PiByHand
from tests.agents.talk import talk
from tests.clients import ApiClient
from tests.factories.stores import EmptyStore, HermesStore
from tests.html import message_ids, read
from viewer.history.models import Compaction
from viewer.rendering import formats
from viewer.runs import service
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.stores.registry import get_store
from viewer.web import auth

FRAGMENT = {"HX-Request": "true"}


def lists(hermes_store: HermesStore, handoff: int) -> str:
    return f"/stores/hermes/sessions/{hermes_store.session_id}/boundaries/{handoff}"


def test_the_lists_work_as_pages_and_as_fragments(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    for which, count in (("summarised", 56), ("kept", 28)):
        page = read(signed_in.get(f"{lists(hermes_store, 88)}/{which}"))
        assert page.one("h1").text.startswith(f"{count} messages")
        fragment = read(signed_in.get(f"{lists(hermes_store, 88)}/{which}", headers=FRAGMENT))
        assert not fragment.all("html")
        assert fragment.one("ol").text == page.one("main").one("ol").text
        listed = [item for item in fragment.all("li") if not item.all("a", "later")]
        while links := fragment.all("a", "later"):
            fragment = read(signed_in.get(links[0].attributes["hx-get"], headers=FRAGMENT))
            listed += [item for item in fragment.all("li") if not item.all("a", "later")]
        assert len({item.all("a")[0].text for item in listed}) == len(listed) == count


def test_a_boundary_is_one_row_until_it_is_opened_or_led_to(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    session = f"/stores/hermes/sessions/{open_hermes_store(21, 'Merged carrier 92').session_id}"
    shown = read(signed_in.get(session)).all("section", "boundary")[-1]
    row = shown.one("details", "unfolds")
    assert "open" not in row.attributes
    assert row.one("summary", "line").text.startswith("Compacted")
    assert row.one("nav", "tabs") and row.one("div", "undo")
    handoff = shown.attributes["id"].removeprefix("b")
    led_to = read(signed_in.get(f"{session}?around={handoff}")).one(id=f"b{handoff}-fold")
    assert "open" in led_to.attributes


def test_every_listed_message_is_a_permalink(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    hermes_store = open_hermes_store(21)
    items = read(signed_in.get(f"{lists(hermes_store, 88)}/kept")).one("main").all("li")
    assert sum("shortened" in item.text for item in items) == 7
    href = items[-1].one("a").attributes["href"]
    target = int(href.split("#m")[1])
    assert target in message_ids(read(signed_in.get(href.split("#")[0])))


@pytest.mark.parametrize("marked", [True, False], ids=["told", "not told"])
def test_it_is_said_where_no_row_tells_whether_messages_were_taken_back(
    signed_in: Client, empty_store: EmptyStore, *, marked: bool
) -> None:
    """What the first compaction kept is out of context with it. It had marked the originals as superseded, or not."""
    href = empty_store.session("s")
    summary = f"{LEGACY_HEADER} sum {{}}\n\n{END_MARKER}"

    def say(name: str, active: int, compacted: int, **more: Any) -> None:
        role = "user" if name in "ac" else "assistant"
        uid = UUID(int=Random(name).getrandbits(128), version=4).hex
        values = {"timestamp": 1000.0 + ord(name), "message_uid": uid, "active": active, "compacted": compacted, **more}
        empty_store.say("s", values.pop("role", role), values.pop("text", name), **values)

    for name in "abcd":
        say(name, 0, int(name in "ab" or not marked))
    say("h", 0, 0, role="user", text=summary.format(1), _compressed_summary=1)
    say("c", 0, 0)
    say("d", 0, 0)
    for name in "ef":
        say(name, 0, int(name == "e"), role="assistant")
    say("i", 1, 0, role="user", text=summary.format(2), _compressed_summary=1)
    say("f", 1, 0, role="assistant")
    page = read(signed_in.get(href))
    newest = page.all("section", "boundary")[-1]
    assert ("do not say whether it was undone" in newest.text) is not marked
    assert len(page.all("section", "boundary")) == (2 if marked else 1)
    links = {link.text: link.attributes["href"] for link in newest.one("div", "undo").all("a")}
    compared = read(signed_in.get(links["Before and after"]))
    assert ("does not say for certain what was sent before" in compared.text) is not marked
    listed = ApiClient(auth.new_token("reads", ["read"])).get(f"{href}/compactions")["items"][-1]
    assert (listed["unsure"], listed["undoable"]) == (not marked, marked)


def test_only_the_newest_can_be_undone_and_the_others_say_why(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    session = f"/stores/hermes/sessions/{hermes_store.session_id}"
    older = read(signed_in.get(f"{session}?around=88")).one(id="b88-undo")
    assert older.one("button").attributes.keys() >= {"disabled"}
    assert older.one("span", "note").text == "Undo the later one first."
    assert older.all("a")[0].attributes["href"] == f"{session}?around=141#b141"
    newer = read(signed_in.get(f"{session}?around=141")).one(id="b141-undo")
    assert newer.all("a")[0].attributes["href"] == f"{lists(hermes_store, 141)}/undo"
    assert "later compaction" in read(signed_in.get(f"{lists(hermes_store, 88)}/undo")).one("main").text


def test_undo_says_what_it_will_do_and_then_does_it(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    asked = read(signed_in.get(f"{lists(hermes_store, 141)}/undo", headers=FRAGMENT))
    assert "44 → 69 messages, summaries counted; 16 later messages stay" in asked.one("form").text
    assert len(hermes_store.live()) == 44
    here = FRAGMENT | {"HX-Current-URL": f"http://testserver/stores/hermes/sessions/{hermes_store.session_id}?around=3"}
    done = read(signed_in.post(f"{lists(hermes_store, 141)}/undo", headers=here))
    assert "69 messages in context again" in done.one(id="said").text
    assert len(hermes_store.live()) == 69
    page = read(signed_in.get(done.one("p", "note").attributes["hx-get"].split("#")[0]))
    assert not page.all("section", "boundary", id="b141")


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("kind", [ClaudeByHand, CodexByHand, PiByHand])
def test_an_undo_offers_a_redo_where_the_kind_of_store_can(
    signed_in: Client, settings: Settings, tmp_path: Path, kind: Callable[[Path], Agent]
) -> None:
    agent = kind(tmp_path / "agent")
    settings.STORES = {"work": agent.url}
    agent.write("s", talk(30))
    run = service.start(get_store("work"), agent.id_of("s"), Options(), apply=True)
    session = f"/stores/work/sessions/{agent.id_of('s')}"
    here = FRAGMENT | {"HX-Current-URL": f"http://testserver{session}"}
    done = read(signed_in.post(f"{session}/boundaries/{run.handoff_id}/undo", headers=here)).one(id="said")
    assert [each.text for each in done.all("button")] == [*["Redo"] * agent.redoes, "Dismiss"]
    for form in done.all("form"):
        signed_in.post(form.attributes["action"])
    assert Run.objects.get().status == ("applied" if agent.redoes else "undone")


def test_what_is_undone_already_says_when_and_the_page_follows(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    undo, session = f"{lists(hermes_store, 141)}/undo", f"/stores/hermes/sessions/{hermes_store.session_id}"
    here = FRAGMENT | {"HX-Current-URL": f"http://testserver{session}?around=141"}
    signed_in.post(undo, headers=here)
    at = Compaction.objects.get(undone=True).undone_at
    assert at
    said = f"Already undone at {timezone.localtime(at):%H:%M}"
    # A second tab still shows the boundary: whatever is pressed there says so and brings its page up to date.
    for ask in (signed_in.get, signed_in.post):
        answer = read(ask(undo, headers=here), 409)
        assert said in answer.one(id="said").text
        assert "141" not in answer.one("p", "note").attributes["hx-get"].split("#")[0]
        assert not read(signed_in.get(answer.one("p", "note").attributes["hx-get"].split("#")[0])).all(id="b141")
    for part in ("branch", "kept", "summarised", "details"):
        assert (
            said in read(signed_in.get(f"{lists(hermes_store, 141)}/{part}", headers=here), 409).one(id="said").text
        ), part
    assert said in read(signed_in.get(undo), 409).one("main").text
    assert said in read(signed_in.post(undo), 409).one("main").text
    old = signed_in.get(f"{session}?around=141")
    assert old.status_code == 302
    assert "undone" not in read(signed_in.get(f"{lists(hermes_store, 1)}/undo"), 404).one("main").text


def test_undo_works_without_htmx(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    hermes_store = open_hermes_store(31)
    newest = hermes_store.rows(
        "SELECT MAX(id) FROM messages WHERE session_id = ? AND _compressed_summary = 1", hermes_store.session_id
    )[0][0]
    form = read(signed_in.get(f"{lists(hermes_store, newest)}/undo")).one("main").one("form")
    answer = signed_in.post(form.attributes["action"])
    assert answer.status_code == 302
    assert "HX-Redirect" not in answer
    assert read(signed_in.get(answer["Location"].split("#")[0])).one("h1").text == "Airline desk, week 29"


def test_undo_from_its_own_page_leads_back_to_the_session(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    href = f"{lists(hermes_store, 141)}/undo"
    answer = signed_in.post(href, headers=FRAGMENT | {"HX-Current-URL": f"http://testserver{href}"})
    assert answer["HX-Redirect"].startswith(f"/stores/hermes/sessions/{hermes_store.session_id}?around=")


def test_undo_leads_to_the_session_where_what_the_tail_began_with_is_taken_back(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    hermes_store = open_hermes_store(31)
    handoff = service.start(hermes_store.store, hermes_store.session_id, Options(keep_last=4), apply=True).handoff_id
    assert handoff
    live = hermes_store.rows("SELECT id FROM messages WHERE session_id = ? AND active = 1", hermes_store.session_id)
    for _ in [row for row in live if row[0] > handoff]:
        hermes_store.take_back_newest()
    session = f"/stores/hermes/sessions/{hermes_store.session_id}"
    answer = signed_in.post(f"{lists(hermes_store, handoff)}/undo")
    assert answer.status_code == 302 and answer["Location"] == session
    assert signed_in.get(session).status_code == 200
    again = read(signed_in.post(f"{lists(hermes_store, handoff)}/undo"), 409).one("main")
    assert "Already undone" in again.text
    assert session in [link.attributes["href"] for link in again.all("a")]
    old = signed_in.get(f"{session}?around={handoff}")
    assert (old.status_code, old["Location"]) == (302, session)


def test_a_refused_undo_is_said_in_place(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    hermes_store = open_hermes_store(21)
    answer = read(signed_in.post(f"{lists(hermes_store, 88)}/undo", headers=FRAGMENT), 409)
    assert "undo that one first" in answer.one(role="alert").text
    assert read(signed_in.post(f"{lists(hermes_store, 88)}/undo"), 409).one("h1")


def test_boundaries_of_split_sessions_cannot_be_undone(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(16, "Airline desk, week 30 #4")
    session = f"/stores/hermes/sessions/{hermes_store.session_id}"
    toc = read(signed_in.get(session)).one("div", "toc").all("li", "cut")
    assert len(toc) == 2 and "more" in toc[0].attributes["class"], "the first is in the part before"
    newest = toc[-1].all("a")[-1].attributes["href"].split("#b")[1]
    page = read(signed_in.get(f"{session}?around={newest}"))
    assert "schema 16" in page.one(id=f"b{newest}-undo").text
    older = toc[0].all("a")[0].attributes["href"].split("#b")[1]
    reason = read(signed_in.get(f"{session}?around={older}")).one(id=f"b{older}-undo").one("span", "note")
    assert reason.text == "A later compaction came after this one." and reason.one("a").text == "later compaction"


def test_a_handoff_shows_its_directive_folded_and_its_text_as_text(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    for number in range(6):
        empty_store.say("s", ("user", "assistant")[number % 2], f"message {number}", active=0, compacted=1)
    row = empty_store.say(
        "s",
        "user",
        "[CONTEXT SUMMARY]: ## Goal\n- <b>bold</b> & brave\n\n"
        "--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---",
        _compressed_summary=1,
    )
    empty_store.say("s", "assistant", "going on")
    section = read(signed_in.get(href)).one("section", id=f"b{row}")
    assert "<b>bold</b> & brave" in section.one(cls="body").text
    assert "[CONTEXT SUMMARY]" not in section.one(cls="body").text
    assert "[CONTEXT SUMMARY]:" in section.one("details", "directive").text


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("at_once")
def test_a_compaction_made_here_shows_the_numbers_its_run_counted_before_anything_else_has(
    signed_in: Client, chat_store: HermesStore, counted: Callable[[str, str], None]
) -> None:
    path, api_client = "/stores/hermes/sessions/small", ApiClient(auth.new_token("tool", auth.SCOPES))
    run_id = api_client.call("POST", f"{path}/runs", {"apply": True})[1]["id"]
    run = Run.objects.get(pk=run_id)

    def shown() -> list[str]:
        page = read(signed_in.get(f"{path}?around={run.handoff_id}"))
        return page.one("h2", id=f"b{run.handoff_id}-line").text.split(" tokens, ")[:1]

    at_once = shown()
    (listed,) = api_client.get(f"{path}/compactions")["items"]
    counted("hermes", "small")
    assert run.tokens_before and run.tokens_after
    said = f"Compacted {formats.thin(run.tokens_before)} → {formats.thin(run.tokens_after)}"
    assert at_once == shown() == [said]
    assert (listed["tokens_before"], listed["tokens_after"]) == (run.tokens_before, run.tokens_after)
