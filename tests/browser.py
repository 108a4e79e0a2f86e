"""The browser: how it is started, a signed-in page whose complaints fail the test, and what every page has to stand."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it brings no types
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

if TYPE_CHECKING:
    from tests.processes import StartedSite

WIDE, PHONE = (1500, 900, "light"), (360, 760, "dark")
_AXE = Axe().axe_script
_LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

# The elements that make the page wider than its window.
_BEYOND = """() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.body.querySelectorAll("*")]
    .filter(one => one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML.slice(0, 100))"""

# Contrast is most of axe's work: of texts whose colours, sizes and backgrounds all are the same it looks at three.
_ALIKE = """() => {
    const backgrounds = new Map(), alike = new Map();
    const behind = one => {
        if (!one) return "";
        if (!backgrounds.has(one)) {
            const { backgroundColor, backgroundImage, opacity, filter, mixBlendMode } = getComputedStyle(one);
            const own = [backgroundColor, backgroundImage, opacity, filter, mixBlendMode].join(" ");
            const rest = behind(one.parentElement);
            backgrounds.set(one, own === "rgba(0, 0, 0, 0) none 1 none normal" ? rest : `${own} on ${rest}`);
        }
        return backgrounds.get(one);
    };
    for (const one of document.body.querySelectorAll("*")) {
        const holds = [...one.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
        if (!(holds || one.matches("input, select, textarea")) || !one.checkVisibility({ visibilityProperty: true })) {
            continue;
        }
        const { color, fontSize, fontWeight, textShadow, position } = getComputedStyle(one);
        const disabled = one.closest("[disabled], [aria-disabled], label") !== null;
        const key = [one.localName, color, fontSize, fontWeight, textShadow, position, disabled, behind(one)].join();
        alike.set(key, [...(alike.get(key) ?? []), one]);
    }
    document.querySelectorAll("[data-looked-at]").forEach(one => one.removeAttribute("data-looked-at"));
    for (const found of alike.values()) {
        for (const at of [0, found.length >> 1, found.length - 1]) found[at].setAttribute("data-looked-at", "");
    }
    axe.configure({ rules: [{ id: "color-contrast", selector: "[data-looked-at]" }] });
}"""

# What stays where it is while the page is scrolled.
_OVER = ".sheet-open, header.top, .head, .timeline, .heads, .side .actions, .side .confirm"

# What had the focus is shown still.
HELD = "document.activeElement !== document.body && document.activeElement.checkVisibility()"
TOP = "element => element.getBoundingClientRect().top"

# The place that is read is the one kept with the history entry.
_KEPT = """() => {
    const kept = history.state, at = kept && document.getElementById(kept.id);
    return kept && Math.abs((at ? at.getBoundingClientRect().top : scrollY) - kept.y) < 1;
}"""

PATIENCE = 90_000  # milliseconds; what takes 6 s of an idle machine took 40 beside other work

Visit = Callable[..., Page]

# What Playwright switches off (this replaces its own list), and what Chromium would start for every window beside the
# page: two pages under its address bar, and a process held ready. They cost more than most of our pages.
_OFF = (
    "AimEnabled AvoidCorsURLLoaderRestartOnRedirect AvoidUnnecessaryBeforeUnloadCheckSync DestroyProfileOnBrowserClose "
    "HttpsFirstBalancedModeAutoEnable HttpsUpgrades LensOverlay MediaRouter NetworkTimeServiceQuerying "
    "OptimizationHints PaintHolding PreconnectToSearch TcpPortRandomizationWin ThirdPartyStoragePartitioning "
    "WebUIOmniboxPopup WebUIOmniboxAimPopup WebUIOmniboxFullPopup SpareRendererForSitePerProcess"
)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, object]) -> dict[str, object]:
    """The system's Chromium instead of Playwright's own download; root needs --no-sandbox."""
    expect.set_options(timeout=PATIENCE)  # 5 s are too few beside other work
    found = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    if found is None:
        pytest.fail("No Chromium: `make test-all` installs it.")
    off = f"--disable-features={','.join(_OFF.split())}"
    return {**browser_type_launch_args, "executable_path": found, "args": ["--no-sandbox", "--disable-gpu", off]}


@pytest.fixture
def visit(browser: Browser, live_server: LiveServer, signed_in: Client, settings: Settings) -> Iterator[Visit]:
    """A function that opens a signed-in page of a width, height and colour scheme, with further options of Playwright.

    What the browser writes to its console as an error, an exception, a dialog, and every request to another host fail
    the test. It asks for `settings` so that its pages are closed before the test's settings end, and ask for nothing
    that is not there any more.
    """
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def opened(width: int = 1500, height: int = 900, scheme: str = "light", **options: Any) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,  # type: ignore[arg-type]  # light or dark
            base_url=live_server.url,
            **options,
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        name = settings.SESSION_COOKIE_NAME
        context.add_cookies([{"name": name, "value": signed_in.cookies[name].value, "url": live_server.url}])
        page = context.new_page()
        page.on("console", lambda message: complaints.append(_said(message)) if _is_wrong(message) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"a dialog: {dialog.message}"))
        page.on("request", lambda asked: complaints.append(asked.url) if _leaves(asked.url) else None)
        return page

    def _is_wrong(message: ConsoleMessage) -> bool:
        """Chromium writes of every refusal that it is one; the page says it in words."""
        refused = re.search(r"responded with a status of (409|422|503) ", message.text)
        return message.type == "error" and not refused

    def _said(message: ConsoleMessage) -> str:
        return f"{message.text} {message.location['url']}"

    def _leaves(url: str) -> bool:
        return not url.startswith((live_server.url, "data:", "blob:"))

    yield opened
    for context in contexts:
        context.close()
    assert not complaints, complaints


on_both_screens = pytest.mark.parametrize("screen", [WIDE, PHONE], ids=["wide-light", "phone-dark"], indirect=True)


@pytest.fixture
def screen(request: pytest.FixtureRequest, visit: Visit) -> Page:
    """A page on a wide screen in light; with `on_both_screens` another one on a phone in dark."""
    return visit(*getattr(request, "param", WIDE))


def at_rest(page: Page) -> None:
    """No request is under way, and what came is settled."""
    expect(page.locator(".htmx-request, .htmx-settling, .htmx-swapping")).to_have_count(0)


def until_kept(page: Page) -> None:
    """Nothing loads, and going back would lead to the place that is read now."""
    at_rest(page)
    page.wait_for_function(_KEPT)


def require_top(place: Locator, top: float) -> None:
    """It comes to stand so far below the window's edge."""
    at_rest(place.page)
    stands = f"([place, top]) => Math.abs(({TOP})(place) - top) < 2"
    place.page.wait_for_function(stands, arg=[place.element_handle(), top])


def require_accessible(screen: Page, what: str, within: str = "html") -> None:
    """axe finds nothing in the elements of that selector, and nothing stands beyond the edge."""
    # These cover other things wherever the page is; what is under them is reached by scrolling on.
    at_their_places = "one.style.cssText += 'position: static; margin-top: 0'"
    screen.evaluate(f"() => document.querySelectorAll('{_OVER}').forEach(one => {{ {at_their_places} }})")
    _require(screen, what, {"type": "tag", "values": _LEVELS}, within)
    require_narrow(screen, what)


def require(screen: Page, what: str, rules: list[str]) -> None:
    """axe finds nothing against these rules."""
    _require(screen, what, {"type": "rule", "values": rules})


def _require(screen: Page, what: str, rules: dict[str, Any], within: str = "html") -> None:
    if screen.evaluate("typeof axe") == "undefined":
        screen.evaluate(_AXE)
    screen.evaluate(_ALIKE)
    run = "([within, rules]) => axe.run(within, { resultTypes: ['violations'], runOnly: rules })"
    found = screen.evaluate(run, [within, rules])["violations"]
    assert not found, (what, [(each["id"], each["nodes"][0]["html"]) for each in found])


def require_narrow(screen: Page, what: str) -> None:
    """Nothing stands beyond the edge."""
    assert not screen.evaluate(_BEYOND), (what, screen.evaluate(_BEYOND))


def sign_in(page: Page, site: StartedSite) -> None:
    page.goto(site.link)
    expect(page.get_by_role("heading", name="Sessions", level=1)).to_be_visible()


def compact_now(page: Page) -> None:
    page.get_by_role("button", name="Compact now…").click()
    question = page.get_by_role("group", name="Confirm")
    expect(question).to_contain_text("You can undo this.")
    question.get_by_role("button", name="Compact").click()
