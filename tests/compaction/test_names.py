"""Names inside words: what counts as one, and what it costs to look."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.details.names import names_of, words_of
from tests.cost import within


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("XEHM4B,", [("id", "XEHM4B")]),
        ("path=/srv/app/main.py:12", [("path", "/srv/app/main.py:12")]),
        ("/srv/app/main.py:12:3:", [("path", "/srv/app/main.py:12:3")]),
        ("see:src/a.py", [("path", "src/a.py")]),
        ("./run.sh", [("path", "./run.sh")]),
        ("~/.hermes/state.db", [("path", "~/.hermes/state.db")]),
        (r"C:\Users\ana\notes.md", [("path", r"C:\Users\ana\notes.md")]),
        ("README.md.", [("path", "README.md")]),
        ("https://example.com/a?b=1,", [("url", "https://example.com/a?b=1")]),
        ("url=https://example.com/a", [("url", "https://example.com/a")]),
        ("mia_li_3668", [("id", "mia_li_3668")]),
        ("bob@example.com.", [("id", "bob@example.com")]),
        ("3f78685", [("id", "3f78685")]),
        ("a1b2c3d4-0000-4000-8000-123456789abc", [("id", "a1b2c3d4-0000-4000-8000-123456789abc")]),
        ("ABC-123", [("id", "ABC-123")]),
        ("localhost:8080", [("id", "localhost:8080")]),
        ("v1.22.3", [("version", "v1.22.3")]),
        ("18005550199", [("id", "18005550199")]),
        ("$7,222", [("number", "$7,222")]),
        ("30%", [("number", "30%")]),
        ("250ms", [("number", "250ms")]),
        ("2024-05-24T16:40:00", [("date", "2024-05-24")]),
        ("B-20918,", [("id", "B-20918")]),
        ("#4711.", [("id", "#4711")]),
        ("INV-2024-001", [("id", "INV-2024-001")]),
        ("12A", [("id", "12A")]),
        ("4-02", [("id", "4-02")]),
        ("v1.2", [("version", "v1.2")]),
        ("acme-prod-logs", [("name", "acme-prod-logs")]),
        ("DATABASE_URL", [("name", "DATABASE_URL")]),
        ("db-primary-2.internal", [("id", "db-primary-2.internal")]),
        ("10.0.3.17:5432", [("id", "10.0.3.17:5432")]),
        ("订单B-44871已发", [("id", "B-44871")]),
        ("up-to-date", []),
        ("round-trip", []),
        ("##Title", []),
        ("hello", []),
        ("12345", []),
        ("e.g.", []),
        ("and/or", []),
        ("self.assertEqual", []),
        ("os.path", []),
        ("word.Next", []),
        ("x" * 600, []),
    ],
)
def test_names_in_a_word(word: str, names: list[tuple[str, str]]) -> None:
    assert list(names_of(word)) == names


def test_names_end_where_chinese_and_japanese_punctuation_does() -> None:
    text = "打开 https://example.com/abc\uff0c看\uff08/srv/app/main.py\uff09。订单 XEHM4B。"
    assert [name for word in words_of(text) for _, name in names_of(word)] == [
        "https://example.com/abc",
        "/srv/app/main.py",
        "XEHM4B",
    ]


@given(st.text())
def test_names_of_any_text_stand_in_it(text: str) -> None:
    for word in words_of(text):
        assert all(name in text and name.strip() for _, name in names_of(word))


@pytest.mark.slow
def test_looking_grows_with_the_text() -> None:
    """No expression may take more than linear time on text made to hurt it."""
    for piece in ("a/", "_1", "A1", "1,", "a.", "-", ":", "=", "http://", "x@x.", "\\a", "1 ", "'", "\n", " ", "Error"):
        for text in (piece * 100_000, json.dumps([piece * 50] * 2_000)):
            assert within(4, lambda text: [names_of(word) for word in words_of(text)], text)
