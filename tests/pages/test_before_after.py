"""Before and after: what a model was sent, aligned, as a page, as text and as one file."""

from __future__ import annotations

import re
import sqlite3
import tracemalloc
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from compaction.handoff import END_MARKER, LEGACY_HEADER
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.browser import Visit, require
from tests.clients import ApiClient
from tests.factories.stores import EmptyStore, HermesStore
from tests.html import Element, read
from tests.pages import hostile
from tests.slow import slow
from viewer.exports import before_after as files
from viewer.history import index_cache
from viewer.pages.redaction import COOKIE
from viewer.runs import service
from viewer.runs.planning import Options
from viewer.stores.registry import open_store

KEY = "ghp_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYabcd"
HANDOFF = f"{LEGACY_HEADER}\n\n## Goal\nTo go on.\n\n{END_MARKER}"


def walked(client: Client, href: str) -> Iterable[Element]:
    """Every window of the page."""
    while href:
        page = read(client.get(href))
        yield page
        found = page.all("a", "later")
        href = found[0].attributes["href"] if found else ""


def cells(page: Element, side: str) -> list[tuple[int, str]]:
    """(row, what became of it) of one side, in order."""
    articles = page.all("article")
    found = ((each, re.match(rf"{side}, (\w+): ", each.attributes["aria-label"])) for each in articles)
    return [(int(each.attributes["data-row"]), match[1]) for each, match in found if match]


def folded(page: Element) -> int:
    """How many messages are in folds."""
    labels = (each.text for each in page.all("summary") if "more message" in each.text)
    return sum(int(label.split()[0].replace(",", "")) for label in labels)


def compacted(empty_store: EmptyStore, session_id: str = "s", handoff: str = HANDOFF) -> tuple[str, int]:
    """Everything in a session summarised; the address of what was before and after, and the row of the summary."""
    with closing(sqlite3.connect(empty_store.path)) as con, con:
        con.execute("UPDATE messages SET active = 0, compacted = 1 WHERE session_id = ?", [session_id])
    row = empty_store.say(session_id, "user", handoff, _compressed_summary=1)
    empty_store.say(session_id, "assistant", "going on")
    return f"/stores/own/sessions/{session_id}/boundaries/{row}/before-after", row


def test_its_folds_are_large_enough_to_press(
    visit: Visit, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    hermes_store = open_hermes_store(31)
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    screen = visit()
    screen.goto(f"/stores/hermes/sessions/{hermes_store.session_id}/boundaries/{run.handoff_id}/before-after")
    for width in (1500, 360):
        screen.set_viewport_size({"width": width, "height": 900})
        folds = screen.locator(".pairs .fold > summary:visible")
        heights = folds.evaluate_all("all => all.map(each => each.offsetHeight)")
        assert heights and min(heights) >= 24
        require(screen, f"{width} px", ["target-size"])


def test_a_kept_message_is_there_once_on_a_phone(
    visit: Visit, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    hermes_store = open_hermes_store(31)
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    screen = visit()
    screen.goto(f"/stores/hermes/sessions/{hermes_store.session_id}/boundaries/{run.handoff_id}/before-after")
    kept = screen.locator(".pair .turn:visible .badge.kept")
    both = kept.count()
    screen.set_viewport_size({"width": 360, "height": 900})
    assert both == 2 * kept.count() > 0
    assert screen.locator(".pair .turn:visible .badge.new").count() == 1


# -- what stands where -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "title"), [(31, ""), (21, "Merged carrier 92"), *slow((21, ""), (31, "Merged carrier 92"))]
)
def test_each_message_stands_once_and_in_order_at_every_boundary(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], version: int, title: str
) -> None:
    """Older boundaries too, and such as share a row with a message."""
    hermes_store = open_hermes_store(version, title) if title else open_hermes_store(version)
    with open_store(hermes_store.store) as reader:
        index = index_cache.index_of(reader, reader.session(hermes_store.session_id))
    assert index.boundaries
    for boundary in index.boundaries:
        href = f"/stores/hermes/sessions/{hermes_store.session_id}/boundaries/{boundary.handoff_id}/before-after"
        pages = list(walked(signed_in, f"{href}?rows=every"))
        left = [cell for page in pages for cell in cells(page, "Before")]
        right = [cell for page in pages for cell in cells(page, "After")]
        assert list(dict.fromkeys(row for row, _ in left)) == list(boundary.before_ids)
        assert list(dict.fromkeys(row for row, _ in right)) == list(boundary.block_ids)
        source = dict(boundary.copies)
        fates = {index.message_of(row) or row: fate for row, fate in left}
        assert {message for message, fate in fates.items() if fate == "shortened"} == set(boundary.shortened_ids)
        assert {message for message, fate in fates.items() if fate != "summarised"} >= set(boundary.kept_ids)
        assert {fates[each] for each in boundary.summarised_ids} == {"summarised"}
        assert (boundary.handoff_id, "new") in right
        for page in pages:
            for pair in page.all("div", "pair"):
                one, other = cells(pair, "Before"), cells(pair, "After")
                if one and one[0][1] != "summarised":
                    assert len(one) == 1 and len(other) == 1
                    assert source[other[0][0]] == one[0][0] and other[0][1] == one[0][1]
                elif (boundary.handoff_id, "new") in other:
                    assert one[0] == next(cell for cell in left if cell[1] == "summarised"), "beside the first"


def test_a_summary_and_the_message_in_its_row_have_each_its_own_size(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(31)
    with open_store(hermes_store.store) as reader:
        session = reader.session(hermes_store.session_id)
        index = index_cache.count_few(reader, session, index_cache.index_of(reader, session).live_ids)
    handoff = index.boundaries[-1].handoff_id
    href = f"/stores/hermes/sessions/{hermes_store.session_id}/boundaries/{handoff}/before-after?rows=every"
    shown = [
        cell
        for page in walked(signed_in, href)
        for cell in page.all("article")
        if "After" in cell.attributes["aria-label"]
    ]
    parts = [cell.one("span", "tok") for cell in shown if cell.attributes["data-row"] == str(handoff)]
    sizes = [
        next((each.attributes["title"] for each in part.all("span") if "title" in each.attributes), part.text)
        for part in parts
    ]
    summary, message = (int(re.sub(r"\D", "", size)) for size in sizes)
    assert summary + message == index.tokens_of(handoff) and summary > message


def test_its_numbers_are_those_of_the_boundary(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    session = f"/stores/hermes/sessions/{open_hermes_store(21).session_id}"
    for handoff in (88, 141):
        boundary = read(signed_in.get(f"{session}?around={handoff}")).one("section", id=f"b{handoff}")
        [link] = [link for link in boundary.one("div", "undo").all("a") if link.text == "Before and after"]
        page = read(signed_in.get(link.attributes["href"])).one("main")
        numbers = boundary.one("h2").text.removeprefix("Compacted ").partition(" · ")[0]
        assert numbers in page.text
        assert page.all("a")[0].attributes["href"] == f"{session}?around={handoff}#b{handoff}"
        for tab in boundary.one("nav").all("a")[2:4]:
            assert tab.text in page.text
    assert (
        "56 summarised, 28 kept, 7 of them shortened"
        in read(signed_in.get(f"{session}/boundaries/88/before-after")).text
    )


def test_only_what_changed(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    href = f"/stores/hermes/sessions/{open_hermes_store(21).session_id}/boundaries/88/before-after?only=changed"
    pages = list(walked(signed_in, href))
    left = [cell for page in pages for cell in cells(page, "Before")]
    assert [fate for _, fate in left].count("summarised") + sum(map(folded, pages)) == 56
    assert [fate for _, fate in left].count("shortened") == 7
    told = [int(each.text.split()[0]) for page in pages for each in page.all("p", "skipped")]
    assert sum(told) <= 21 and told[0] == 3
    assert sum(len(page.all("pre", "diff")) for page in pages) == 7, "each says what was shortened"


def test_a_window_that_begins_within_a_stretch_leads_to_what_replaces_it(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    href = f"/stores/hermes/sessions/{open_hermes_store(21).session_id}/boundaries/88/before-after?rows=every"
    second = list(walked(signed_in, href))[1]
    above = next(a for a in second.all("a") if a.text == "What replaces these messages")
    assert (88, "new") in cells(read(signed_in.get(above.attributes["href"])), "After")


def test_a_long_stretch_that_the_summary_replaces_is_folded(signed_in: Client, empty_store: EmptyStore) -> None:
    """Three of its messages are shown, the others when somebody unfolds them, with a script or without one."""
    empty_store.session("s")
    empty_store.chat("s", 100)
    href, row = compacted(empty_store)
    for query in ("", "?only=changed"):
        page = read(signed_in.get(href + query))
        assert [fate for _, fate in cells(page, "Before")] == ["summarised"] * 3
        assert (row, "new") in cells(page, "After") and folded(page) == 97
        assert not page.all("p", "skipped") and not page.all("a", "later")
    every = [cell for page in walked(signed_in, f"{href}?rows=every") for cell in cells(page, "Before")]
    link = page.one("a", "neighbour").attributes["href"]
    assert cells(read(signed_in.get(link)), "Before") == every[3:43], "a page of its own without a script"
    unfolded: list[tuple[int, str]] = []
    while link:
        part = read(signed_in.get(link, headers={"HX-Request": "true"}))
        assert not part.all("main")
        unfolded += cells(part, "Before")
        link = next((each.attributes["hx-get"] for each in part.all("a", "neighbour")), "")
    assert unfolded == every[3:]


def test_a_short_stretch_is_not_folded(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("s")
    empty_store.chat("s", 5)
    href, _ = compacted(empty_store)
    page = read(signed_in.get(href))
    assert len(cells(page, "Before")) == 5 and not folded(page)


def test_what_an_agent_wrote_in_a_persons_role_says_so(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("s")
    empty_store.say("s", "user", "a background notice", display_kind="hidden")
    empty_store.say("s", "user", "and this somebody typed")
    href, _ = compacted(empty_store)
    notice, typed = read(signed_in.get(href)).all("article")[:2]
    assert "Written by the agent, not typed by a person (hidden)." in notice.text
    assert "not typed" not in typed.text


@pytest.mark.usefixtures("at_once")
def test_of_a_compaction_made_here_its_receipt_leads_there(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(31)
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    receipt = read(signed_in.get(f"/runs/{run.pk}"))
    (link,) = (each for each in receipt.all("a") if each.text == "Before and after")
    page = read(signed_in.get(link.attributes["href"])).one("main")
    numbers = receipt.one(id="run").all("b")
    assert any(each.text in page.text and "tokens" in each.text for each in numbers)
    assert "by you, here" in page.text and "summarised" in page.text


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("version", [*slow(21), 31])
def test_of_old_tool_output_made_shorter_no_message_left(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], version: int
) -> None:
    hermes_store = open_hermes_store(version)
    run = service.start(hermes_store.store, hermes_store.session_id, Options(strategy="prune"), apply=True)
    path = f"/stores/hermes/sessions/{hermes_store.session_id}/boundaries/{run.handoff_id}/before-after"
    text = read(signed_in.get(path)).text
    said = re.search(r"no message left the context: (\d+) kept, (\d+) of them shortened", text)
    assert said and "messages with the summary" not in text
    assert int(said[1]) >= (run.messages_before or 0) - 1 and int(said[2]) == len(run.report["shortened"])
    file = b"".join(signed_in.get(f"{path}?as=html")).decode()
    assert f"N{said[0][1:]}." in file
    pages = [*walked(signed_in, f"{path}?rows=every")]
    before, after = ([cell for page in pages for cell in cells(page, side)] for side in ("Before", "After"))
    assert len(before) == len(after) - 1, "all but the note stand on both sides"
    assert {fate for _, fate in before} == {"kept", "shortened"}
    assert [row for row, fate in after if fate == "new"] == [run.handoff_id]


def test_a_session_that_began_with_a_summary_says_that_nothing_is_known(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    empty_store.session("s")
    row = empty_store.say("s", "user", HANDOFF, _compressed_summary=1)
    empty_store.say("s", "assistant", "going on")
    href = f"/stores/own/sessions/s/boundaries/{row}/before-after"
    page = read(signed_in.get(href))
    assert "in another session" in page.text and not cells(page, "Before")
    assert cells(page, "After")[0] == (row, "new")
    assert "in another session" in signed_in.get(f"{href}?as=html").getvalue().decode()


@pytest.mark.usefixtures("at_once")
def test_of_claude_code(signed_in: Client, api_client: ApiClient, settings: Settings, tmp_path: Path) -> None:
    settings.STORES = {"work": f"claude-code:///{tmp_path / 'claude'}"}
    settings.HERMES_HOME = settings.CLAUDE_HOME = tmp_path / "no-home"
    agent = ClaudeByHand(tmp_path / "claude")
    said = [{"role": ("user", "assistant")[at % 2], "content": f"message {at} " + "word " * 50} for at in range(24)]
    agent.write("s", said)
    place = f"/stores/work/sessions/{agent.id_of('s')}"
    for _ in range(2):
        status, _run = api_client.call("POST", f"{place}/runs", {"keep_last": 6, "apply": True})
        assert status == 202
        for at in range(12):
            agent.say("s", {"role": ("user", "assistant")[at % 2], "content": f"later {at} " + "word " * 50})
    found = api_client.get(f"{place}/compactions")["items"]
    assert len(found) == 2
    for made in found:
        page = read(signed_in.get(f"{place}/boundaries/{made['handoff_id']}/before-after?rows=every"))
        left, right = cells(page, "Before"), cells(page, "After")
        assert (made["handoff_id"], "new") in right
        assert {row for row, fate in left if fate == "kept"} == set(made["kept_ids"])
        assert {row for row, fate in left if fate == "summarised"} >= set(made["summarised_ids"])
        ids = [each.attributes["id"] for each in page.all() if "id" in each.attributes]
        assert len(ids) == len(set(ids)), "a row that stayed stands on both sides"
        assert (
            b"message 3"
            in signed_in.get(f"{place}/boundaries/{found[0]['handoff_id']}/before-after?as=before").getvalue()
        )


# -- text and file -----------------------------------------------------------------------------------------------------


def test_one_side_can_be_copied(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("s")
    empty_store.say("s", "user", f"the key is {KEY} <b>")
    empty_store.say("s", "assistant", None, tool_calls=[empty_store.call("sh", "c1", command="ls")])
    empty_store.say("s", "tool", "a.txt", tool_call_id="c1", tool_name="sh")
    href, _ = compacted(empty_store)
    buttons = read(signed_in.get(href)).one("div", "heads").all("button")
    before, after = (signed_in.get(each.attributes["data-copy"]) for each in buttons)
    assert before["Content-Type"] == "text/plain; charset=utf-8" and before["X-Content-Type-Options"] == "nosniff"
    text = before.getvalue().decode()
    assert f"User:\nthe key is {KEY} <b>\n" in text and '"command": "ls"' in text and "Tool:\na.txt" in text
    said = after.getvalue().decode()
    assert "To go on." in said and "going on" not in said and KEY not in said
    signed_in.cookies[COOKIE] = "1"
    assert KEY not in signed_in.get(f"{href}?as=before").getvalue().decode()
    assert KEY not in signed_in.get(href).content.decode()


def test_the_file_needs_nothing_else_and_holds_no_secret(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("s", title=f"Deploy with {KEY}", model=f"m {KEY}")
    for at in range(150):
        empty_store.say("s", "user", f"message {at}: the token is {KEY} {hostile.SCRIPT}")
        empty_store.say("s", "assistant", [{"type": "image_url", "image_url": {"url": "https://far.example/a.png"}}])
    href, _ = compacted(empty_store, handoff=HANDOFF.replace("To go on", f"To use {KEY}"))
    answer = signed_in.get(f"{href}?as=html")
    assert answer["Content-Disposition"].startswith("attachment") and answer["Cache-Control"] == "no-store"
    text = answer.getvalue().decode()
    assert KEY not in text and KEY not in answer["Content-Disposition"]
    assert text.count("[redacted: GitHub token]") >= 152 and "places were redacted" in text
    for tag in ("<script", "<link", "<img", "<iframe", "onerror=alert(1)>\"'><svg"):
        assert tag not in text
    assert "default-src 'none'" in text and not re.search(r'(?:src|srcset|action|data-copy)="', text)
    assert all(f"message {at}: " in text for at in range(150))
    assert text.rstrip().endswith("</html>")
    page = read(type("Answer", (), {"status_code": 200, "content": text.encode()})())
    assert len(page.all("article")) == 300 and len(page.all("section", "boundary")) == 1
    assert KEY in signed_in.get(f"{href}?as=html&redact=0").getvalue().decode()


def test_the_file_says_what_the_page_says(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    hermes_store = open_hermes_store(21)
    with open_store(hermes_store.store) as reader:
        boundary = index_cache.index_of(reader, reader.session(hermes_store.session_id)).boundaries[0]
    made = files.as_page(files.comparison("hermes", hermes_store.session_id, boundary.handoff_id))
    text = b"".join(made.chunks).decode()
    assert made.outcome.complete and made.filename.endswith(".html")
    page = read(type("Answer", (), {"status_code": 200, "content": text.encode()})())
    words = [each.one("h2").all("b")[0].text for each in page.all("article")]
    assert words.count("summarised") == boundary.summarised
    assert words.count("kept") == 2 * (boundary.kept - boundary.shortened)
    assert words.count("shortened") == 2 * boundary.shortened
    assert len(page.all("pre", "diff")) >= boundary.shortened
    assert f"{boundary.messages_before:,} messages before, {boundary.messages_after:,} after" in page.text


# -- what would break it -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_hostile_text_is_text(signed_in: Client, empty_store: EmptyStore) -> None:
    hostile.build(empty_store, share=0.01)
    href, _ = compacted(empty_store, "hostile", HANDOFF.replace("To go on", hostile.SCRIPT))
    for page in walked(signed_in, f"{href}?rows=every"):
        main = page.one("main")
        assert not main.all("script") and not main.all("svg")
        assert not [each for each in main.all() if {"onerror", "onload"} & each.attributes.keys()]
        assert "agent's own record" not in main.text, "no model is sent it"
    page_file, text = (signed_in.get(href + query).getvalue().decode() for query in ("?as=html", "?as=before"))
    assert "the end" in page_file and "the end" in text
    assert "<script" not in page_file


@pytest.mark.slow
@pytest.mark.parametrize("messages", [300, *slow(6_000)])
def test_a_long_session_takes_windows_and_no_more_queries(
    signed_in: Client, empty_store: EmptyStore, statements: list[str], messages: int
) -> None:
    asked = {}
    for name, count in (("short", 60), ("long", messages)):
        empty_store.session(name)
        empty_store.chat(name, count)
        href, row = compacted(empty_store, name)
        signed_in.get(href)  # its History is made
        statements.clear()
        with CaptureQueriesContext(connection) as own:
            page = read(signed_in.get(f"{href}?rows=every&start=20"))
        asked[name] = (len(own), len(statements))
        assert len(page.all("article")) <= 80
        assert len(page.one("main").text) < 20_000
    assert asked["long"] <= asked["short"]
    last = next(a for a in page.all("a") if a.text == "To the last")
    assert (messages + 60 + 2, "summarised") in cells(read(signed_in.get(last.attributes["href"])), "Before")
    assert read(signed_in.get(f"{href}?rows=every&start=999999999")).all("article"), "the last row"
    made = files.as_text(files.comparison("own", "long", row), "before", redact=False)  # which takes most of the time
    tracemalloc.start()
    size = sum(map(len, made))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > messages * 10 and most < 6_000_000


def test_nothing_is_written(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("s")
    empty_store.chat("s", 10)
    href, _ = compacted(empty_store)
    before = empty_store.path.read_bytes()
    for query in ("", "?only=changed", "?rows=every", "?as=html", "?as=before", "?start=x"):
        assert signed_in.get(href + query).status_code == 200
    assert signed_in.post(href).status_code == 405
    assert empty_store.path.read_bytes() == before
