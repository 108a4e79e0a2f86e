"""The pictures in docs/images, each with the steps that lead to it; `make recording` takes them anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

from playwright.sync_api import Browser, Locator, Page, StorageState, expect

LISBON, STOCKTAKING = "Lisbon in October, five people and a dog", "Stocktaking, ten warehouses"


class Picture(NamedTuple):
    """`show` opens what is seen, from the list of sessions on, and returns the part of the page to take, None for all.
    Width and height in pixels, `scale` in pixels of the picture for each.
    """

    name: str
    show: Callable[[Page], Locator | None]
    width: int = 1400
    height: int = 900
    is_dark: bool = False
    scale: int = 1


def _open(page: Page, title: str) -> None:
    page.get_by_role("link", name=title, exact=True).click()
    expect(page.locator(".timeline svg")).to_be_visible()


def _sessions(page: Page) -> None:
    expect(page.get_by_role("link", name=STOCKTAKING, exact=True)).to_be_visible()


def _panel(page: Page) -> Locator:
    _open(page, STOCKTAKING)
    expect(page.locator("#plan-form")).to_be_visible()
    return page.locator("#plan-form").locator("xpath=ancestor::section[1]")


def _figure(page: Page) -> Locator:
    page.goto(urljoin(page.url, "/about"))
    return page.locator("figure").first


def _boundary(page: Page) -> Locator:
    _open(page, LISBON)
    boundary = page.locator("[data-boundary]").last
    boundary.locator("summary").first.click()
    boundary.get_by_role("link", name="13 summarised").click()
    expect(boundary.get_by_text("They stay in the store")).to_be_visible()
    return boundary


def _search(page: Page) -> None:
    page.get_by_role("searchbox", name="Search every message").fill("glaze")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Messages")).to_be_visible()


def _dark(page: Page) -> None:
    _open(page, LISBON)
    expect(page.locator("#plan-form")).to_be_visible()


def _phone(page: Page) -> None:
    _open(page, STOCKTAKING)
    page.locator(".sheet-open").get_by_role("link", name="Compact…").click()
    expect(page.locator("#plan-form")).to_be_visible()


PICTURES = (
    Picture("sessions", _sessions),
    Picture("panel", _panel),
    Picture("compaction", _figure),
    Picture("boundary", _boundary),
    Picture("search", _search),
    Picture("session-dark", _dark, is_dark=True),
    Picture("phone", _phone, 360, 760, scale=2),
)


def take(browser: Browser, signed_in: StorageState, address: str, picture: Picture, path: Path) -> None:
    """One picture of the site at `address`, whose list of sessions is its first page."""
    context = browser.new_context(
        storage_state=signed_in,
        viewport={"width": picture.width, "height": picture.height},
        color_scheme="dark" if picture.is_dark else "light",
        device_scale_factor=picture.scale,
        reduced_motion="reduce",
    )
    try:
        page = context.new_page()
        page.goto(address)
        part = picture.show(page)
        page.wait_for_load_state("networkidle")
        (part or page).screenshot(path=path)
    finally:
        context.close()
