"""Names and lines that are too long end after a word, with "…"."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.catalog.models import SessionIndex, name_of
from viewer.stores.base import NAME, Session
from viewer.stores.clean_text import line, shortened

REQUEST = "Work on bead spotter-4te. Run bd show spotter-4te to see the issue details and begin with the tests"


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("one two three", "one two three"),
        ("one two three four", "one two three…"),
        ("one twothreefourfive", "one twothreef…"),
        ("onetwothreefourfive", "onetwothreefo…"),
    ],
)
def test_it_is_cut_after_a_word_if_one_ends_near(text: str, cut: str) -> None:
    assert shortened(text, 14) == line(text, 14) == cut


@given(st.text(), st.integers(1, 40))
def test_it_is_never_longer_and_begins_as_the_text(text: str, limit: int) -> None:
    cut = shortened(text, limit)
    assert len(cut) <= limit and (cut == text or text.startswith(cut.removesuffix("…")) and cut.endswith("…"))


def test_a_session_without_a_title_has_the_same_name_everywhere() -> None:
    name = "Work on bead spotter-4te. Run bd show spotter-4te to see the issue details and…"
    session = Session("claude", "s", "cli", "", "", REQUEST, "", 0.0, 0.0, None, "", False, "", 1, "")
    assert session.name == name_of(SessionIndex(first_words=REQUEST), NAME) == name
