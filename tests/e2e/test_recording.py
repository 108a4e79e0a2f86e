"""The steps of the recording in README.md lead where they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from tests import recording
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
