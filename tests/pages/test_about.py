"""The page about the site, and the words that are explained where they stand."""

from __future__ import annotations

from collections.abc import Callable

from django.test import Client

from tests.browser import Visit, require
from tests.html import read
from viewer.rendering.templatetags.palimpsest import TERMS


def test_it_explains_every_word_and_leads_to_a_first_try(signed_in: Client, demo: Callable[[str], str]) -> None:
    page = read(signed_in.get("/about")).one("main")
    assert [word.text.lower() for word in page.one("dl", "words").all("dt")] == list(TERMS)
    assert page.one("figure", "story")
    assert page.one("ol").one("a").attributes["href"] == demo("Stocktaking, ten warehouses")


def test_the_first_try_names_the_choice_that_makes_a_summary(signed_in: Client, demo: Callable[[str], str]) -> None:
    session = demo("Stocktaking, ten warehouses")
    steps = read(signed_in.get("/about")).one("main").one("ol").all("li")
    choice = next(
        label
        for label in read(signed_in.get(f"{session}/plan")).all("label")
        if label.all("input", id="strategy-summary")
    )
    assert [bold.text for bold in steps[1].all("b")] == [choice.all("b")[0].text, "Preview"]


def test_its_links_are_told_from_the_words_around_them(visit: Visit, demo: Callable[[str], str]) -> None:
    demo("Stocktaking, ten warehouses")
    screen = visit()
    screen.goto("/about")
    for scheme in ("light", "dark"):
        screen.emulate_media(color_scheme=scheme)
        require(screen, scheme, ["link-in-text-block"])


def test_without_a_demo_it_explains_all_the_same(signed_in: Client, db: None) -> None:
    page = read(signed_in.get("/about")).one("main")
    assert page.one("dl", "words") and not page.all("ol")


def test_words_are_explained_where_they_stand(signed_in: Client, demo: Callable[[str], str]) -> None:
    page = read(signed_in.get(demo("Lisbon in October, five people and a dog")))
    words = {button.attributes["popovertarget"]: button.text for button in page.all("button", "term")}
    assert {"in context", "summarised away", "boundary"} <= set(words.values())
    for target in words:
        assert page.one(id=target).attributes.keys() >= {"popover"}
