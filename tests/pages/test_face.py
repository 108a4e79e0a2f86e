"""The look that all pages share: one face of our own, a short scale of sizes, one left edge."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.conf import settings
from django.test import Client

from tests.browser import Visit, at_rest
from tests.html import read

STATIC = settings.ASSETS / "static"
STYLES = (STATIC / "palimpsest.css").read_text()
SIZES = {"--meta": 12, "--text": 14, "--read": 16, "--title": 20, "--code": 13}  # pixels

# Sizes of the texts that are seen.
_SEEN_SIZES = """() => {
    const sizes = new Set(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const text = walker.currentNode, within = text.parentElement;
        if (text.data.trim() && within.checkVisibility() && !within.matches("script, noscript")) {
            sizes.add(parseFloat(getComputedStyle(within).fontSize));
        }
    }
    return [...sizes];
}"""
_SHIFTS = """new PerformanceObserver(list => {
    for (const each of list.getEntries()) window.shifted = (window.shifted ?? 0) + each.value;
}).observe({ type: "layout-shift", buffered: true })"""


def test_text_has_the_sizes_of_the_scale_and_no_others() -> None:
    scale = dict(re.findall(r"(--\w+): ([.\d]+)rem", STYLES))
    assert {name: float(scale[name]) * 16 for name in SIZES} == SIZES
    sizes = re.findall(r"[ {]font(?:-size)?: ([^;}]+)", STYLES)
    assert len(sizes) > 50
    assert not [size for size in sizes if not re.match(rf"inherit|0$|var\((?:{'|'.join(SIZES)})\)", size)]


def test_the_face_is_ours_small_licensed_and_asked_for_early(signed_in: Client) -> None:
    (font,) = re.findall(r'url\("(fonts/[^"]+)"\)', STYLES)
    files = [file for file in (STATIC / "fonts").iterdir() if file.suffix == ".woff2"]
    assert [f"fonts/{file.name}" for file in files] == [font]
    assert files[0].stat().st_size < 60_000
    assert "SIL OPEN FONT LICENSE Version 1.1" in (STATIC / "fonts" / "OFL.txt").read_text()
    answer = signed_in.get("/")
    early = read(answer).one("link", rel="preload")
    assert early.attributes["href"] == f"/static/{font}" and "crossorigin" in early.attributes
    assert "font-src 'self';" in answer.headers["Content-Security-Policy"]


@pytest.mark.slow
def test_pages_share_a_left_edge_and_do_not_move_when_the_face_comes(visit: Visit, demo: Callable[[str], str]) -> None:
    screen = visit()
    screen.add_init_script(_SHIFTS)
    session = demo("Lisbon in October, five people and a dog")
    site = ("/", "/search?q=flight", "/compactions", "/insights", "/stores", "/settings", "/about", "/api/v1/docs")
    edges = set()
    for path in (*site, session, f"{session}/context", f"{session}/plan", f"{session}/export"):
        screen.goto(path)
        at_rest(screen)
        assert screen.evaluate("document.fonts.ready.then(() => document.fonts.check('1em Inter'))"), path
        edges.add(screen.locator("h1").bounding_box()["x"])  # type: ignore[index]  # each page has one
        assert set(screen.evaluate(_SEEN_SIZES)) <= set(SIZES.values()), path
        assert screen.evaluate("window.shifted ?? 0") < 0.02, path
    assert len(edges) == 1, edges
