"""A compaction as a card to share: nothing goes out that was not chosen, and no secret ever."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from django.test import Client

from compaction.handoff import END_MARKER, LEGACY_HEADER
from tests.browser import Visit, at_rest, require_accessible, require_narrow
from tests.factories.stores import EmptyStore, HermesStore
from tests.html import read
from viewer.exports.card import FILE_NAME
from viewer.pages.redaction import COOKIE
from viewer.runs import service
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.stores.registry import get_store

SECRET = "ghp_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYabcd"
ALL = {"title": "1", "name": "Week <b>29</b>", "model": "1", "summary": "1"}


@pytest.fixture
def run(open_hermes_store: Callable[..., HermesStore], at_once: None) -> Run:
    hermes_store = open_hermes_store(31)
    hermes_store.rows(
        "UPDATE sessions SET title = ?, model = 'gpt-4o' WHERE id = ?", f"Desk {SECRET}", hermes_store.session_id
    )
    made = service.start(hermes_store.store, hermes_store.session_id, Options("summary"), apply=False)
    return service.apply(made, f"Asked to use the token {SECRET} for it.\n\nBooked.")


def address(run: Run) -> str:
    return f"/stores/{run.store}/sessions/{run.session_id}/boundaries/{run.handoff_id}/share"


def card(client: Client, run: Run, **choices: str) -> str:
    """The card in the frame of the page, which is the file that is downloaded."""
    page = read(client.get(f"{address(run)}?{urlencode(choices)}"))
    shown = client.get(page.one("iframe").attributes["src"])
    saved = client.get(page.one(id="card").one("a", "primary").attributes["href"])
    assert saved.headers["Content-Disposition"] == f'attachment; filename="{FILE_NAME}"'
    made = b"".join(saved.streaming_content)  # type: ignore[attr-defined]  # Django's own type has it
    assert shown.content == made, "what is shown is what goes out"
    return made.decode()


def test_without_a_choice_it_has_only_numbers(signed_in: Client, run: Run) -> None:
    made = card(signed_in, run)
    page = read(signed_in.get(f"{address(run)}/card"))
    assert page.one("h1").text == page.one("title").text == "A compaction, before and after"
    before, after = (each.attributes["title"] for each in page.all("dd", "tokens"))
    assert (before, after) == (f"{run.tokens_before:,} tokens", f"{run.tokens_after:,} tokens")
    widths = [float(bar.attributes["width"].rstrip("%")) for bar in page.all("rect")]
    assert widths[::2] == [100, 100] and widths[1] == 100
    assert widths[3] == pytest.approx(100 * (run.tokens_after or 0) / (run.tokens_before or 1), abs=0.1)
    kept, gone = len(run.report["kept"]), len(run.report["summarised"])
    assert f"{kept:,} of {kept + gone:,} messages kept; {gone:,} became a summary." in page.text
    assert "Compacted with Palimpsest. Nothing was deleted. The summary was made without a model." in page.text
    for left_out in ("Desk", "gpt-4o", run.session_id, "From the summary", "Booked."):
        assert left_out not in made


def test_it_loads_nothing_and_runs_nothing(signed_in: Client, run: Run) -> None:
    made = card(signed_in, run, **ALL)
    assert len(made) < 80_000, "to send"
    alone, faces = re.subn(r"url\(data:font/woff2;base64,[\w+/=]+\)", "", made)
    assert faces == 1, "the site's typeface is in it"
    assert not re.search(r"<(script|link|iframe|object|form)|\b(src|on\w+|href)=|url\(|@import|https?://", alone)
    answer = signed_in.get(f"{address(run)}/card")
    assert re.search(r"default-src 'none'; style-src 'sha256-[^']+'", made)
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and policy.endswith(
        "frame-ancestors 'self'; sandbox"
    )
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
    page = signed_in.get(address(run))
    assert page.headers["Content-Security-Policy"].endswith("frame-ancestors 'none'; frame-src 'self'")
    assert page.headers["X-Frame-Options"] == "DENY"
    assert "sandbox" in read(page).one("iframe").attributes


def test_what_is_chosen_is_shown(signed_in: Client, run: Run) -> None:
    made = card(signed_in, run, **ALL)
    assert (
        '<h1 dir="auto">Week &lt;b&gt;29&lt;/b&gt;</h1>' in made
        and "The session's model is gpt-4o." in made.replace("&#x27;", "'")
    )
    assert "<h2>From the summary</h2>" in made and "Booked." in made
    assert "A compaction, before and after" in card(signed_in, run, name="Week 29"), "the box is not ticked"
    offered = read(signed_in.get(address(run))).one("input", id="name").attributes["value"]
    assert offered == "Desk [redacted: GitHub token]", "the session's own, redacted"


@pytest.mark.parametrize("masked", ["0", "1"])
def test_secrets_never_go_out(signed_in: Client, run: Run, masked: str) -> None:
    """Whatever the pages' own switch says."""
    signed_in.cookies[COOKIE] = masked
    assert SECRET in service.get_run(run.pk).summary, "it is there to be left out"
    made = card(signed_in, run, **ALL | {"name": f"With {SECRET}"})
    assert SECRET not in made and "With [redacted: " in made
    assert SECRET not in signed_in.get(address(run)).content.decode()


def test_an_agents_compaction_can_be_shared_and_says_whose_it_is(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    page = read(signed_in.get(f"/stores/hermes/sessions/{hermes_store.session_id}"))
    links = [each for each in page.all("a", "btn") if each.text == "Share…"]
    shown = read(signed_in.get(f"{links[0].attributes['href']}/card"))
    assert "Compacted by Hermes." in shown.text and "Palimpsest. Nothing" not in shown.text


def test_shorter_tool_output_is_no_summary(signed_in: Client, empty_store: EmptyStore, at_once: None) -> None:
    empty_store.session("s")
    for at in range(6):
        empty_store.say("s", "assistant", "", tool_calls=[empty_store.call("terminal", f"c{at}", command="make")])
        empty_store.say("s", "tool", f"one more line of {at}\n" * 300, tool_call_id=f"c{at}")
    empty_store.chat("s", 12)
    made = service.start(get_store("own"), "s", Options("prune"), apply=True)
    page = card(signed_in, made, summary="1")
    assert "Nothing that anybody said was left out." in page and "From the note to the model" in page
    applied = read(signed_in.get(f"/runs/{made.pk}")).one("section", "card")
    assert applied.one("a", href=address(made)).text == "Share this before/after…"


def test_where_nothing_is_kept_no_zero_is_named(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("s")
    for text in ("The key is in the box.", "Gates are painted green."):
        empty_store.say("s", "assistant", text, active=0, compacted=1)
    handoff = empty_store.say("s", "user", f"{LEGACY_HEADER} Keys.\n\n{END_MARKER}", _compressed_summary=1)
    text = read(signed_in.get(f"/stores/own/sessions/s/boundaries/{handoff}/share/card")).text
    assert "2 messages became a summary." in text and "0 of" not in text


def test_what_is_not_there_is_refused(signed_in: Client, run: Run) -> None:
    for path in ("", "/card"):
        assert signed_in.get(f"{address(run).replace(str(run.handoff_id), '987654')}{path}").status_code == 404


def test_it_is_chosen_and_seen_in_a_browser(visit: Visit, run: Run) -> None:
    screen = visit()
    screen.goto(address(run))
    at_rest(screen)
    frame = screen.frame_locator("iframe")
    assert frame.locator("h1").inner_text() == "A compaction, before and after"
    loaded = frame.locator("html").evaluate("page => document.fonts.ready.then(all => [...all].map(f => f.status))")
    assert loaded == ["loaded"]
    screen.get_by_label("A title").check()
    screen.get_by_label("The title").fill("Another name")
    frame.get_by_role("heading", name="Another name").wait_for()
    require_accessible(screen, "the card's options")
    screen.set_viewport_size({"width": 360, "height": 740})
    at_rest(screen)
    require_narrow(screen, "the card's options")
    assert frame.locator("html").evaluate("page => page.scrollWidth <= innerWidth")
