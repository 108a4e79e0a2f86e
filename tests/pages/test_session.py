"""The session page: History in windows."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from django.test import Client

from tests.factories.stores import EmptyStore, HermesStore
from tests.html import message_ids, read
from tests.slow import slow

FRAGMENT = {"HX-Request": "true"}


def address(hermes_store: HermesStore) -> str:
    return f"/stores/hermes/sessions/{hermes_store.session_id}"


def every_window(client: Client, first: str) -> tuple[list[int], list[str], list[str]]:
    """Message ids, boundary lines and texts of messages over all windows, walked by the links for earlier ones."""
    ids: list[int] = []
    lines: list[str] = []
    texts: list[str] = []
    href, headers = first, dict[str, str]()
    while href:
        page = read(client.get(href, headers=headers))
        ids = message_ids(page) + ids
        lines = [section.one(cls="line").text for section in page.all("section", "boundary")] + lines
        texts += [article.text for article in page.all("article")]
        links = page.all("a", "earlier")
        href, headers = (links[0].attributes["hx-get"] if links else ""), FRAGMENT
    return ids, lines, texts


def test_works(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    page = read(signed_in.get(address(open_hermes_store(21))))
    assert page.one("h1").text == "Airline desk, week 29"
    assert "43 of 124 messages and the summary in context" in page.one(cls="meta").text
    assert len(message_ids(page)) >= 60
    assert page.one("div", "toc").all("li", "cut")
    assert page.one("a", "earlier").text == "64 earlier messages"


@pytest.mark.parametrize(
    ("version", "first", "second"),
    [(21, "84 → 29 messages", "53 → 28 messages"), (31, "84 → 29 messages", "53 → 24 messages")],
)
def test_each_message_once_over_all_windows(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], version: int, first: str, second: str
) -> None:
    ids, lines, texts = every_window(signed_in, address(open_hermes_store(version)))
    assert len(ids) == len(set(ids)) == 124
    assert ids == sorted(ids)
    assert len(lines) == 2
    assert first in lines[0]
    assert second in lines[1]
    assert all("by Hermes" in line for line in lines)
    assert not [text for text in texts if "CONTEXT COMPACTION" in text or "END OF CONTEXT SUMMARY" in text]


def test_every_window_leads_to_the_first_and_the_newest_message(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    ids = empty_store.chat("s", 250)
    for address in (href, f"{href}?around={ids[125]}", f"{href}/context", f"{href}/rows"):
        links = read(signed_in.get(address)).one("form", "seek").all("a")
        assert [link.attributes["href"] for link in links] == [f"{href}?at=first", f"{href}?at=newest"], address
    assert read(signed_in.get(empty_store.session("t"))).all("form", "seek") == []


def test_a_session_opens_at_its_newest_window(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    ids = empty_store.chat("s", 250)
    opened = read(signed_in.get(href))
    assert message_ids(opened) == ids[-60:] and opened.all("a", "later") == []
    assert opened.one("div", "history").attributes.keys() == {"class", "data-newest"}
    for query in (f"around={ids[-1]}", f"before={ids[-1]}", f"after={ids[-9]}"):
        assert "data-newest" not in read(signed_in.get(f"{href}?{query}")).one("div", "history").attributes, query


@pytest.mark.parametrize(
    ("said", "listed"),
    [
        ("# Fix `totals.py`\n\n- [ ] **Run** the tests", "Fix totals.py Run the tests"),
        ("Thank you, you too!###STOP###", "Thank you, you too!"),
        ("###STOP###", "A message without words"),
        ("see [the docs](http://x.example/y)", "see the docs"),
        ("```py\nprint(1) ** 2\n```", "print(1) ** 2"),
        ("__init__ of a_b", "__init__ of a_b"),
    ],
)
def test_the_contents_are_words_without_markdown_and_markers(
    signed_in: Client, empty_store: EmptyStore, said: str, listed: str
) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "user", said)
    assert read(signed_in.get(href)).one("ol", id="toc").one("a").text == listed


def test_landmarks_have_names_and_states_a_legend(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    page = read(signed_in.get(f"/stores/hermes/sessions/{hermes_store.session_id}"))
    names = [form.attributes.get("aria-label") for form in page.all("form", role="search")]
    assert len(names) == len(set(names)) == 2 and None not in names
    legend = page.one("p", "legend")
    assert [word.text for word in legend.all("button", "term")] == ["in context", "summarised away"]
    assert "still here and in search" in legend.text
    assert "Times are in " in page.one("p", "zone").text


def test_every_page_of_a_session_says_how_to_resume_it(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    command = f"hermes --resume {hermes_store.session_id}"
    for view in ("", "/context", "/rows"):
        head = read(signed_in.get(f"/stores/hermes/sessions/{hermes_store.session_id}{view}")).one("div", "head")
        copies = head.all("button", "resume", **{"data-copy-text": command})
        assert [button.text for button in copies] == ["Copy resume command"] * 2, "in the menu where there is no room"
        assert command in head.one("noscript").text


def test_what_no_agent_resumes_has_no_command(signed_in: Client, demo: Callable[[str], str]) -> None:
    page = read(signed_in.get(demo("Lisbon in October, five people and a dog")))
    assert not page.all("button", "resume") and "--resume" not in page.one("div", "head").text


def test_a_resume_command_with_a_key_is_left_out_where_secrets_are_redacted(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    key = "ghp_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYabcd"
    href = empty_store.session(key)
    assert key in read(signed_in.get(href)).all("button", "resume")[0].attributes["data-copy-text"]
    signed_in.post("/redact", {"redact": "1", "next": "/"})
    page = read(signed_in.get(href))
    assert not page.all("button", "resume"), "half a command is none"
    copied = [button.attributes.get("data-copy-text", "") for button in page.all("button")]
    assert not [text for text in copied if key in text]
    assert key not in page.one("section", id="plan").text


def test_the_first_heading_is_the_session_and_the_timeline_needs_no_script(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    page = read(signed_in.get(address(open_hermes_store(21))))
    assert [element.tag for element in page.walk() if element.tag in ("h1", "h2")][0] == "h1"
    assert page.one("div", "toc").attributes["aria-label"] == "In this session"
    drawing = page.one("figure", "timeline").one("noscript").one("a").attributes["href"]
    assert read(signed_in.get(drawing)).one("figure", "timeline").one("svg")


@pytest.mark.slow
def test_windows_downwards_join_those_upwards(signed_in: Client, empty_store: EmptyStore) -> None:
    first = empty_store.session("s")
    empty_store.chat("s", 250)
    upwards, _, _ = every_window(signed_in, first)
    page = read(signed_in.get(f"{first}?around={upwards[100]}"))
    downwards = message_ids(page)
    assert page.all("a", "earlier")
    while links := page.all("a", "later"):
        page = read(signed_in.get(links[0].attributes["hx-get"], headers=FRAGMENT))
        assert not page.all("html")
        downwards += message_ids(page)
    assert downwards == upwards[upwards.index(downwards[0]) :]


def test_results_stay_with_their_calls_at_every_edge(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    for turn in range(30):  # of 7 rows, so that windows of 60 begin and end within them
        empty_store.say("s", "user", "go on")
        empty_store.say(
            "s", "assistant", None, tool_calls=[empty_store.call("f", f"{turn}-{number}") for number in range(5)]
        )
        for number in range(5):
            empty_store.say("s", "tool", "done", tool_call_id=f"{turn}-{number}")
    headers: dict[str, str] = {}
    while href:
        page = read(signed_in.get(href, headers=headers))
        assert not page.all("article", "tool")
        assert all(len(article.all("details", "tool")) == 5 for article in page.all("article", "assistant"))
        links = page.all("a", "earlier")
        href, headers = (links[0].attributes["hx-get"] if links else ""), FRAGMENT


def test_a_permalink_opens_its_window_and_marks_the_message(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    page = read(signed_in.get(f"{address(open_hermes_store(21))}?around=60"))
    assert [element.attributes["id"] for element in page.all(cls="marked")] == ["m60"]
    assert page.all("a", "earlier")
    assert page.all("a", "later")


def test_any_row_of_a_message_leads_to_it(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    hermes_store = open_hermes_store(21)
    copy = hermes_store.rows("SELECT MAX(id) FROM messages WHERE session_id = ? AND id < 138", hermes_store.session_id)[
        0
    ][0]
    answer = signed_in.get(f"{address(hermes_store)}?around=86")  # a copy of the head, before the first handoff
    assert answer.status_code == 302
    assert answer["Location"] == f"{address(hermes_store)}?around=2#m2"
    assert read(signed_in.get(f"{address(hermes_store)}?around={copy}")).one("h1")


def test_a_boundary_stands_directly_before_the_first_message_it_kept(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    page = read(signed_in.get(f"{address(hermes_store)}?around=88"))
    section = page.one("section", "boundary", id="b88")
    assert "marked" in section.classes
    history = page.one(cls="history")
    order = [item for item in history.walk() if item.tag in ("article", "section") and "id" in item.attributes]
    following = order[order.index(section) + 1]
    kept = read(signed_in.get(f"{address(hermes_store)}/boundaries/88/kept", headers=FRAGMENT))
    hrefs = [item.one("a").attributes["href"] for item in kept.all("li")]
    assert any(href.endswith(f"#{following.attributes['id']}") for href in hrefs)
    assert not any(href.endswith(f"#{order[order.index(section) - 1].attributes['id']}") for href in hrefs)


def test_messages_summarised_away_say_so(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    page = read(signed_in.get(f"{address(open_hermes_store(21))}?around=30"))
    articles = {row: article for article in page.all("article") if (row := int(article.attributes["id"][1:]))}
    away = {row for row, article in articles.items() if "away" in article.classes}
    assert away == {row for row in articles if row > 3} and 0 < len(away) < len(articles)
    assert away == {row for row, each in articles.items() if "summarised away" in each.attributes["aria-label"]}


@pytest.mark.slow
def test_a_part_of_a_chain_opens_its_newest(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    first = open_hermes_store(16, "Airline desk, week 30")
    newest = first.rows("SELECT id FROM sessions WHERE title = 'Airline desk, week 30 #4'")[0][0]
    answer = signed_in.get(f"{address(first)}?around=1100")
    assert answer.status_code == 302
    assert answer["Location"] == f"/stores/hermes/sessions/{newest}?around=1100#m1100"
    page = read(signed_in.get(answer["Location"].split("#")[0]))
    assert "4 parts" in page.one(cls="meta").text
    ids, lines, texts = every_window(signed_in, f"/stores/hermes/sessions/{newest}")
    assert len(ids) == len(set(ids))
    assert [line.split(" tokens, ")[1].split(" messages")[0] for line in lines] == [
        "416 → 126",
        "234 → 122",
        "246 → 79",
    ]
    assert not [text for text in texts if "[CONTEXT COMPACTION" in text]


@pytest.mark.parametrize("title", ["Merged carrier 92", "Merged carrier 98"])
@pytest.mark.parametrize("version", [*slow(21), 31])
def test_a_merged_row_is_a_boundary_and_a_message(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], version: int, title: str
) -> None:
    hermes_store = open_hermes_store(version, title)
    page = read(signed_in.get(address(hermes_store)))
    section = page.one("section", "boundary")
    carrier = int(section.attributes["id"][1:])
    role = hermes_store.rows("SELECT role FROM messages WHERE id = ?", carrier)[0][0]
    read_as = read(signed_in.get(f"{address(hermes_store)}/context"))
    handoff = read_as.one("section", "handoff", id=f"h{carrier}")
    assert f"in the role of {role}" in handoff.text
    assert read_as.one("article", role, id=f"m{carrier}")
    for view in (page, read_as):
        assert not [article for article in view.all("article") if "CONTEXT" in article.text]


@pytest.mark.slow
def test_more_messages_mean_no_more_work(signed_in: Client, empty_store: EmptyStore, statements: list[str]) -> None:
    """Once it was looked at: of a long session the same statements are run, for as many rows."""
    work = []
    for name, size in (("short", 300), ("long", 900)):
        href = empty_store.session(name)
        ids = empty_store.chat(name, size)
        addresses = [href, f"{href}?around={ids[size // 2]}", f"{href}/context", f"{href}/rows", f"{href}/timeline"]
        fragments = [f"{href}?before={ids[200]}", f"{href}?after={ids[50]}"]
        for headers, asked in ({}, [*addresses, *fragments]), (FRAGMENT, fragments):
            statements.clear()
            for address in asked:
                read(signed_in.get(address, headers=headers))
        work.append([re.sub(r"\d+|short|long", "0", statement) for statement in statements])
        assert all(
            " LIMIT " in each or " id " in each or "sqlite_master" in each or "PRAGMA" in each for each in work[-1]
        )
    assert work[0] == work[1] != []


def test_a_page_opens_its_store_once(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], statements: list[str]
) -> None:
    """The panel's plan, which a short session has at once, reads over the same connection."""
    href = f"/stores/hermes/sessions/{open_hermes_store(31, 'Airline request 24/2').session_id}"
    assert "Preview" in read(signed_in.get(href)).text
    for address in (href, f"{href}/plan"):
        statements.clear()
        read(signed_in.get(address))
        assert len([each for each in statements if "sqlite_master LIMIT 1" in each]) == 1


def test_session_text_is_shown_as_text(signed_in: Client, empty_store: EmptyStore) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(2)> </div></main> [x](javascript:alert(3))"
    href = empty_store.session("hostile", title=hostile[:90])
    calls = [empty_store.call(hostile, "c1", path=hostile)]
    empty_store.say("hostile", "user", hostile)
    empty_store.say("hostile", "assistant", hostile, reasoning=hostile, tool_calls=calls)
    empty_store.say("hostile", "tool", hostile, tool_call_id="c1", tool_name=hostile)
    empty_store.say("hostile", hostile, hostile)
    page = read(signed_in.get(href))
    assert not page.all("img")
    assert [script.attributes.get("src", "")[:8] for script in page.all("script")] == ["/static/"] * 3
    assert not [e for e in page.walk() if any(name.startswith("on") or name == "style" for name in e.attributes)]
    assert not [link for link in page.all("a") if link.attributes.get("href", "").startswith("javascript")]
    for article in page.all("article"):
        assert article.text.count("<script>alert(1)</script>") >= 1
    assert "</div></main>" in page.all("article")[0].text


@pytest.mark.parametrize(
    "content",
    [
        "\x00json:{broken",
        "a\x00b\x1b[31mred\x1b[0m",
        ["\ud800", {"type": "text", "text": "\udfff"}],
        {"a": {}},
        [],
        None,
        7,
        [[]],
        "",
    ],
)
def test_no_content_breaks_the_page(signed_in: Client, empty_store: EmptyStore, content: object) -> None:
    href = empty_store.session("odd")
    for role in ("user", "assistant", "tool", "system", "session_meta", "oracle"):
        empty_store.say("odd", role, content)
    assert len(message_ids(read(signed_in.get(href)))) == 6
    assert read(signed_in.get(f"{href}/context")).one("h1")
    assert read(signed_in.get(f"{href}/rows")).one("h1")


@pytest.mark.slow
def test_ten_megabytes_are_cut_and_can_be_read_on(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("huge")
    row = empty_store.say("huge", "tool", "line of output\n" * 700_000, tool_name="terminal")
    answer = signed_in.get(href)
    assert len(answer.content) < 100_000
    link = read(answer).one("p", "rest").one("a")
    assert link.attributes["href"] == f"{href}/messages/{row}?part=content"
    whole = read(signed_in.get(link.attributes["href"]))
    assert len(whole.one("pre").text) > 150_000
    assert "from=200000" in whole.one("p", "rest").one("a").attributes["href"]


def test_an_empty_session_says_so(signed_in: Client, empty_store: EmptyStore) -> None:
    assert "No messages yet." in read(signed_in.get(empty_store.session("empty"))).one("main").text


def test_a_message_that_was_taken_back_is_not_shown(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "user", "stays")
    gone = empty_store.say("s", "user", "goes", active=0)
    assert "goes" not in read(signed_in.get(href)).one("main").text
    for query in (f"around={gone}", f"around={gone}&only=prompts", "around=999"):
        page = read(signed_in.get(f"{href}?{query}"), 404)
        assert re.match(r"No message here has the id #\d+: it was taken back", page.one(id="at-problem").text)
        assert "stays" in page.one("article", "marked").text, "the nearest is shown"
    led = signed_in.get(f"{href}?at=%23{gone}")
    assert led["Location"] == f"{href}?around={gone}#m{gone}", "so it is where somebody goes to it"


@pytest.mark.parametrize(
    ("href", "title", "first"),
    [
        ("/stores/own/sessions/none", "There is no such session", "/?store=own"),
        ("/stores/none/sessions/s", "There is no such store", "/stores"),
        ("/?store=none", "There is no such store", "/stores"),
        ("/stores/own/sessions/s?around=99", "This is not in the session", "/stores/own/sessions/s"),
        ("/runs/99", "There is no such run", "/compactions"),
    ],
)
def test_what_does_not_exist_is_a_designed_404(
    signed_in: Client, empty_store: EmptyStore, href: str, title: str, first: str
) -> None:
    """Trying again would not help: the first button leads to where the reader goes on."""
    empty_store.session("s")
    page = read(signed_in.get(href), 404)
    assert page.one("h1").text == title
    assert page.one("header", "top")
    buttons = page.one("p", "actions").all("a")
    assert [buttons[0].attributes["href"], "primary" in buttons[0].classes] == [first, True]
    assert "Try again" not in [button.text for button in buttons]


def test_a_link_that_was_cut_off_leads_to_its_session(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("20260714_abcdef", title="The one")
    empty_store.session("20260715_fedcba", title="Another")
    cut = read(signed_in.get("/stores/own/sessions/20260714_abc"), 404).one("section", "projects")
    assert [(link.text, link.attributes["href"]) for link in cut.all("a")] == [
        ("The one", "/stores/own/sessions/20260714_abcdef")
    ]
    unlike = read(signed_in.get("/stores/own/sessions/none"), 404).one("section", "projects")
    assert {link.text for link in unlike.all("a")} == {"The one", "Another"}


def test_a_missing_file_is_a_designed_503(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.path.unlink()
    page = read(signed_in.get(href), 503)
    assert "cannot be read" in page.one("main").text
    assert [link.text for link in page.one("p", "actions").all("a")] == ["Try again", "Stores", "All sessions"]


@pytest.mark.parametrize("path", ["/boundaries/999/before-after", "/boundaries/999/details"])
def test_a_compaction_that_is_not_there_leads_to_its_session(
    signed_in: Client, empty_store: EmptyStore, path: str
) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "user", "hello")
    page = read(signed_in.get(href + path), 404).one("main")
    assert "999" in page.text and page.one("a", "primary").attributes["href"] == href
    nowhere = read(signed_in.get(f"{href}-nowhere{path}"), 404).one("main")
    assert "Back to the session" not in nowhere.text, "there is no such session"


def test_a_query_that_means_nothing_is_left_out(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "user", "hello")
    for query in ("around=abc", "before=-1", "after=99999999999999999999999", "around=１"):
        assert message_ids(read(signed_in.get(f"{href}?{query}"))) == [1]


def test_pages_need_a_signed_in_browser(client: Client, db: None) -> None:
    for href in ("/", "/stores", "/compactions", "/stores/demo/sessions/x", "/runs/1"):
        assert client.get(href)["Location"] == "/sign-in/"


def test_reading_leaves_the_store_as_it_is(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    hermes_store = open_hermes_store(31)
    with closing(sqlite3.connect(hermes_store.path)) as con:
        before = list(con.iterdump())
    for view in ("", "/context", "/rows", "/timeline", "/plan", "?around=30"):
        assert signed_in.get(address(hermes_store) + view).status_code == 200
    with closing(sqlite3.connect(hermes_store.path)) as con:
        assert list(con.iterdump()) == before


def test_sessions_that_belong_together_are_linked(signed_in: Client, empty_store: EmptyStore) -> None:
    def marked(**config: str) -> str:
        return json.dumps({f"_{name}": value for name, value in config.items()})

    root = empty_store.session("root", title="The beginning")
    for name, config in (
        ("b1", marked(branched_from="root")),
        ("d1", marked(delegate_from="root")),
        ("d2", marked(delegate_from="root")),
        ("other", "{not json"),
    ):
        empty_store.session(name, title=f"Title of {name}", parent_session_id="root", model_config=config)
    header = read(signed_in.get(root)).one("header", "about")
    assert [line.text.replace(" ,", ",") for line in header.all("p", "kin")] == [
        "Branches: Title of b1",
        "Sub-agent sessions: Title of d1, Title of d2",
        "Followed by: Title of other",
    ]
    assert header.all("p", "kin")[1].all("a")[1].attributes["href"] == "/stores/own/sessions/d2"
    back = {
        name: read(signed_in.get(f"/stores/own/sessions/{name}")).one("header", "about") for name in ("d1", "other")
    }
    assert back["d1"].one("p", "kin").text == "Sub-agent session of: The beginning"
    assert back["other"].one("p", "kin").text == "Follows: The beginning"
    assert back["d1"].one("p", "kin").one("a").attributes["href"] == root


def test_the_parts_of_a_conversation_lead_to_their_rows(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("old", title="Long talk", end_reason="compression", ended_at=5.0)
    empty_store.chat("old", 4)
    tip = empty_store.session("new", title="Long talk #2", parent_session_id="old")
    empty_store.chat("new", 3)
    kin = read(signed_in.get(tip)).one("header", "about").one("p", "kin")
    assert kin.text.replace(" ,", ",") == "Raw rows of its parts: part 1, part 2"
    rows = read(signed_in.get(kin.all("a")[0].attributes["href"]))
    assert len(rows.all("details", "raw")) == 4


def test_a_long_session_says_about_until_its_tokens_are_counted(
    signed_in: Client, empty_store: EmptyStore, counted: Callable[[str, str], None]
) -> None:
    href = empty_store.session("s")
    empty_store.chat("s", 400)
    assert "about " in read(signed_in.get(href)).one(id="fill").text
    counted("own", "s")
    assert "about " not in read(signed_in.get(href)).one(id="fill").text


def test_a_session_with_hundreds_of_prompts_lists_those_around_its_window(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    href = empty_store.session("s")
    ids = empty_store.chat("s", 1_000)
    contents = read(signed_in.get(f"{href}?around={ids[500]}")).one("div", "toc")
    assert len(contents.all("li")) == 80 + 2, "prompts, and what lies before and after them"
    assert {item.text for item in contents.all("li") if item.one("a").attributes["href"].startswith("#")} == {
        f"s {at}" for at in range(470, 530, 2)
    }
    earlier, later = (item.one("a").attributes["href"] for item in contents.all("li", "more"))
    assert [earlier, later] == [f"{href}/contents?before=209", f"{href}/contents?after=289"]


@pytest.mark.parametrize(
    ("noted", "shown"),
    [
        ({"input_tokens": 20_000, "output_tokens": 1_200, "cache_read_tokens": 10_000}, "31.2k tokens used in all"),
        (
            {"input_tokens": 900, "actual_cost_usd": 0.5, "estimated_cost_usd": 2.0},
            "$0.50, 900 tokens used in all",
        ),
        ({"input_tokens": "many", "output_tokens": float("inf")}, ""),
        ({}, ""),
    ],
)
def test_what_the_agent_noted_of_cost_and_tokens(
    signed_in: Client, empty_store: EmptyStore, noted: dict[str, Any], shown: str
) -> None:
    href = empty_store.session("s", **noted)
    empty_store.chat("s", 2)
    text = read(signed_in.get(href)).text
    assert shown in text and ("used in all" in text) == bool(shown)
