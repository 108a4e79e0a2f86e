"""The recording at the top of README.md: its steps, which a test walks, and the script that records them.

`make recording` starts the site on the demo store, walks the steps in Chromium and writes docs/images/palimpsest.webp.
A page is photographed when something has changed; the pointer and the line of words below are drawn in afterwards. It
takes the pictures of `pictures` too.
"""

from __future__ import annotations

import importlib
import io
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect, sync_playwright

WIDTH, HEIGHT, CAPTION = 1200, 700, 56  # pixels; the line of words is below the page
POINTER = ((0, 0), (0, 19), (5, 15), (9, 23), (12, 22), (8, 14), (14, 14))
STEPS, STEP = 8, 40  # of the pointer from one place to the next, and milliseconds for each
# The line of words is a page of the site, which has the face.
_SAY = """words => {
    document.body.textContent = words;
    document.body.style.cssText = "display: grid; place-items: center; background: #201d18; color: #f6f3ec";
    document.body.style.font = "600 20px Inter";
    return document.fonts.load("600 20px Inter");
}"""


def walk(page: Page, show: Callable[[str, float], None], click: Callable[[Locator], None]) -> None:
    """From the list of sessions to a compaction that is taken back. `show` takes words and the seconds they stay."""
    page.locator(".lines").evaluate("lines => lines.scrollIntoView()")
    show("The sessions of your agents, and how full each context is", 2)
    click(page.get_by_role("link", name="Stocktaking, ten warehouses", exact=True))
    expect(page.locator(".timeline svg")).to_be_visible()
    expect(page.locator("#plan-form")).to_be_visible()
    show("This one is almost full: choose what happens to the middle", 2.5)
    click(page.get_by_role("radio", name="Summarise"))
    expect(page.get_by_label("Summary by")).to_be_visible()
    click(page.get_by_role("button", name="Preview"))
    expect(page.locator("[data-run=ready]")).to_be_visible()
    show("A preview that you can edit. Nothing is written yet", 3.5)
    click(page.locator("[data-run=ready]").get_by_role("button", name="Apply"))
    receipt = page.locator("[data-run=applied]")
    expect(receipt).to_be_visible()
    expect(page.locator("[data-boundary]").last).to_be_in_viewport()
    show("Compacted, in the same session: the agent just goes on", 3.5)
    click(receipt.get_by_role("button", name="Undo this compaction…"))
    undo = page.get_by_role("button", name="Undo", exact=True)
    expect(undo).to_be_visible()
    show("Undo says first what it will do", 2.5)
    click(undo)
    expect(page.locator("#said")).to_contain_text("Undone")
    expect(page.locator("[data-boundary]")).to_have_count(0)
    expect(page.locator("#plan-form")).to_be_visible()
    show("Everything is back: nothing is ever deleted", 3)


class Recorder:
    """Frames of a walk, with the milliseconds that each is shown."""

    def __init__(self, page: Page, words: Page) -> None:
        # Pillow is no package of the tests: `make recording` installs it.
        self.image, self.draw = (importlib.import_module(f"PIL.{name}") for name in ("Image", "ImageDraw"))
        self.page, self.words = page, words
        self.at = (WIDTH / 2, HEIGHT / 2)
        self.caption: Any = None
        self.frames: list[tuple[Any, int]] = []

    def show(self, words: str, seconds: float) -> None:
        self.words.evaluate(_SAY, words)
        self.caption = self._seen(self.words)
        self._add(self._seen(self.page), round(seconds * 1000))

    def click(self, target: Locator) -> None:
        target.scroll_into_view_if_needed()
        box = target.bounding_box()
        assert box
        shown, (x, y) = self._seen(self.page), self.at
        to_x, to_y = box["x"] + min(box["width"] / 2, 60), box["y"] + box["height"] / 2
        for step in range(1, STEPS + 1):
            part = 1 - (1 - step / STEPS) ** 2
            self.at = (x + (to_x - x) * part, y + (to_y - y) * part)
            self._add(shown, STEP)
        self.page.mouse.move(to_x, to_y)
        self._add(self._seen(self.page), 400)
        self.page.mouse.click(to_x, to_y)

    def save(self, path: Path) -> None:
        frames, milliseconds = zip(*self.frames, strict=True)
        options = {"duration": milliseconds, "loop": 0, "quality": 75, "method": 6, "minimize_size": True}
        frames[0].save(path, save_all=True, append_images=frames[1:], **options)
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {sum(milliseconds) / 1000:.0f} s, {len(frames)} frames")

    def _seen(self, page: Page) -> Any:
        return self.image.open(io.BytesIO(page.screenshot())).convert("RGB")

    def _add(self, shown: Any, milliseconds: int) -> None:
        frame = self.image.new("RGB", (WIDTH, HEIGHT + CAPTION))
        frame.paste(shown)
        frame.paste(self.caption, (0, HEIGHT))
        pointer = [(self.at[0] + x, self.at[1] + y) for x, y in POINTER]
        self.draw.Draw(frame).polygon(pointer, fill="black", outline="white", width=2)
        self.frames.append((frame, milliseconds))


def main() -> None:
    from tests import pictures
    from tests.browser import sign_in
    from tests.processes import ROOT, StartedSite

    images = ROOT / "docs" / "images"

    with tempfile.TemporaryDirectory(prefix="palimpsest-recording-") as place, sync_playwright() as playwright:
        homes = (
            "HERMES_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCLAW_STATE_DIR", "PI_CODING_AGENT_DIR",
            "GEMINI_HOME", "QWEN_HOME", "OPENCODE_DATA_DIR",
        )  # fmt: skip
        site = StartedSite(Path(place) / "data", None, **dict.fromkeys(homes, place))
        chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
        try:
            site.ready()
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
            words = browser.new_page(viewport={"width": WIDTH, "height": CAPTION})
            expect.set_options(timeout=60_000)
            sign_in(page, site)
            for picture in pictures.PICTURES:
                address = f"http://127.0.0.1:{site.port}/"
                pictures.take(browser, page.context.storage_state(), address, picture, images / f"{picture.name}.png")
            words.goto(f"http://127.0.0.1:{site.port}/sign-in/")
            recorder = Recorder(page, words)
            walk(page, recorder.show, recorder.click)
            browser.close()
        finally:
            site.cut_down()
    recorder.save(images / "palimpsest.webp")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "viewer.settings")
    main()
