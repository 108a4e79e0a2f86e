"""What the list of sessions offers: orders, numbers, pins, tags, saved views, news, and many sessions at once."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from django.test import Client

from tests.data.own import WEEK_29, WEEK_30
from tests.factories.session_lists import settle
from tests.factories.stores import PRESENT, EmptyStore, HermesStore
from tests.html import Element, read
from viewer.catalog import sync_worker
from viewer.labels.models import SavedView, SessionLabel
from viewer.runs.models import Run

FRAGMENT = {"HX-Request": "true"}


@pytest.fixture
def three(db: None, empty_store: EmptyStore) -> EmptyStore:
    """Sessions a, b and c, last active in this order, with ever fewer messages."""
    for at, (name, title) in enumerate((("a", "Zebra"), ("b", "apple"), ("c", "Mango"))):
        source = "telegram" if name == "b" else "cli"
        empty_store.session(name, title=title, source=source, estimated_cost_usd=at * 2.5 or None)
        for number in range(9 - 3 * at):
            role = "user" if number % 2 == 0 else "assistant"
            empty_store.say(name, role, "word " * 10, timestamp=PRESENT + 100 * at + number)
    sync_worker.sync_all()
    return empty_store


def names(page: Element) -> list[str]:
    return [line.one(cls="title").one("a").text for line in page.all("li", "session")]


def line_of(page: Element, name: str) -> Element:
    return next(line for line in page.all("li", "session") if line.one(cls="title").one("a").text == name)


def edit(client: Client, session_id: str, **fields: str) -> None:
    path = f"/stores/own/sessions/{session_id}/rename"
    form = read(client.get(path)).one("form", "renaming")
    kept = {field.attributes["name"]: field.attributes.get("value", "") for field in form.all("input")}
    kept.pop("pinned")
    assert client.post(path, kept | fields).status_code == 302


# -- orders and numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("title", ["apple", "Mango", "Zebra"]),
        ("tokens", ["Zebra", "apple", "Mango"]),
        ("messages", ["Zebra", "apple", "Mango"]),
        ("cost", ["Mango", "apple", "Zebra"]),
        ("recent", ["Mango", "apple", "Zebra"]),
    ],
)
def test_orders(
    signed_in: Client, three: EmptyStore, monkeypatch: pytest.MonkeyPatch, order: str, expected: list[str]
) -> None:
    from viewer.pages.sessions import views

    assert names(read(signed_in.get(f"/?order={order}"))) == expected
    monkeypatch.setattr(views, "PAGE", 1)
    page, found = read(signed_in.get(f"/?order={order}")), []
    for _ in range(3):
        found += names(page)
        more = page.all("a", "neighbour")
        page = read(signed_in.get("/" + more[0].attributes["hx-get"], headers=FRAGMENT)) if more else page
    assert found == expected, "from any place on"


def test_a_column_and_an_order_by_cost_only_where_one_is_known(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a", title="Free")
    empty_store.say("a", "user", "hello")
    page = read(signed_in.get("/"))
    assert [head.text for head in page.one("div", "list-heads").all("a")] == [
        "Session", "Context", "Messages", "Last active",
    ]  # fmt: skip
    assert "cost" not in [link.text for link in page.one(id="facets").all("a")]
    empty_store.session("b", title="Paid", estimated_cost_usd=2.5)
    empty_store.say("b", "user", "hello")
    sync_worker.sync_all()
    page = read(signed_in.get("/"))
    assert "Cost" in [head.text for head in page.one("div", "list-heads").all("a")]
    assert "cost" in [link.text for link in page.one(id="facets").all("a")]
    assert line_of(page, "Paid").one(cls="cost").text == "$2.50"


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("after", ["", "[]", "[1]", '["x", "a", 1]', "[null, null, null]", "[1e999, 3, 2]", "[" * 5000])
def test_a_broken_place_is_the_beginning(signed_in: Client, after: str) -> None:
    assert len(names(read(signed_in.get("/", {"after": after})))) == 3


@pytest.mark.usefixtures("three")
def test_the_total_and_a_number_at_every_choice(signed_in: Client) -> None:
    page = read(signed_in.get("/"))
    assert page.one("b", id="total").text == "3 sessions"
    choices = {link.text for link in page.one(id="facets").all("a")}
    assert {"all 3", "cli 2", "telegram 1"} <= choices
    narrowed = read(signed_in.get("/?source=cli"))
    assert narrowed.one("b", id="total").text == "2 sessions"
    assert {"all 3", "cli 2", "telegram 1"} <= {link.text for link in narrowed.one(id="facets").all("a")}
    assert read(signed_in.get("/?q=zebra")).one("b", id="total").text == "1 session"


def test_a_line_shows_the_words_of_a_search_that_are_not_in_its_name(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    empty_store.session("a", title="Zebra", cwd="/srv/stables")
    empty_store.say("a", "user", "Feed it, brush it & walk it; then <b>cancel</b> the visit of the farrier")
    page = read(signed_in.get("/?q=cancel"))
    matched = page.one("p", "matched")
    assert matched.text.replace("cancel ", "cancel") == "…& walk it; then <b>cancel</b> the visit of the farrier"
    assert [mark.text for mark in matched.all("mark")] == ["cancel"]
    for q, marks in (("zebra", []), ("zebra farrier", ["farrier"]), ("srv", ["srv"]), ("stables", []), ("", [])):
        page = read(signed_in.get(f"/?q={q}"))
        assert len(page.all("li", "session")) == 1
        assert [mark.text for each in page.all("p", "matched") for mark in each.all("mark")] == marks, q


def test_what_the_agent_notes_of_a_session_is_read(signed_in: Client, three: EmptyStore) -> None:
    assert not read(signed_in.get("/?order=title")).all("span", "pin")
    three.session("d", title="Kept", git_branch="main", cwd="/home/x/shop", pinned=1, actual_cost_usd=0.5)
    three.say("d", "user", "hello")
    sync_worker.sync_all()
    page = read(signed_in.get("/?order=title"))
    first = page.all("li", "session")[0]
    assert first.one("span", "pin") and first.one(cls="title").one("a").text == "Kept"
    assert "shop on main" in first.one(cls="meta").text
    cost = first.one(cls="cost")
    assert (cost.text, cost.attributes["title"]) == ("$0.50", "about $0.50")
    with closing(sqlite3.connect(three.path)) as con, con:
        con.execute("UPDATE sessions SET pinned = 0")
    sync_worker.sync_all()
    assert not read(signed_in.get("/?order=title")).all("span", "pin")


# -- pins, tags, notes -------------------------------------------------------------------------------------------------


def test_pinned_stand_above_and_nothing_is_written_into_the_store(signed_in: Client, three: EmptyStore) -> None:
    before = three.path.read_bytes()
    edit(signed_in, "a", pinned="1", tags=" sea,  family ,sea", note="ask\nAna")
    page = read(signed_in.get("/"))
    assert names(page) == ["Zebra", "Mango", "apple"]
    line = line_of(page, "Zebra")
    assert [badge.text for badge in line.all("span", "tag")] == ["sea", "family"]
    assert line.one(cls="title").one("span", "note").text == "ask Ana"
    assert three.path.read_bytes() == before
    edit(signed_in, "a", tags="", note="")
    assert names(read(signed_in.get("/"))) == ["Mango", "apple", "Zebra"]
    assert not SessionLabel.objects.exists()


@pytest.mark.usefixtures("three")
def test_a_tag_narrows_the_list(signed_in: Client) -> None:
    edit(signed_in, "a", tags="sea")
    edit(signed_in, "b", tags="sea, land")
    page = read(signed_in.get("/?tag=sea"))
    assert (names(page), page.one("b", id="total").text) == (["apple", "Zebra"], "2 sessions")
    assert names(read(signed_in.get("/?tag=sea&q=zebra"))) == ["Zebra"]
    assert names(read(signed_in.get("/?tag=nothing"))) == []


# -- saved views -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("three")
def test_a_view_is_saved_shown_and_forgotten(signed_in: Client) -> None:
    form = read(signed_in.get("/?source=cli&order=title")).one(cls="views-saved").one("form", "menu-items")
    query = next(field for field in form.all("input") if field.attributes["name"] == "query").attributes["value"]
    answer = signed_in.post("/views", {"query": query, "name": " My  own "})
    assert answer["Location"] == "/?source=cli&order=title"
    assert read(signed_in.get("/")).one(cls="views-saved").one("a").attributes["href"] == "?source=cli&order=title"
    page = read(signed_in.get(answer["Location"])).one(cls="views-saved")
    assert "aria-current" in page.one("a").attributes
    assert signed_in.post("/views", {"query": query, "name": "My own", "forget": "yes"}).status_code == 302
    assert not SavedView.objects.exists()


def test_a_view_leads_nowhere_else(signed_in: Client, db: None) -> None:
    answer = signed_in.post("/views", {"query": "//evil.example&next=x", "name": "n"})
    assert answer["Location"] == "/"


# -- news --------------------------------------------------------------------------------------------------------------


def test_a_look_for_news_is_empty_until_something_is_written(signed_in: Client, three: EmptyStore) -> None:
    settle()
    signed_in.get("/")
    page = read(signed_in.get("/"))
    look = {"known": next(f for f in page.all("input") if f.attributes.get("name") == "known").attributes["value"]}
    assert signed_in.get("/", look, headers=FRAGMENT).status_code == 204
    three.session("d", title="New")
    three.say("d", "user", "hello", timestamp=PRESENT + 999)
    answer = signed_in.get("/", look, headers=FRAGMENT)
    assert names(read(answer))[0] == "New"


# -- many at once ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("at_once")
def test_many_are_compacted_after_a_question(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    open_hermes_store(31)
    titles, keys = ("Airline desk, week 29", "Airline desk, week 30"), [f"hermes/{WEEK_29}", f"hermes/{WEEK_30}"]
    signed_in.get("/")
    asked = read(signed_in.post("/compact", {"session": [*keys, "hermes/none"]})).one("main")
    assert asked.one("h1").text == "Compact 2 sessions?" and not Run.objects.exists()
    assert "1 of those chosen cannot be compacted" in asked.text
    assert all(title in asked.text for title in titles) and "no such session" in asked.text
    fields = [field.attributes for field in asked.one("form").all("input")]
    sent = [field["value"] for field in fields if field["name"] == "session"]
    assert sent == keys
    done = read(signed_in.post("/compact", {"session": sent, "confirm": "yes"})).one("main")
    assert [run.status for run in Run.objects.all()] == ["applied", "applied"]
    hrefs = {link.attributes["href"] for link in done.all("a")}
    assert {f"/runs/{run.pk}" for run in Run.objects.all()} <= hrefs


def test_what_cannot_be_compacted_is_left_out_before_the_question(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    open_hermes_store(16)
    signed_in.get("/")
    for sent, head in (({}, "Nothing to compact"), ({"confirm": "yes"}, "Nothing was compacted")):
        page = read(signed_in.post("/compact", {"session": f"hermes/{WEEK_30}"} | sent)).one("main")
        assert page.one("h1").text == head and "can only split a session in two" in page.text
        assert not page.all("form") and "See the runs" not in page.text
    assert not Run.objects.exists()


@pytest.mark.usefixtures("three")
def test_many_are_exported_into_one_file(signed_in: Client) -> None:
    keys = ["own/a", "own/b", "own/gone"]
    asked = read(signed_in.post("/export", {"session": keys})).one("main")
    assert asked.one("h1").text == "Export 3 sessions"
    answer = signed_in.post("/export", {"session": keys, "format": "md", "redact": "1"})
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == ["not exported.txt", "own/Zebra a.md", "own/apple b.md"]
        assert "word word" in archive.read("own/Zebra a.md").decode()
        assert "own/gone" in archive.read("not exported.txt").decode()


@pytest.mark.usefixtures("db")
def test_nothing_chosen_is_said_and_too_many_are_refused(signed_in: Client) -> None:
    for path in ("/compact", "/export"):
        page = read(signed_in.post(path, {"back": "?q=x"}))
        assert "No session was ticked" in page.one("h1").text
        assert [link.attributes["href"] for link in page.one("main").all("a")] == ["/?q=x"], "back to the same list"
        page = read(signed_in.post(path, {"back": "//elsewhere.example/"}))
        assert [link.attributes["href"] for link in page.one("main").all("a")] == ["/"]
    assert "At most 20" in read(signed_in.post("/compact", {"session": [f"own/{n}" for n in range(21)]}), 409).text


def test_columns_that_are_not_there_are_no_error(signed_in: Client, empty_store: EmptyStore, tmp_path: Path) -> None:
    with closing(sqlite3.connect(empty_store.path)) as con, con:
        for column in ("pinned", "git_branch", "estimated_cost_usd", "actual_cost_usd"):
            con.execute(f"ALTER TABLE sessions DROP COLUMN {column}")
    empty_store.session("a", title="Old")
    empty_store.say("a", "user", "hello")
    sync_worker.sync_all()
    assert names(read(signed_in.get("/?order=cost"))) == ["Old"]
