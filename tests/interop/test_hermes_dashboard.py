"""The tab of Palimpsest in the real Hermes' dashboard, as 0.19.0 brings it built: what needs compaction, with links."""

from __future__ import annotations

import re
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from tests.agents.hermes.real import configured, surroundings
from tests.browser import PATIENCE
from tests.doors import TestDoor
from tests.factories.stores import EmptyStore, create_empty
from tests.processes import free_port
from viewer.catalog import sync_worker
from viewer.inside.agents.hermes import AGENT
from viewer.stores.registry import get_store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]

NOBODY = "http://127.0.0.1:9/v1"
WAIT = 90.0  # seconds for its start


@pytest.fixture
def door(tmp_path: Path, settings: Settings, open_door: Callable[..., TestDoor]) -> TestDoor:
    """The door in a Hermes with one session that is full, and one that is not."""
    home = tmp_path / "hermes"
    home.mkdir()
    (home / "config.yaml").write_text(configured(NOBODY))
    create_empty(home / "state.db")
    settings.STORES = {"hermes": f"sqlite:///{home}/state.db"}
    store = EmptyStore(home / "state.db")
    for name, words in (("full", 2_200), ("small", 2)):
        store.session(name, title=f"The <i>{name}</i> one", model="gpt-4")  # a window of 8,192 tokens
        store.say(name, "user", "many more words " * words, timestamp=time.time() - 7_000)
    sync_worker.sync_all()
    return open_door(get_store("hermes"), AGENT)


@pytest.fixture
def dashboard(hermes22: Path, door: TestDoor, tmp_path: Path) -> Iterator[str]:
    """The address of its dashboard."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [str(hermes22.with_name("hermes")), "dashboard", "--port", str(port), "--no-open", "--skip-build"]
    with (tmp_path / "dashboard.log").open("w") as log:
        process = subprocess.Popen(
            command, env=surroundings(tmp_path / "hermes", NOBODY), stdout=log, stderr=log, cwd=tmp_path
        )
    try:
        until = time.monotonic() + WAIT
        while process.poll() is None and time.monotonic() < until:
            with suppress(OSError):
                urllib.request.urlopen(address, timeout=5).close()
                break
            time.sleep(0.2)
        else:
            pytest.fail((tmp_path / "dashboard.log").read_text())
        yield address
    finally:
        process.terminate()
        process.wait(WAIT)


@pytest.fixture
def page(browser: Browser, signed_in: Client, live_server: LiveServer, settings: Settings) -> Iterator[Page]:
    """A page that asks only this machine, signed in to the site."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    cookie = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": cookie, "value": signed_in.cookies[cookie].value, "url": live_server.url}])
    context.route(re.compile(r"^https?://(?!127\.0\.0\.1|localhost)"), lambda route: route.abort())
    yield context.new_page()
    context.close()


def test_the_tab_lists_what_needs_compaction(dashboard: str, door: TestDoor, page: Page) -> None:
    page.goto(f"{dashboard}/sessions")
    page.get_by_role("link", name="Compaction").click()
    tab = page.get_by_role("main")
    listed = tab.get_by_role("link", name="The <i>full</i> one")
    expect(listed).to_be_visible()
    expect(tab.get_by_text(re.compile(r"^\d+ %$"))).to_be_visible()
    expect(tab.get_by_text("1h ago").first).to_be_visible()
    expect(tab.get_by_role("link", name="The <i>small</i> one")).to_have_count(0)
    with page.context.expect_page() as opened:
        listed.click()
    expect(opened.value.get_by_role("heading", level=1)).to_contain_text("The <i>full</i> one")
    door.change(site="http://127.0.0.1:9")
    page.reload()
    expect(tab.get_by_text("Palimpsest does not answer.")).to_be_visible()
