"""The theme: the system's or one that was chosen, in a cookie, and the line at the foot of every page."""

from __future__ import annotations

import tomllib

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import expect

from tests.browser import Visit, require_accessible
from tests.factories.stores import EmptyStore
from tests.html import Element, read
from viewer.pages.preferences import THEME_COOKIE as COOKIE

DARK, LIGHT = "rgb(22, 21, 19)", "rgb(246, 243, 236)"  # --paper
PAPER = "getComputedStyle(document.body).backgroundColor"


def pressed(page: Element) -> list[str]:
    return [button.text for button in page.one("form", id="theme").all("button", **{"aria-pressed": "true"})]


def metas(page: Element) -> list[tuple[str, str]]:
    found = page.all("meta", name="theme-color")
    return [(each.attributes["content"], each.attributes.get("media", "")) for each in found]


def test_the_system_s_theme_until_another_is_chosen(signed_in: Client) -> None:
    page = read(signed_in.get("/stores"))
    assert "data-theme" not in page.one("html").attributes and pressed(page) == ["System"]
    assert [media for _, media in metas(page)] == ["(prefers-color-scheme: light)", "(prefers-color-scheme: dark)"]


@pytest.mark.parametrize(("theme", "label", "colour"), [("dark", "Dark", "#1e1c1a"), ("light", "Light", "#fffdf8")])
def test_the_server_itself_shows_what_was_chosen(signed_in: Client, theme: str, label: str, colour: str) -> None:
    answer = signed_in.post("/theme", {"theme": theme, "next": "/stores?a=1"})
    assert answer.headers["Location"] == "/stores?a=1"
    cookie = answer.cookies[COOKIE]
    assert (cookie.value, cookie["httponly"], cookie["samesite"]) == (theme, True, "Lax")
    page = read(signed_in.get("/settings"))
    assert page.one("html").attributes["data-theme"] == theme and pressed(page) == [label]
    assert metas(page) == [(colour, "")]
    signed_in.post("/theme", {"theme": "", "next": "/"})
    assert "data-theme" not in read(signed_in.get("/settings")).one("html").attributes


def test_only_themes_are_taken_and_only_by_the_site_s_own_forms(signed_in: Client) -> None:
    assert signed_in.post("/theme", {"theme": '"><script>', "next": "//evil.example"}).headers["Location"] == "/"
    signed_in.cookies[COOKIE] = "x onload=y"
    assert "data-theme" not in read(signed_in.get("/stores")).one("html").attributes
    assert signed_in.get("/theme").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in.cookies
    assert strict.post("/theme", {"theme": "dark"}).status_code == 403
    assert COOKIE not in Client().post("/theme", {"theme": "dark"}).cookies


def test_htmx_gets_the_switch_alone_and_is_told(signed_in: Client) -> None:
    asked = {"HX-Request": "true", "HX-Current-URL": "http://testserver/compactions?b=2"}
    answer = signed_in.post("/theme", {"theme": "dark"}, headers=asked)
    assert answer.headers["HX-Trigger"] == '{"theme": {"value": "dark"}}'
    assert pressed(read(answer)) == ["Dark"]
    assert read(answer).one("input", name="next").attributes["value"] == "/compactions?b=2"


def test_an_address_that_is_none_is_no_error(signed_in: Client) -> None:
    for address in ("http://[", "//[", "nonsense"):
        asked = {"HX-Request": "true", "HX-Current-URL": address}
        assert signed_in.get("/palette", headers=asked).status_code == 200, address


def test_every_page_says_its_version_and_leads_to_the_api(signed_in: Client, empty_store: EmptyStore) -> None:
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]
    for path in ("/", "/search", "/compactions", "/stores", "/settings", empty_store.session("s"), "/nowhere"):
        foot = read(signed_in.get(path), 404 if path == "/nowhere" else 200).one("footer", cls="foot")
        assert f"Palimpsest {project['version']}" in foot.text, path
        assert [link.attributes["href"] for link in foot.all("a")] == ["/about", "/api/v1/docs"], path
    assert not read(Client().get("/sign-in/")).all("footer"), "a stranger is not told the version"


def test_a_theme_is_chosen_in_place_and_stays(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit(scheme="light")
    screen.goto(empty_store.session("s"))
    loads: list[str] = []
    screen.on("load", lambda page: loads.append(page.url))
    assert screen.evaluate(PAPER) == LIGHT
    dark = screen.get_by_role("button", name="Dark")
    dark.focus()
    screen.keyboard.press("Enter")
    expect(screen.locator("html")).to_have_attribute("data-theme", "dark")
    expect(dark).to_have_attribute("aria-pressed", "true")
    assert screen.evaluate(PAPER) == DARK
    assert screen.locator("meta[name=theme-color]").first.get_attribute("content") == "rgb(30, 28, 26)"
    assert screen.evaluate("document.activeElement.textContent") == "Dark", "the focus stays"
    assert not loads
    require_accessible(screen, "dark by choice")
    screen.reload()
    assert screen.evaluate(PAPER) == DARK
    screen.emulate_media(media="print")
    assert screen.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light", "paper is white"
    screen.emulate_media(media="screen")
    screen.get_by_role("button", name="System").click()
    expect(screen.locator("html")).to_have_attribute("data-theme", "")
    assert screen.evaluate(PAPER) == LIGHT


def test_a_theme_without_javascript(visit: Visit) -> None:
    screen = visit(scheme="dark", java_script_enabled=False)
    screen.goto("/stores")
    screen.get_by_role("button", name="Light").click()
    expect(screen).to_have_url("/stores")
    expect(screen.locator("html")).to_have_attribute("data-theme", "light")
    expect(screen.get_by_role("button", name="Keys")).to_be_hidden()
