"""A session may have any id: every page and call can be asked for it, and no row takes a list along."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from tests.browser import Visit
from tests.clients import ApiClient
from tests.factories.stores import EmptyStore
from tests.html import read
from tests.pages.odd_ids import FEW, ODD, ORDINARY, write_odd, write_unaskable
from tests.slow import slow
from viewer.web.url_segments import name_in, segment, session_address

VIEWS = ["", "/context", "/rows", "/timeline", "/plan", "/find?q=zebra", "/branch", "/rename", "/export", "/live"]
FORMATS = ["md", "html", "json", "jsonl"]


@pytest.fixture
def api_client(db: None) -> ApiClient:
    from viewer.web import auth

    return ApiClient(auth.new_token("everything", auth.SCOPES))


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_a_segment_says_its_name_and_is_left_alone_on_the_way(name: str) -> None:
    written = segment(name)
    assert name_in(written) == name
    assert (
        written
        and written not in (".", "..")
        and set(written) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:")
    )  # unreserved (RFC 3986 section 2.3), and the colon, which stands for itself behind a "/"


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_ids_stay_as_they_are(name: str) -> None:
    assert segment(name) == name and session_address("demo", name) == f"/stores/demo/sessions/{name}"


@pytest.mark.parametrize(("text", "name"), [("a b", "a b"), ("é", "é"), ("a~b", "a~b"), ("@x", "@x")])
def test_addresses_of_older_versions_lead_where_they_did(text: str, name: str) -> None:
    assert name_in(text) == name


@pytest.mark.parametrize("text", ["~FF", "~ED~A0~80", "a~00b", "\0"])
def test_what_no_store_holds_is_not_there(
    signed_in: Client, api_client: ApiClient, empty_store: EmptyStore, text: str
) -> None:
    with pytest.raises(ValueError):
        name_in(text)
    signed_in.raise_request_exception = False
    assert signed_in.get(f"/stores/own/sessions/{text.replace(chr(0), '%00')}").status_code == 404
    status, answer = api_client.call("GET", f"/stores/own/sessions/{text.replace(chr(0), '%00')}")
    assert (status, answer["error"]["code"]) == (404, "not_found")


@pytest.mark.slow
def test_every_session_is_listed_with_an_address_that_opens_it(
    signed_in: Client, api_client: ApiClient, empty_store: EmptyStore
) -> None:
    write_odd(empty_store)
    listed = api_client.get("/stores/own/sessions", limit=200)
    assert sorted(each["id"] for each in listed["items"]) == sorted(ODD) and not listed["broken"]
    lines = read(signed_in.get("/?store=own")).all("li", cls="session")
    hrefs = [line.all("a")[0].attributes["href"] for line in lines]
    assert hrefs == [each["address"] for each in listed["items"]]
    for at, session_id in enumerate(ODD):
        href = session_address("own", session_id)
        assert href in hrefs
        for view in VIEWS if session_id in FEW else VIEWS[:1]:
            found = signed_in.get(href + view)
            assert found.status_code in (200, 204), (session_id, view)
        assert f"zebra number {at}" in signed_in.get(href).content.decode()
        for kind in FORMATS if session_id in FEW else FORMATS[:1]:
            assert f"zebra number {at}" in b"".join(signed_in.get(f"{href}/export?format={kind}")).decode()


def test_every_call_answers_with_the_id_itself(client: Client, api_client: ApiClient, empty_store: EmptyStore) -> None:
    write_odd(empty_store)
    for session_id in FEW:
        path = session_address("own", session_id)
        found = api_client.get(path)
        assert (found["id"], found["address"]) == (session_id, path)
        status, added = api_client.call(
            "POST", f"{path}/messages", {"messages": [{"role": "assistant", "content": "Yes."}]}
        )
        assert (status, len(added["ids"])) == (201, 1)
        assert api_client.get(f"{path}/context")["session"] == session_id
        assert [each["content"] for each in api_client.get(f"{path}/messages")["items"]][1:] == ["Yes."]
        for part in ("compactions", "events", "audits"):
            assert api_client.get(f"{path}/{part}")["items"] == []
        found = client.get(f"/api/v1{path}/export", headers={"Authorization": f"Bearer {api_client.token}"})
        assert json.loads(b"".join(found))["session"]["id"] == session_id
        status, changed = api_client.call("PATCH", path, {"title": f"Named {ODD.index(session_id)}", "archived": True})
        assert (status, changed["id"], changed["archived"]) == (200, session_id, True)
        status, made = api_client.call("POST", f"{path}/branches")
        assert (status, made["parent"]) == (201, session_id or None)
    hits = api_client.get("/stores/own/search", q="zebra number", limit=500)
    assert {each["session"]: each["address"] for each in hits["items"]}.items() >= {
        session_id: session_address("own", session_id) for session_id in ODD
    }.items()


@pytest.mark.parametrize("session_id", ["a\r\nb", *slow("", "telegram/123", "..", "☃" * 600)])
def test_a_session_of_any_id_is_compacted_and_undone(
    signed_in: Client, api_client: ApiClient, empty_store: EmptyStore, at_once: None, session_id: str
) -> None:
    empty_store.session(session_id)
    for at in range(40):
        empty_store.say(session_id, ("user", "assistant")[at % 2], f"Message {at}. " + "A refund of ticket 7. " * 60)
    path = session_address("own", session_id)
    status, run = api_client.call("POST", f"{path}/runs", {"apply": True, "keep_last": 4})
    assert (status, run["status"], run["session_id"], run["address"]) == (202, "applied", session_id, path), run
    boundary = api_client.get(f"{path}/compactions")["items"][0]
    page = signed_in.get(f"/runs/{run['id']}").content.decode()
    assert f'href="{path}' in page
    for each in ("summarised", "before-after", "before-after?as=html", "before-after?as=after"):
        assert signed_in.get(f"{path}/boundaries/{boundary['handoff_id']}/{each}").status_code == 200
    assert path in signed_in.get("/compactions").content.decode()
    left = signed_in.post(f"{path}/boundaries/{boundary['handoff_id']}/undo")
    assert left.status_code == 302 and urlsplit(left["Location"]).path == path
    assert api_client.get(f"/runs/{run['id']}")["status"] == "undone"


def test_forms_carry_any_id(signed_in: Client, empty_store: EmptyStore) -> None:
    """A browser sends the line breaks of a form as CR LF, and what is ticked comes back in the receipt's form."""
    write_odd(empty_store)
    page = read(signed_in.get("/?store=own"))
    keys = [box.attributes["value"] for box in page.all("input") if box.attributes.get("form") == "bulk"]
    assert len(keys) == len(ODD) and not any("\n" in key for key in keys)
    done = read(signed_in.post("/archive", {"session": keys, "archived": "yes", "back": "?"}))
    again = [box.attributes["value"] for box in done.all("input") if box.attributes.get("name") == "session"]
    assert again == keys
    for session_id in FEW:
        shown = signed_in.get("/search", {"q": "zebra", "session": segment(session_id)}).content.decode()
        assert shown.count('<li class="hit') == 1
        path = session_address("own", session_id)
        assert signed_in.post(f"{path}/rename", {"title": f"T {ODD.index(session_id)}"})["Location"] == path


def test_rows_that_nobody_can_ask_for_are_counted(
    signed_in: Client, api_client: ApiClient, empty_store: EmptyStore
) -> None:
    empty_store.session("fine", title="Fine")
    write_unaskable(empty_store)
    listed = api_client.get("/stores/own/sessions", limit=100)
    assert ([each["id"] for each in listed["items"]], listed["broken"], listed["next"]) == (["fine"], [], None)
    page = read(signed_in.get("/?store=own"))
    assert [line.all("a")[0].text for line in page.all("li", cls="session")] == ["Fine"]
    remark = "Its sessions have 4 rows with ids that cannot be asked for"
    assert remark in page.text
    assert any(remark in each for each in stores_of(api_client)["own"]["remarks"])
    for address in ("/", "/?q=ab", "/search?q=ab", "/search?q=zebra", "/compactions", "/stores"):
        assert signed_in.get(address).status_code == 200
    assert api_client.get("/stores/own/search", q="zebra")["items"]
    with closing(sqlite3.connect(empty_store.path)) as con, con:
        con.execute("UPDATE sessions SET id = 'mended' WHERE id IS NULL")
    from viewer.catalog import sync_worker

    time.sleep(0.1)  # until the write counts as done
    sync_worker.sync_all()
    assert {each["id"] for each in api_client.get("/stores/own/sessions", limit=100)["items"]} == {"fine", "mended"}


def stores_of(api_client: ApiClient) -> dict[str, Any]:
    return {store["name"]: store for store in api_client.get("/stores")["items"]}


def test_a_line_that_cannot_be_made_leaves_the_others(
    signed_in: Client,
    api_client: ApiClient,
    empty_store: EmptyStore,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name in ("one", "two", "three"):
        empty_store.session(name, title=f"Zebra {name}")
        empty_store.say(name, "user", "zebra")
    from viewer.api import listed, search, stores
    from viewer.pages.search import hits
    from viewer.pages.sessions import lines

    def failing(plain: Any, culprit: str) -> Any:
        def made(*args: Any, **values: Any) -> Any:
            if any(culprit in repr(each) for each in args):
                raise ZeroDivisionError
            return plain(*args, **values)

        return made

    for module, name in ((listed, "session_out"), (search, "hit_out"), (hits, "shown_hit"), (lines, "shown_line")):
        monkeypatch.setattr(module, name, failing(getattr(module, name), "two"))
    monkeypatch.setattr(stores, "store_out", failing(stores.store_out, "name='own'"))
    answer = api_client.get("/stores/own/sessions")
    assert {each["id"] for each in answer["items"]} == {"one", "three"}
    assert [(each["id"], each["store"]) for each in answer["broken"]] == [("two", "own")]
    assert "ZeroDivisionError" in answer["broken"][0]["why"] and "Traceback" in caplog.text
    found = api_client.get("/stores/own/search", q="zebra")
    assert (len(found["items"]), len(found["broken"])) == (2, 1)
    assert [each["id"] for each in api_client.get("/stores")["broken"]] == ["own"]
    for address in ("/?store=own", "/search?q=zebra&store=own"):
        page = read(signed_in.get(address))
        assert len(page.all("li", cls="broken")) == 1
        assert len(page.all("li", cls="session") or page.all("li", cls="hit")) == 2


def test_a_browser_follows_the_link_of_every_session(visit: Visit, empty_store: EmptyStore) -> None:
    write_odd(empty_store)
    page = visit()
    page.goto("/?store=own")
    links = page.eval_on_selector_all("li.session .title a", "all => all.map(a => a.href)")
    assert len(links) == len(ODD)
    for at, link in enumerate(reversed(links)):
        if len(link) > 1_000:
            continue  # the test server looks for a file of this name first, and no file system takes one so long
        if ODD[at] in ("", "/", "..", "telegram/123", "a\r\nb", "\\", "?", "#m1"):  # as it is opened
            page.goto(link)
            assert f"zebra number {at}" in page.inner_text("main")
        else:  # as it is asked for
            assert f"zebra number {at}" in page.request.get(link).text()


def test_the_document_says_how_ids_stand_in_paths(client: Client, db: None) -> None:
    document = json.loads(client.get("/api/v1/openapi.json").content)
    call = document["paths"]["/api/v1/stores/{store}/sessions/{session_id}"]["get"]
    assert all("telegram~2F123" in each["description"] for each in call["parameters"] if each["in"] == "path")
    assert "telegram~2F123" in (Path(__file__).parents[2] / "docs" / "api.md").read_text()
