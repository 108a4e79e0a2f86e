"""Going to a message by its number, to a day, and to a place along the session."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime

import pytest
from django.test import Client
from django.utils import timezone

from tests.factories.stores import EmptyStore
from tests.html import read
from tests.slow import slow

DAY = 86_400.0


@pytest.fixture
def days(empty_store: EmptyStore) -> tuple[str, list[int]]:
    """A session of 300 messages, ten on each of thirty days from 3 October 2025 on: its address and their ids."""
    start = timezone.make_aware(datetime(2025, 10, 3, 9)).timestamp()
    href = empty_store.session("s")
    ids = empty_store.chat("s", 300)
    with closing(sqlite3.connect(empty_store.path)) as con, con:
        times = [(start + at // 10 * DAY + at % 10, row) for at, row in enumerate(ids)]
        con.executemany("UPDATE messages SET role = 'user', timestamp = ? WHERE id = ?", times)
    return href, ids


def test_numbers_days_and_places_lead_to_their_message(
    signed_in: Client, days: tuple[str, list[int]], statements: list[str]
) -> None:
    href, ids = days
    asked = {
        f"at=%23{ids[41]}": 41,
        f"at={ids[41]}": 41,
        "at=2025-10-03": 0,
        "at=1999-01-01": 0,
        "at=2025-10-08": 50,
        "at=2025-10-08+12:00": 60,
        "at=2025-11-01": 290,
        "at=first": 0,
        "nth=1": 0,
        "nth=123": 122,
        "nth=0": 0,
        "nth=99999999999999": 299,
    }
    for query, place in asked.items():
        statements.clear()
        answer = signed_in.get(f"{href}?{query}")
        assert answer.status_code == 302, query
        assert answer["Location"] == f"{href}?around={ids[place]}#m{ids[place]}", query
        assert len(statements) < 40, (query, "times are not read one by one")


@pytest.mark.parametrize("typed", ["newest", "last", "Last"])
def test_the_newest_message_is_where_a_session_opens(
    signed_in: Client, days: tuple[str, list[int]], typed: str
) -> None:
    assert signed_in.get(f"{days[0]}?at={typed}")["Location"] == days[0]


def test_a_number_is_a_place_before_it_is_an_id(signed_in: Client, empty_store: EmptyStore) -> None:
    """Ids of a file are byte offsets, and those of a table are shared by all sessions: people count from 1."""
    empty_store.session("other")
    empty_store.chat("other", 1_200)
    href = empty_store.session("s")
    ids = empty_store.chat("s", 1_250)
    assert ids[10] == 1_211, "an id that is a place as well"
    for typed, place in [("1", 0), ("1,211", 1_210), ("1211", 1_210), ("#1211", 10), ("2400", ids.index(2_400))]:
        answer = signed_in.get(href, {"at": typed})
        assert answer["Location"] == f"{href}?around={ids[place]}#m{ids[place]}", typed
    assert signed_in.get(href, {"at": "#200"})["Location"] == f"{href}?around=200#m200"
    assert "the id #200" in read(signed_in.get(f"{href}?around=200"), 404).one(id="at-problem").text
    answer = signed_in.get(href, {"at": "9999"}, headers={"HX-Request": "true"})
    assert answer.status_code == 422, "the page stays as it is"
    field = read(answer, 422)
    assert field.one(id="at-problem").text == "There is no message 9,999 here: they go from 1 to 1,250."
    assert field.one(id="at").attributes["value"] == "9999" and not field.all("main")
    answer = signed_in.get(href, {"at": "1,211"}, headers={"HX-Request": "true"})
    assert answer["HX-Redirect"] == f"{href}?around={ids[1_210]}#m{ids[1_210]}"


def test_a_message_has_the_number_of_its_place(signed_in: Client, empty_store: EmptyStore) -> None:
    """On its card, in what a screen reader says, and in what the model sees; its id is in the link's title."""
    empty_store.session("other")
    empty_store.chat("other", 30)
    href = empty_store.session("s")
    ids = empty_store.chat("s", 1_050)
    for path in (href, f"{href}/context?start=1000"):
        card = next(each for each in read(signed_in.get(path)).all("article") if f"m{ids[-1]}" == each.attributes["id"])
        link = card.one("a", "ref")
        assert link.text == "1,050" and str(ids[-1]) in link.attributes["title"]
        assert card.attributes["aria-label"].endswith("message 1050") and card.one("h2")
        words = [each.tag for each in card.walk() if each.tag in ("h2", "p", "button")]
        assert words.index("p") < words.index("button"), "its words are read before its buttons"


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("tomorrow", "“tomorrow” is no message number, as 1234, and no date, as 2026-11-03."),
        *slow(("2025-13-40", "“2025-13-40” is no message number")),
        ("2025-11-02", "Nothing was said on or after 2025-11-02. The newest message is of 2025-11-01."),
        *slow(("<b>", "“<b>” is no message number"), ("9" * 60, "There is no message 9,999")),
    ],
)
def test_what_leads_nowhere_is_answered_in_a_sentence(
    signed_in: Client, days: tuple[str, list[int]], typed: str, sentence: str
) -> None:
    href, _ = days
    answer = signed_in.get(f"{href}?at={typed}")
    page = read(answer)
    assert page.one(id="at-problem").text.startswith(sentence)
    assert page.one(id="at").attributes["aria-describedby"] == "at-problem"
    assert "data-newest" not in page.one("div", "history").attributes, "the sentence is what is read first"


def test_nothing_asked_is_nothing_sought(signed_in: Client, days: tuple[str, list[int]]) -> None:
    href, _ = days
    for query in ("", "?at=", "?nth=x", "?at=+"):
        page = read(signed_in.get(href + query))
        assert page.one(id="at-problem").text == "", query
    field = read(signed_in.get(href, {"at": " "}, headers={"HX-Request": "true"}))
    assert field.one(id="at") and not field.all("main"), "the page is not put into its own field"
