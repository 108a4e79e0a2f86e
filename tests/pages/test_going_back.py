"""Going back shows a page as it was left, at once, and shows nothing to a browser that signed out."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import BrowserType, expect
from pytest_django.live_server_helper import LiveServer

from tests.factories.stores import EmptyStore

# Playwright switches off what keeps pages.
KEEPS = ["--disable-back-forward-cache"]
_NOTE_WHAT_COMES_BACK = "onpageshow = event => { if (event.persisted) sessionStorage.seen = document.body.innerText; }"


def test_pages_that_are_read_are_kept_and_those_with_a_token_or_a_state_are_not(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    href = empty_store.session("s")
    empty_store.chat("s", 8)
    for path in ("/", "/search?q=word", "/insights", "/about", href, f"{href}/context"):
        answer = signed_in.get(path)
        assert answer.headers["Cache-Control"] == "private, no-cache", path
        assert answer.headers["Vary"] == "*", path  # no stored answer is ever used for another request
        assert signed_in.get(path, headers={"HX-Request": "true"}).headers["Cache-Control"] == "no-store", path
    for path in ("/settings", "/compactions", "/nowhere"):
        kept = signed_in.get(path).headers.get("Cache-Control", "no-store")
        assert "no-store" in kept, path
    made = signed_in.post("/settings/tokens", {"name": "laptop", "scopes": ["read"]})
    assert made.status_code == 200 and made.headers["Cache-Control"] == "no-store"


def test_signing_out_has_the_browser_forget_what_it_kept(signed_in: Client) -> None:
    for path, data in (("/redact", {"redact": "1"}), ("/redact", {}), ("/sign-out/", {})):
        before = signed_in.cookies.get(f"{settings.SESSION_COOKIE_NAME}_pages")
        answer = signed_in.post(path, data)
        cookie = answer.cookies[f"{settings.SESSION_COOKIE_NAME}_pages"]
        assert cookie.value != getattr(before, "value", "") and not cookie["httponly"], "a script compares it"
    assert answer.headers["Clear-Site-Data"] == '"cache"'


@pytest.mark.slow
def test_back_is_instant_until_one_signs_out(
    browser_type: BrowserType,
    browser_type_launch_args: dict[str, object],
    live_server: LiveServer,
    signed_in: Client,
    empty_store: EmptyStore,
) -> None:
    href = empty_store.session("s")
    empty_store.chat("s", 8)
    browser = browser_type.launch(**browser_type_launch_args, ignore_default_args=KEEPS)  # type: ignore[arg-type]
    page = browser.new_context(base_url=live_server.url).new_page()
    name = settings.SESSION_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": signed_in.cookies[name].value, "url": live_server.url}])
    for path in ("/", href, "/search?q=word"):
        page.goto(path)
        page.evaluate("window.left = true")
        page.goto("/about")
        page.evaluate("setTimeout(() => history.back())")
        page.wait_for_function("window.left")  # the page itself, with what its scripts know
    page.add_init_script(_NOTE_WHAT_COMES_BACK)
    page.goto(href)
    page.evaluate("window.left = true")
    page.goto("/palette?q=redact")
    page.get_by_role("button", name="Redact").click()
    page.wait_for_load_state()
    page.evaluate("setTimeout(() => history.go(-2))")
    page.wait_for_url(f"**{href}")
    page.get_by_text("secrets redacted").wait_for()
    assert not page.evaluate("window.left || sessionStorage.seen"), "a page of before is loaded anew"
    page.goto("/palette?q=sign+out")
    page.get_by_role("button", name="Sign out").click()
    for _ in range(2):
        expect(page).to_have_title("Not signed in · Palimpsest")
        page.evaluate("setTimeout(() => history.back())")
        page.wait_for_timeout(500)
    expect(page).to_have_title("Not signed in · Palimpsest")
    assert not page.evaluate("sessionStorage.seen")
    browser.close()
