"""Export: each format holds each message once, reads in windows, redacts unless told otherwise, and is safe to open."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import comrak
import pytest
from django.core.management import call_command
from django.test import Client

from compaction.handoff import BY_ENGINE, END_MARKER, LEGACY_HEADER, RULES_CLOSE, with_rules
from tests.clients import ApiClient
from tests.factories.stores import EmptyStore, HermesStore
from tests.html import Element, message_ids, read
from tests.pages.hostile import markdown_bombs
from tests.slow import one_in
from viewer import exports
from viewer.exports import CONTENT_TYPES, Format, View
from viewer.exports.page import POLICY
from viewer.history import index_cache
from viewer.rendering import markdown

pytestmark = pytest.mark.django_db  # Histories are kept in our own database

FORMATS: tuple[Format, ...] = ("md", "html", "json", "jsonl")
VIEWS: tuple[View, ...] = ("history", "live", "raw")
KEY = "ghp_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYabcd"
HANDOFF = f"{LEGACY_HEADER}\n\n## Goal\nTo go on.\n\n{END_MARKER}"


def text_of(store: str, session_id: str, format: Format, view: View = "history", *, redact: bool = True) -> str:
    made = exports.export(store, session_id, format, view, redact=redact)
    return b"".join(made.chunks).decode()


def lines_of(text: str) -> list[dict[str, Any]]:
    """The objects of JSON lines, each on a line however one splits them."""
    return [json.loads(line) for line in text.splitlines()]


def tree(text: str) -> Element:
    class Answer:
        status_code = 200
        content = text.encode()

    return read(Answer())


def headings(markdown: str) -> list[str]:
    """The texts of the second-level headings, as a reader of Markdown finds them."""
    return re.findall(r"<h2>(.*?)</h2>", comrak.render_markdown(markdown), re.DOTALL)


# -- what is in it -----------------------------------------------------------------------------------------------------


def pages_ids(client: Client, href: str) -> list[int]:
    """Ids of all messages of the session page, in order, from the newest window back."""
    page = read(client.get(href))
    ids = message_ids(page)
    while links := page.all("a", "earlier") or [a for a in page.all("a") if "before=" in a.attributes.get("href", "")]:
        page = read(client.get(links[0].attributes["href"]))
        found = message_ids(page)
        ids = [each for each in found if each not in ids] + ids
        if not found:
            break
    return ids


def test_each_message_of_history_stands_once_in_the_order_of_the_page(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    found = json.loads(text_of("hermes", hermes_store.session_id, "json"))
    ids = [message["id"] for message in found["messages"] if message["kind"] == "message"]
    assert len(ids) == len(set(ids)) == found["session"]["messages_total"] == 124
    carried = [row for message in found["messages"] if message["kind"] == "message" for row in message["rows"]]
    assert len(carried) == len(set(carried))
    shown = pages_ids(signed_in, f"/stores/hermes/sessions/{hermes_store.session_id}")
    assert shown == ids
    boundaries = [message for message in found["messages"] if message["kind"] == "handoff"]
    assert [each["id"] for each in boundaries] == [each["handoff_id"] for each in found["boundaries"]]
    assert len(boundaries) == 2 and all(each["summary"] for each in boundaries)
    lines = lines_of(text_of("hermes", hermes_store.session_id, "jsonl"))
    assert [line["id"] for line in lines[1:-1]] == [message["id"] for message in found["messages"]]
    assert [line["boundary"] for line in lines if line["type"] == "handoff"] == found["boundaries"]
    page = tree(text_of("hermes", hermes_store.session_id, "html"))
    assert message_ids(page) == ids and len(page.all("section", "boundary")) == 2
    assert len(headings(text_of("hermes", hermes_store.session_id, "md"))) == len(ids) + 2


def test_the_views_hold_what_they_say(open_hermes_store: Callable[..., HermesStore]) -> None:
    hermes_store = open_hermes_store(21)
    rows = hermes_store.rows(
        "SELECT id, active FROM messages WHERE session_id = ? ORDER BY id", hermes_store.session_id
    )
    raw = json.loads(text_of("hermes", hermes_store.session_id, "json", "raw"))
    assert [message["id"] for message in raw["messages"]] == [row[0] for row in rows]
    live = json.loads(text_of("hermes", hermes_store.session_id, "json", "live"))
    assert list(dict.fromkeys(message["id"] for message in live["messages"])) == [row[0] for row in rows if row[1]]
    for format in FORMATS:
        for view in VIEWS:
            assert text_of("hermes", hermes_store.session_id, format, view)


@pytest.fixture
def odd(empty_store: EmptyStore) -> EmptyStore:
    """A session of everything that is hard to write down."""
    empty_store.session("s", title='Name <b> "q" / \\ ..\u202e\r\n.exe ' + "ü" * 100, system_prompt="Be kind.")
    empty_store.say("s", "user", "```\nnot closed\n## Not a heading\n<!-- not a comment")
    empty_store.say("s", "user", "## Assistant · forged\n\nAlso forged\n-----------\n<script>alert(1)</script>\n# One")
    empty_store.say("s", "assistant", "`````\nlong\n`````\n![far](https://far.example/a.png) [a](javascript:alert(1))")
    empty_store.say(
        "s", "assistant", None, tool_calls=[empty_store.call("sh", "c1", command="echo '```````'", text="~~~~")]
    )
    empty_store.say("s", "tool", "out\n``````\n\x1b[31mred\x1b[0m \x07", tool_call_id="c1", tool_name="sh")
    empty_store.say("s", "assistant", [{"type": "text", "text": "a\x00b \ud800 c"}, {"type": "odd", "x": [1.5]}])
    image = "data:image/png;base64,iVBORw0KGgo="
    empty_store.say("s", "user", [{"type": "image_url", "image_url": {"url": image}}, {"type": "text", "text": "look"}])
    empty_store.say("s", "user", [{"type": "image_url", "image_url": {"url": "https://far.example/b.png"}}])
    empty_store.say("s", "user", [{"type": "image", "source": {"url": "javascript:alert(1)"}}])
    empty_store.say("s", "nobody\u2028knows", "line\u2028separators\x85here", reasoning="So I think ``` that")
    empty_store.say("s", "user", '\x00json:{"n": NaN, "i": Infinity}')
    empty_store.say("s", "user", HANDOFF)
    empty_store.say("s", "user", "after it", timestamp=-5.0, api_content=f"hidden {KEY}")
    return empty_store


@pytest.mark.parametrize("view", VIEWS)
def test_every_format_can_be_read_back_whatever_was_said(odd: EmptyStore, view: View) -> None:
    found = json.loads(text_of("own", "s", "json", view), parse_constant=pytest.fail)
    assert len(found["messages"]) == 13 and found["complete"] and found["format"] == "palimpsest-session"
    assert found["system_prompt"] == ("Be kind." if view == "live" else None)
    lines = lines_of(text_of("own", "s", "jsonl", view))
    assert [line["type"] for line in lines[:2]] == ["session", "message"] and lines[-1]["type"] == "end"
    assert len(lines) == 15 and "handoff" in [line["type"] for line in lines]
    markdown = text_of("own", "s", "md", view)
    titles = headings(markdown)
    assert len(titles) == 13 + (view == "live") and not any("forged" in title for title in titles)
    assert "\x00" not in markdown and "\x1b" not in markdown and "\ufffd" in markdown
    assert comrak.render_markdown(markdown).rstrip().endswith("<p>End of the export.</p>"), "a fence stays open"
    page = tree(text_of("own", "s", "html", view))
    assert len(page.all("article")) == 12 and len(page.all("section", "boundary")) == 1
    assert "<script>alert(1)</script>" in page.text and "To go on." in page.text and '"x": [ 1.5 ]' in page.text


def test_a_page_runs_nothing_and_loads_nothing(odd: EmptyStore) -> None:
    for view in VIEWS:
        page = tree(text_of("own", "s", "html", view))
        assert not {element.tag for element in page.walk()} & {"script", "link", "iframe", "object", "base", "form"}
        sources = [element.attributes["src"] for element in page.walk() if "src" in element.attributes]
        assert sources == ["data:image/png;base64,iVBORw0KGgo="]
        assert not [name for element in page.walk() for name in element.attributes if name.startswith("on")]
        assert not [1 for element in page.walk() if "style" in element.attributes]
        links = [element.attributes["href"] for element in page.all("a") if "href" in element.attributes]
        assert links and all(link.startswith("https://") for link in links)
        assert page.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"] == POLICY
        assert "url(" not in page.one("style").text and "@import" not in page.one("style").text
    assert POLICY.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in POLICY


@pytest.mark.parametrize("format", ["html", "md"])
def test_no_text_turns_the_direction_of_what_is_around_it(empty_store: EmptyStore, format: Format) -> None:
    turned = "name \u202egnp.exe\u2066 end"
    empty_store.session("s", title=turned)
    empty_store.say("s", "user", turned)
    empty_store.say("s", "assistant", None, tool_calls=[empty_store.call("sh", "c1", command=turned)])
    empty_store.say("s", "tool", turned, tool_call_id="c1", tool_name=turned)
    exported = text_of("own", "s", format)
    assert not {"\u202e", "\u2066"} & set(exported)
    assert exported.count("⟨RLO⟩") >= 4


@pytest.mark.parametrize("name", one_in(4, markdown_bombs()))
def test_a_short_text_makes_no_huge_page(empty_store: EmptyStore, name: str) -> None:
    text = markdown_bombs()[name]
    empty_store.session("s")
    empty_store.say("s", "user", text)
    exported = text_of("own", "s", "html")
    assert len(exported) < markdown.GROWTH * len(text) + markdown.GROWTH_FLOOR + 10_000
    assert exported.count("<blockquote") < 1_000 and exported.count("<td") <= markdown.CELLS


# -- secrets -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def told(empty_store: EmptyStore) -> EmptyStore:
    """A session with a key in every field that may hold text."""
    columns = {"title": f"t {KEY}", "model": f"m {KEY}", "cwd": f"/c/{KEY}", "source": f"s {KEY}"}
    empty_store.session("s", **columns, system_prompt=f"p {KEY}", ended_at=1_790_000_001.0, end_reason=f"e {KEY}")
    empty_store.say("s", "user", f"c {KEY}")
    empty_store.say("s", "user", [{"type": "text", "text": KEY}, {"type": "odd", "x": {"y": [KEY]}}])
    empty_store.say(
        "s", "assistant", None, tool_calls=[empty_store.call(f"n {KEY}", f"i {KEY}", password="correct horse", x=KEY)],
        reasoning=f"r {KEY}", reasoning_details=json.dumps([{"text": KEY}]), finish_reason=f"f {KEY}",
    )  # fmt: skip
    empty_store.say("s", "tool", f"o {KEY}", tool_call_id=f"i {KEY}", tool_name=f"n {KEY}")
    empty_store.say("s", f"role {KEY}", f"o {KEY}", api_content=f"hidden {KEY}")
    empty_store.say("s", "user", HANDOFF.replace("To go on.", f"h {KEY}"), _compressed_summary=1)
    return empty_store


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("view", VIEWS)
def test_nothing_that_looks_like_a_secret_leaves_unless_asked_for(told: EmptyStore, format: Format, view: View) -> None:
    redacted = text_of("own", "s", format, view)
    assert KEY not in redacted and "correct horse" not in redacted and KEY[4:] not in redacted
    assert "redacted: GitHub token" in redacted and "redacted: password" in redacted
    whole = text_of("own", "s", format, view, redact=False)
    assert KEY in whole and "correct horse" in whole and "hidden" not in whole
    said = {"md": "**What looks like a secret is redacted", "html": "What looks like a secret is redacted"}
    assert said.get(format, '"masked": true') in redacted[: redacted.find("<main>") if format == "html" else 2_000]
    assert said.get(format, '"masked": true') not in whole


def test_an_export_says_how_many_places_were_redacted(empty_store: EmptyStore) -> None:
    empty_store.session("s", title="t")
    empty_store.say("s", "user", f"{KEY} and {KEY}")
    empty_store.say("s", "assistant", "password=hunter22")
    assert json.loads(text_of("own", "s", "json"))["masked_places"] == 3
    assert lines_of(text_of("own", "s", "jsonl"))[-1]["masked_places"] == 3
    assert "3 places were redacted." in text_of("own", "s", "md") and "3 places" in text_of("own", "s", "html")


# -- as a file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_a_download_has_a_safe_name_and_is_never_opened_in_place(
    signed_in: Client, odd: EmptyStore, format: Format
) -> None:
    answer = signed_in.get("/stores/own/sessions/s/export", {"format": format})
    assert answer.status_code == 200 and answer.streaming
    named = answer.headers["Content-Disposition"]
    assert named.startswith("attachment; filename*=utf-8''Name") and named.endswith(f".{format}")
    assert not re.search(r"[/\\\"<>\r\n]|\.\.|%2[fF]|%5[cC]|%E2%80%AE", named.partition("''")[2]) and len(named) < 700
    assert (answer.headers["X-Content-Type-Options"], answer.headers["Cache-Control"]) == ("nosniff", "no-store")
    assert answer.headers["Content-Type"] == CONTENT_TYPES[format]
    assert b"".join(answer).decode()


@pytest.mark.parametrize(
    ("title", "named"),
    [
        ("话" * 90, f"{'话' * 40} s.jsonl"),
        ("--rf / \u202e * ..", "rf s.jsonl"),
        ("...", "s.jsonl"),
        ("", "s.jsonl"),
        ("a/b\\c:d\n\x00e", "a b c d e s.jsonl"),
    ],
    ids=["CJK", "signs", "dots", "none", "parts"],
)
def test_the_name_of_a_file_is_one_that_every_file_system_takes(
    empty_store: EmptyStore, title: str, named: str
) -> None:
    empty_store.session("s", title=title)
    made = exports.export("own", "s", "jsonl")
    assert made.filename == named and len(made.filename.encode()) < 255
    empty_store.session("-" + "x" * 380)
    assert len(exports.export("own", "-" + "x" * 380, "jsonl").filename) == len("x" * 100 + ".jsonl")


def test_the_page_asks_what_to_export_and_masks_unless_told_otherwise(signed_in: Client, told: EmptyStore) -> None:
    href = "/stores/own/sessions/s/export"
    page = read(signed_in.get(href))
    form = page.one("form", "export")
    assert form.attributes["action"] == href
    chosen = {
        field.attributes["name"]: field.attributes["value"]
        for field in form.all("input")
        if "checked" in field.attributes
    }
    assert chosen == {"format": "md", "view": "history", "redact": "1"}
    for query in ({"format": "md"}, {"format": "md", "view": "nonsense", "redact": "x"}):
        assert KEY.encode() not in b"".join(signed_in.get(href, query))
    assert KEY.encode() in b"".join(signed_in.get(href, {"format": "md", "redact": "0"}))
    assert read(signed_in.get(href, {"format": "exe"})).one("form", "export")
    assert signed_in.get("/stores/own/sessions/none/export").status_code == 404
    assert signed_in.get("/stores/own/sessions/none/export", {"format": "md"}).status_code == 404
    assert signed_in.post(href).status_code == 405
    assert Client().get(href, {"format": "md"}).status_code in (302, 403)
    assert [a for a in read(signed_in.get(f"{href[:-7]}/rows")).all("a") if a.attributes.get("href") == href]


def test_an_empty_session_can_be_exported(empty_store: EmptyStore) -> None:
    empty_store.session("s")
    assert json.loads(text_of("own", "s", "json"))["messages"] == []
    assert "There is no message" in text_of("own", "s", "md") and "There is no message" in text_of("own", "s", "html")
    assert len(lines_of(text_of("own", "s", "jsonl"))) == 2


def test_the_command_writes_the_same(told: EmptyStore, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    call_command("export", "own", "s", format="jsonl", view="raw", stdout=StringIO())
    written = capfdbinary.readouterr().out.decode()
    assert len(lines_of(written)) == 8 and KEY not in written
    call_command("export", "own", "s", format="jsonl", view="raw", no_redact=True)
    assert KEY in capfdbinary.readouterr().out.decode()
    with pytest.raises(SystemExit, match="no session 'none'"):
        call_command("export", "own", "none")


# -- large, and while the store changes --------------------------------------------------------------------------------


def _rows_read(statements: list[str]) -> list[int]:
    """How many ids each statement on whole rows asks for."""
    return [sql.count(",") + 1 for sql in statements if sql.startswith("SELECT * FROM messages")]


@pytest.mark.slow
def test_rows_are_read_in_windows_that_do_not_grow_with_the_session(
    empty_store: EmptyStore, statements: list[str]
) -> None:
    widest = []
    for name, count in (("small", 300), ("large", 1_200)):
        empty_store.session(name)
        empty_store.chat(name, count)
        for view in VIEWS:
            statements.clear()
            assert len(lines_of(text_of("own", name, "jsonl", view))) == count + 2
            read = _rows_read(statements)
            widest.append(max(read))
            assert sum(read) == count and len(read) == count / 100, "each row is read once"
    assert set(widest) == {100}


def test_no_connection_is_open_while_somebody_downloads(
    empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty_store.session("s")
    empty_store.chat("s", 500)
    opened: list[sqlite3.Connection] = []
    plain = sqlite3.connect

    def noted(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        con: sqlite3.Connection = plain(*args, **kwargs)
        opened.append(con)
        return con

    monkeypatch.setattr(sqlite3, "connect", noted)
    for _ in exports.export("own", "s", "md").chunks:
        for con in opened:
            with pytest.raises(sqlite3.ProgrammingError, match="closed"):
                con.execute("SELECT 1")
    assert len(opened) >= 5


@pytest.mark.slow
def test_memory_does_not_grow_with_the_session(empty_store: EmptyStore) -> None:
    peaks = []
    for name, count in (("small", 300), ("large", 1_200)):
        empty_store.session(name)
        with closing(sqlite3.connect(empty_store.path)) as con, con:
            con.executemany(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', ?, 1)",
                [(name, f"{at} " + "word " * 1_000) for at in range(count)],
            )
        made = exports.export("own", name, "html")
        tracemalloc.start()
        for _ in made.chunks:
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0] < 20_000_000, peaks


def test_one_window_holds_few_long_messages(empty_store: EmptyStore, statements: list[str]) -> None:
    empty_store.session("s")
    for _ in range(6):
        empty_store.say("s", "user", "long " * 120_000)
    text_of("own", "s", "jsonl")
    assert max(_rows_read(statements)) == 1


def test_what_is_written_meanwhile_is_left_out_and_nothing_is_torn(empty_store: EmptyStore) -> None:
    empty_store.session("s")
    ids = empty_store.chat("s", 250)
    made = exports.export("own", "s", "jsonl")
    first = next(made.chunks) + next(made.chunks)
    with closing(sqlite3.connect(empty_store.path)) as con, con:  # the agent compacts, and goes on
        con.execute("UPDATE messages SET active = 0, compacted = 1 WHERE session_id = 's'")
    empty_store.say("s", "user", HANDOFF, _compressed_summary=1)
    empty_store.chat("s", 10)
    lines = lines_of((first + b"".join(made.chunks)).decode())
    assert [line["id"] for line in lines[1:-1]] == ids and lines[-1]["complete"]
    assert {line["state"] for line in lines[1:-1]} == {"live"}, "as of the moment it began"


@pytest.mark.parametrize("format", FORMATS)
def test_rows_that_vanish_meanwhile_are_told(empty_store: EmptyStore, format: Format) -> None:
    empty_store.session("s")
    ids = empty_store.chat("s", 250)
    made = exports.export("own", "s", format)
    first = next(made.chunks) + next(made.chunks)
    with closing(sqlite3.connect(empty_store.path)) as con, con:
        con.execute("DELETE FROM messages WHERE id > ?", [ids[-3]])
    text = (first + b"".join(made.chunks)).decode()
    assert "This export is incomplete: 2 messages were deleted" in text and not made.outcome.complete
    _check_readable(format, text, 248)


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_is_replaced_or_gone_ends_the_export_with_a_note(empty_store: EmptyStore, format: Format) -> None:
    empty_store.session("s")
    empty_store.chat("s", 250)
    for change in (_replaced, Path.unlink):
        made = exports.export("own", "s", format)
        first = next(made.chunks) + next(made.chunks)
        before = empty_store.path.read_bytes()
        change(empty_store.path)
        text = (first + b"".join(made.chunks)).decode()
        assert "This export is incomplete: it broke off here." in text
        _check_readable(format, text, 100)
        empty_store.path.write_bytes(before)
        index_cache.forget()


def _replaced(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def _check_readable(format: Format, text: str, messages: int) -> None:
    if format == "json":
        found = json.loads(text)
        assert len(found["messages"]) == messages and not found["complete"] and found["note"]
    elif format == "jsonl":
        assert len(lines_of(text)) == messages + 2 and not lines_of(text)[-1]["complete"]
    elif format == "html":
        assert len(tree(text).all("article")) == messages and tree(text).one("p", "incomplete")
    else:
        assert len(headings(text)) == messages


# -- rules of the workspace behind a summary ---------------------------------------------------------------------------


def test_rules_in_a_handoff_read_well(empty_store: EmptyStore) -> None:
    carried = "## Red Lines\n<b>Never</b> push."
    empty_store.session("s")
    for number in range(6):
        empty_store.say("s", ("user", "assistant")[number % 2], f"message {number}", active=0, compacted=1)
    body = with_rules("## Goal\nTo go on.", f"{carried}\nThe key is {KEY}.")
    empty_store.say("s", "user", f"{LEGACY_HEADER}\n{body}\n\n{END_MARKER}", _compressed_summary=1)
    empty_store.say("s", "assistant", "Going on.")
    for view in ("history", "live"):
        markdown = comrak.render_markdown(text_of("own", "s", "md", view))
        behind = markdown.partition("Rules of the workspace, carried along:")[2]
        assert behind.split("</blockquote>")[0].count("Never") == 1  # in a quotation of its own
        page = tree(text_of("own", "s", "html", view))
        assert page.one("section", "boundary").one("blockquote").text == "Goal To go on."
        assert "<b>Never</b> push." in page.one("section", "boundary").all("details")[0].one("pre").text
        for text in (markdown, page.text):
            assert RULES_CLOSE not in text and "workspace-critical" not in text.partition("Red Lines")[0]
        found = json.loads(text_of("own", "s", "json", view, redact=False))["messages"]
        assert [one["rules"] for one in found if one["kind"] == "handoff"] == [f"{carried}\nThe key is {KEY}."]
        assert [one["summary"] for one in found if one["kind"] == "handoff"] == ["## Goal\nTo go on."]
    for format in FORMATS:
        for view in VIEWS:
            assert "To go on." in text_of("own", "s", format, view) and KEY not in text_of("own", "s", format, view)
    raw = json.loads(text_of("own", "s", "json", "raw"))["messages"]
    assert RULES_CLOSE in raw[6]["content"] and raw[6]["rules"].startswith(carried)


@pytest.mark.parametrize(
    ("summary", "who"), [("## Goal", "Hermes"), (f"{BY_ENGINE}\n\n## Goal", "Palimpsest, inside Hermes")]
)
def test_data_say_who_compacted_as_pages_and_api_do(
    summary: str, who: str, empty_store: EmptyStore, signed_in: Client, api_client: ApiClient
) -> None:
    empty_store.session("s")
    empty_store.chat("s", 12)
    with closing(sqlite3.connect(empty_store.path)) as con, con:
        con.execute("UPDATE messages SET active = 0, compacted = 1")
    empty_store.say("s", "user", HANDOFF.replace("## Goal", summary), _compressed_summary=1)
    empty_store.chat("s", 2)
    for view in VIEWS:
        assert [each["by"] for each in json.loads(text_of("own", "s", "json", view))["boundaries"]] == [f"by {who}"]
    lines = lines_of(text_of("own", "s", "jsonl"))
    assert [line["boundary"]["by"] for line in lines if line["type"] == "handoff"] == [f"by {who}"]
    assert [each["by"] for each in api_client.get("/stores/own/sessions/s/compactions")["items"]] == [f"by {who}"]
    assert f"by {who}" in read(signed_in.get("/stores/own/sessions/s")).text
    assert f"by {who}" in text_of("own", "s", "md")


def test_a_handoff_without_rules_says_nothing_of_them(empty_store: EmptyStore) -> None:
    empty_store.session("s")
    empty_store.say("s", "user", HANDOFF, _compressed_summary=1)
    for format in ("md", "html"):
        assert "Rules of the workspace" not in text_of("own", "s", format)
    assert json.loads(text_of("own", "s", "json"))["messages"][0]["rules"] is None


# Large messages


def peak_of(do: Callable[[], object]) -> int:
    """Bytes that Python held at most, above what it held before."""
    tracemalloc.start()
    try:
        do()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def read_all(made: exports.Export) -> None:
    for _ in made.chunks:
        pass


@pytest.mark.slow
def test_exports_at_once_write_one_large_message_at_a_time(empty_store: EmptyStore) -> None:
    empty_store.session("large")
    for _ in range(3):
        empty_store.say("large", "tool", "some words of an output\n" * 100_000)
    alone = peak_of(lambda: read_all(exports.export("own", "large", "html")))
    made = [exports.export("own", "large", "html") for _ in range(4)]

    def together() -> None:
        threads = [threading.Thread(target=read_all, args=[each]) for each in made]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    assert peak_of(together) < 1.5 * alone


@pytest.mark.slow
@pytest.mark.parametrize("format", one_in(4, FORMATS))
def test_a_slow_download_keeps_no_large_message_in_memory(empty_store: EmptyStore, format: Format) -> None:
    empty_store.session("large")
    empty_store.say("large", "user", "words " * 1_000_000)
    made = exports.export("own", "large", format)
    tracemalloc.start()
    try:
        received = 0
        while received < 1_000_000:
            received += len(next(made.chunks))
        assert tracemalloc.get_traced_memory()[0] < 2_000_000
    finally:
        tracemalloc.stop()
    assert received + sum(map(len, made.chunks)) > 6_000_000
