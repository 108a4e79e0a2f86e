"""*Keep…* at a message: pinned and unpinned, put back and taken back, without JavaScript; and the list of pins."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from compaction.handoff import PUT_BACK_START
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.talk import talk
from tests.clients import ApiClient, session_path
from tests.factories.stores import HermesStore, add_row
from tests.html import Element, read
from viewer.runs.models import Pin
from viewer.web import auth

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.fixture
def api_client() -> ApiClient:
    return ApiClient(auth.new_token("tool", auth.SCOPES))


@pytest.fixture
def place(hermes_store: HermesStore) -> str:
    return session_path(hermes_store)


def message(api_client: ApiClient, place: str, state: str) -> dict[str, Any]:
    """A message with words of its own in this state."""
    items = api_client.get(f"{place}/messages", limit=200)["items"]
    said = (each for each in items if each["state"] == state and each["kind"] == "message")
    return next(each for each in said if isinstance(each["content"], str) and 20 < len(each["content"]) < 1_000)


def press(client: Client, page: Element, label: str) -> Element:
    """The page after a button was pressed, as a browser without scripts sends it."""
    form = next(each for each in page.all("form") if any(button.text == label for button in each.all("button")))
    button = next(each for each in form.all("button") if each.text == label)
    fields = {each.attributes["name"]: each.attributes["value"] for each in form.all("input")}
    fields[button.attributes["name"]] = button.attributes["value"]
    return read(client.post(form.attributes["action"], fields, follow=True))


def labels(page: Element) -> list[str]:
    return [each.text for each in page.one("main").all("button") if "disabled" not in each.attributes]


def test_each_message_has_one_link_to_it(signed_in: Client, api_client: ApiClient, place: str) -> None:
    away = message(api_client, place, "under")
    page = read(signed_in.get(f"{place}?around={away['id']}"))
    [link] = [each for each in page.one(id=f"m{away['id']}").all("a") if each.text == "Keep…"]
    assert link.attributes["href"] == f"{place}/messages/{away['id']}/keep"
    kept = read(signed_in.get(link.attributes["href"])).one("main")
    assert " ".join(away["content"].split()) in " ".join(kept.text.split())
    assert kept.all("a")[0].attributes["href"] == f"{place}?around={away['id']}#m{away['id']}"


def test_no_query_is_added_by_the_links(signed_in: Client, place: str) -> None:
    signed_in.get(place)
    with CaptureQueriesContext(connection) as queries:
        signed_in.get(f"{place}?after=1", headers={"HX-Request": "true"})
    assert not [each for each in queries.captured_queries if Pin._meta.db_table in each["sql"]]


def test_pinned_and_unpinned(signed_in: Client, api_client: ApiClient, place: str) -> None:
    away = message(api_client, place, "under")
    page = read(signed_in.get(f"{place}/messages/{away['id']}/keep"))
    assert re.search(r"It takes [\d.,k]+ tokens\. Pins take at most a tenth of the window: 0 of", page.text)
    page = press(signed_in, page, "Pin")
    assert [pin.message_id for pin in Pin.objects.all()] == [away["id"]]
    assert page.one("div", "receipt").text.split() == ["Pinned.", "Undo"]
    assert "1 pinned message" in page.text and "Unpin" in labels(page) and "Pin" not in labels(page)
    page = press(signed_in, page, "Undo")
    assert page.one("div", "receipt").text.startswith("Unpinned.") and not Pin.objects.exists()
    page = press(signed_in, page, "Undo")
    assert Pin.objects.count() == 1
    assert "Pin" in labels(press(signed_in, page, "Unpin")) and not Pin.objects.exists()


def test_put_back_and_undone(signed_in: Client, api_client: ApiClient, place: str, hermes_store: HermesStore) -> None:
    away, before = message(api_client, place, "under"), hermes_store.live()
    keep = f"{place}/messages/{away['id']}/keep"
    page = read(signed_in.get(keep))
    assert "It was summarised away." in page.text and hermes_store.live() == before
    page = press(signed_in, page, "Put back")
    assert len(hermes_store.live()) == len(before) + 1
    assert page.one("div", "receipt").text.split() == ["Put", "back.", "Undo"]
    assert "Put back" not in labels(page), "it is in context"
    quoting = next(each for each in page.all("a") if each.text == "the message that quotes it").attributes["href"]
    new = int(quoting.rpartition("#m")[2])
    row = read(signed_in.get(quoting)).one(id=f"m{new}")
    assert row.one("summary").text.startswith("Put back from earlier") and "quotations" in row.text
    assert away["content"][:20] in row.one("summary").text and PUT_BACK_START not in row.one("summary").text
    page = press(signed_in, page, "Undo")
    assert hermes_store.live() == before
    assert "Undone" in page.one("div", "receipt").text and "Put back" in labels(page)


def test_it_is_undone_at_the_message_that_quotes(
    signed_in: Client, api_client: ApiClient, place: str, hermes_store: HermesStore
) -> None:
    away, before = message(api_client, place, "under"), hermes_store.live()
    new = api_client.call("POST", f"{place}/put-back", {"messages": [away["id"]]})[1]["id"]
    page = read(signed_in.get(f"{place}/messages/{new}/keep"))
    assert "This message was put back" in page.text
    page = press(signed_in, page, "Undo")
    assert hermes_store.live() == before and page.one(id="reading")


def test_a_message_in_context_is_said_to_be(signed_in: Client, api_client: ApiClient, place: str) -> None:
    live = message(api_client, place, "live")
    page = read(signed_in.get(f"{place}/messages/{live['id']}/keep"))
    assert "It is in context" in page.text and labels(page) == ["Pin"]
    answer = signed_in.post(f"{place}/messages/{live['id']}/keep", {"do": "put-back"})
    assert answer.status_code == 409


def test_while_a_turn_runs_the_page_says_who_runs_it(
    signed_in: Client, api_client: ApiClient, place: str, hermes_store: HermesStore
) -> None:
    away = message(api_client, place, "under")
    hermes_store.start_turn()
    page = read(signed_in.get(f"{place}/messages/{away['id']}/keep"))
    assert "running a turn of this session" in page.text and "Put back" not in labels(page)
    assert signed_in.post(f"{place}/messages/{away['id']}/keep", {"do": "put-back"}).status_code == 409


def test_what_is_too_long_fits_neither(signed_in: Client, place: str, hermes_store: HermesStore) -> None:
    row = add_row(
        hermes_store.path, hermes_store.session_id, content="All. " * 2_000_000, active=0, compacted=1, role="tool"
    )
    page = read(signed_in.get(f"{place}/messages/{row}/keep"))
    assert labels(page) == [] and "It does not fit any more." in page.text and "the window is" in page.text
    assert len(page.text) < 10_000
    for action in ("pin", "put-back"):
        assert signed_in.post(f"{place}/messages/{row}/keep", {"do": action}).status_code == 409


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "a\x00b\x1b[31m", '\x00json:[{"text": "\\ud800", "type": "text"}]']
)
def test_hostile_words_are_shown_and_put_back(
    signed_in: Client, place: str, hermes_store: HermesStore, text: str
) -> None:
    row = add_row(hermes_store.path, hermes_store.session_id, content=text, active=0, compacted=1, role="tool")
    page = press(signed_in, read(signed_in.get(f"{place}/messages/{row}/keep")), "Put back")
    assert "Put back." in page.text and "\x00" not in page.text and not page.one("main").all("script")
    assert read(signed_in.get(f"{place}/pins")).one("main")
    assert "Pinned." in press(signed_in, page, "Pin").text
    assert len(read(signed_in.get(f"{place}/pins")).one("ul", "lost").all("li")) == 1


def test_secrets_are_redacted_for_who_asks_and_written_as_they_are(
    signed_in: Client, place: str, hermes_store: HermesStore
) -> None:
    content = f"The token is {TOKEN}."
    row = add_row(hermes_store.path, hermes_store.session_id, content=content, active=0, compacted=1, role="tool")
    Pin.objects.create(store="hermes", session_id=hermes_store.session_id, message_id=row)
    signed_in.cookies["palimpsest_mask"] = "1"
    page = read(signed_in.get(f"{place}/messages/{row}/keep"))
    assert TOKEN not in page.text and "[redacted" in page.text
    assert TOKEN not in read(signed_in.get(f"{place}/pins")).text
    press(signed_in, page, "Put back")
    [(written,)] = hermes_store.rows("SELECT content FROM messages ORDER BY id DESC LIMIT 1")
    assert content in written


@pytest.mark.parametrize("row", [999_999_999, 2**70])
def test_a_message_that_is_not_there(signed_in: Client, place: str, row: int) -> None:
    assert signed_in.get(f"{place}/messages/{row}/keep").status_code == 404
    assert signed_in.post(f"{place}/messages/{row}/keep", {"do": "pin"}).status_code == 404
    assert signed_in.post(f"{place}/pins", {"message": str(row)}).status_code in (302, 404)
    assert not Pin.objects.exists()


def test_a_message_without_words_has_nothing_to_keep(signed_in: Client, place: str, hermes_store: HermesStore) -> None:
    row = add_row(hermes_store.path, hermes_store.session_id, content="", active=0, compacted=1, role="assistant")
    page = read(signed_in.get(f"{place}/messages/{row}/keep"))
    assert "nothing to pin or to put back" in page.text and labels(page) == []


def test_the_pins_of_a_session_are_listed_and_unpinned(signed_in: Client, api_client: ApiClient, place: str) -> None:
    assert "No message is pinned." in read(signed_in.get(f"{place}/pins")).text
    away = message(api_client, place, "under")
    plan = read(signed_in.get(f"{place}/plan"))
    assert "Pinned messages" not in plan.text
    api_client.call("PUT", f"{place}/pins/{away['id']}")
    reasons = read(signed_in.get(f"{place}/plan")).one("ul", "reasons")
    assert "1 pinned message (" in reasons.text
    page = read(signed_in.get(reasons.all("a")[0].attributes["href"]))
    [line] = page.one("ul", "lost").all("li")
    assert line.one("a").attributes["href"] == f"{place}?around={away['id']}#m{away['id']}"
    assert away["content"][:15] in line.text
    page = press(signed_in, page, "Unpin")
    assert not Pin.objects.exists() and "Unpinned." in page.one("div", "receipt").text
    press(signed_in, page, "Undo")
    assert Pin.objects.get().message_id == away["id"]


def test_a_pin_whose_message_went_can_be_taken_away(signed_in: Client, place: str, hermes_store: HermesStore) -> None:
    Pin.objects.create(store="hermes", session_id=hermes_store.session_id, message_id=999_999)
    page = read(signed_in.get(f"{place}/pins"))
    assert "is not there any more" in page.text
    press(signed_in, page, "Unpin")
    assert not Pin.objects.exists()


def test_a_lost_line_leads_to_where_its_message_is_put_back(
    signed_in: Client, api_client: ApiClient, place: str
) -> None:
    handoff = api_client.get(f"{place}/compactions")["items"][-1]["handoff_id"]
    page = read(signed_in.get(f"{place}/boundaries/{handoff}/details"))
    links = [each for each in page.all("a") if each.text == "Put back…"]
    assert links and all(read(signed_in.get(each.attributes["href"])).one(id="put-back") for each in links[:3])


def test_a_kind_that_cannot_says_so_and_pins(
    signed_in: Client, api_client: ApiClient, settings: Settings, tmp_path: Path
) -> None:
    settings.STORES = {"work": f"claude-code:///{tmp_path}/claude"}
    agent = ClaudeByHand(tmp_path / "claude")
    agent.write("s", talk(30))
    place = f"/stores/work/sessions/{agent.id_of('s')}"
    status, run = api_client.call("POST", f"{place}/runs", {"apply": True, "keep_last": 4})
    assert (status, run["status"]) == (202, "applied"), run
    away = message(api_client, place, "under")
    before = agent.lines("s")
    page = press(signed_in, read(signed_in.get(f"{place}/messages/{away['id']}/keep")), "Pin")
    assert "Pinned." in page.text
    assert "only to those of Hermes Agent" in page.text and "Put back" not in labels(page)
    for method, path in (("POST", "put-back"), ("DELETE", f"put-back/{away['id']}")):
        status, answer = api_client.call(method, f"{place}/{path}", {"messages": [away["id"]]})
        assert (status, answer["error"]["code"]) == (409, "store_read_only")
        assert "only to those of Hermes Agent" in answer["error"]["message"]
    assert agent.lines("s") == before


def test_a_visitor_without_a_session_of_the_site_changes_nothing(
    client: Client, api_client: ApiClient, place: str, hermes_store: HermesStore
) -> None:
    away, before = message(api_client, place, "under"), hermes_store.live()
    client.post(f"{place}/messages/{away['id']}/keep", {"do": "put-back"})
    assert hermes_store.live() == before
