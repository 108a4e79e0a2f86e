"""The steps of the recording in README.md, and those of the pictures in docs, lead where they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

from tests import pictures, recording
from tests.browser import sign_in
from tests.processes import StartedSite

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestRemovedIn10Warning")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[StartedSite]:
    """The whole site, with the demo store alone."""
    started = StartedSite(tmp_path / "data")
    yield started.ready()
    started.cut_down()


def test_the_steps_of_the_recording(page: Page, site: StartedSite) -> None:
    page.set_viewport_size({"width": recording.WIDTH, "height": recording.HEIGHT})
    sign_in(page, site)
    before = site.demo("SELECT COUNT(*) FROM messages WHERE active")
    shown: list[tuple[str, float]] = []
    recording.walk(page, lambda *words: shown.append(words), Locator.click)
    assert site.demo("SELECT COUNT(*) FROM messages WHERE active") == before
    assert len(shown) == 6 and sum(seconds for _, seconds in shown) < 20


def test_the_steps_of_the_pictures(browser: Browser, page: Page, site: StartedSite, tmp_path: Path) -> None:
    sign_in(page, site)
    for picture in pictures.PICTURES:
        path = tmp_path / f"{picture.name}.png"
        pictures.take(browser, page.context.storage_state(), f"http://127.0.0.1:{site.port}/", picture, path)
        assert path.stat().st_size > 10_000, picture.name
    images = Path(__file__).parents[2] / "docs" / "images"
    assert {each.stem for each in images.glob("*.png")} == {each.name for each in pictures.PICTURES}
