"""The site below a path of a host with HTTPS: a browser, nginx as docs/service.md sets it up, and the site."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e import nginx
from tests.e2e.rows import query
from tests.factories.stores import WEEK_29
from tests.processes import StartedSite

BASE = "/palimpsest"
NAME = "agents.localhost"  # which a browser finds by itself, and the site does not know by itself
SESSION = f"{BASE}/stores/hermes/sessions/{WEEK_29}"
PAGES = (
    *("", "?q=airline", "search?q=airline", "compactions", "stores", "settings", "nothing-here", "runs/1"),
    *(f"stores/hermes/sessions/{WEEK_29}{view}" for view in ("", "/context", "/rows", "/timeline", "/plan", "/export")),
    "api/v1/docs",
)
# Sent in one go from the page: what each of these answers, and where that came from in the end.
FETCHED = """pages => Promise.all(pages.map(async page => {
    const answer = await fetch(page);
    return [answer.status, answer.url, await answer.text()];
}))"""
STREAMED = """async address => {
    const answer = await fetch(address), reader = answer.body.getReader(), decoder = new TextDecoder();
    let text = "", parts = 0;
    for (let part; !(part = await reader.read()).done; parts++) text += decoder.decode(part.value, { stream: true });
    return [answer.headers.get("Content-Length"), parts, text];
}"""

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestRemovedIn10Warning"),
    pytest.mark.skipif(nginx.program() is None, reason="no nginx: `make test-all` takes it out of Debian's package"),
]


@pytest.fixture
def store(hermes_copy: Callable[[int], Path]) -> Path:
    return hermes_copy(21)


@pytest.fixture
def site(store: Path, tmp_path: Path) -> Iterator[StartedSite]:
    site = StartedSite(
        tmp_path / "data",
        PALIMPSEST_STORES=f"hermes=sqlite:///{store}",
        PALIMPSEST_BASE_PATH=BASE,
        PALIMPSEST_ALLOWED_HOSTS=NAME,
        PALIMPSEST_TRUSTED_PROXIES="127.0.0.1",
    )
    try:
        yield site.ready()
    finally:
        site.cut_down()


@pytest.fixture
def address(site: StartedSite, tmp_path: Path) -> Iterator[str]:
    place = tmp_path / "nginx"
    place.mkdir()
    with nginx.in_front_of(site.port, NAME, place) as address:
        yield address


def test_below_a_path_and_https(browser: Browser, site: StartedSite, address: str, store: Path) -> None:
    context = browser.new_context(ignore_https_errors=True)
    page, problems, asked = context.new_page(), list[str](), list[str]()
    page.on("pageerror", lambda problem: problems.append(str(problem)))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    page.on("request", lambda request: asked.append(request.url))
    try:
        signs_in(page, site, address)
        reads_what_the_agent_writes(page, store)
        switches_redaction_and_comes_back(page, address)
        exports(page, site)
        assert not problems
        leads_nowhere_else(page, address)
        assert {url.partition(BASE)[0] for url in asked} == {address}
        assert {(cookie["secure"], cookie["path"]) for cookie in context.cookies()} == {(True, BASE)}
    finally:
        context.close()


def signs_in(page: Page, site: StartedSite, address: str) -> None:
    page.goto(f"{address}{BASE}/stores")
    assert page.url == f"{address}{BASE}/sign-in/"
    assert f"http://127.0.0.1:{site.port}{BASE}/sign-in/" in site.link
    page.goto(site.link.replace(f"http://127.0.0.1:{site.port}", address))
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Sessions", level=1)).to_be_visible()
    assert page.url == f"{address}{BASE}/"


def reads_what_the_agent_writes(page: Page, store: Path) -> None:
    """A session is opened from the list; the look for news, and what it brings, come through."""
    page.get_by_role("link", name="Airline desk, week 29", exact=True).click()
    expect(page.locator("[data-turn]").last).to_be_visible()
    assert page.url.endswith(SESSION)
    written = "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', 'and by proxy?', ?)"
    query(store, written, WEEK_29, time.time())
    said = page.get_by_role("article").get_by_text("and by proxy?")
    expect(said).to_be_visible()


def switches_redaction_and_comes_back(page: Page, address: str) -> None:
    button = page.locator("form[action$='/redact'] button").first
    for afterwards in ("Show what is redacted", "Redact what looks like a secret"):
        button.evaluate("button => button.click()")  # its menu is closed
        expect(button).to_have_text(afterwards)
        assert page.url == f"{address}{SESSION}"


def exports(page: Page, site: StartedSite) -> None:
    """In parts, as it is made, and the same as without a proxy."""
    wanted = f"{SESSION}/export?format=jsonl&view=raw"
    length, parts, text = page.evaluate(STREAMED, wanted)
    assert length is None and parts > 1
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    here = httpx2.get(f"http://127.0.0.1:{site.port}{wanted}", cookies=cookies).text
    assert text.split("\n")[1:] == here.split("\n")[1:], "the first line has the time at which it was made"


def leads_nowhere_else(page: Page, address: str) -> None:
    """Every address on a page, and where it led to."""
    answers = page.evaluate(FETCHED, [f"{BASE}/{each}" for each in PAGES])
    assert [status for status, _, _ in answers].count(404) == 2  # there is no such page, and no run
    for status, url, text in answers:
        assert status in (200, 404) and url.startswith(f"{address}{BASE}/")
        found = re.findall(r'(?:href|src|action|hx-[a-z]+|data-[a-z-]+)="(/[^"]*)', text)
        assert found and all(each.startswith(f"{BASE}/") for each in found), (url, found)
    document = page.evaluate(FETCHED, [f"{BASE}/api/v1/openapi.json"])[0][2]
    assert f'"{BASE}/api/v1/stores"' in document
