"""Two lists of messages side by side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.history.aligning import align


def drawn(before: str, after: str, **source_of: str) -> str:
    """The rows as "left|right", with "=" between the two sides of one message."""
    rows = align(before, after, {item: item for item in after if item in before} | source_of)
    return " ".join(f"{row.before or ''}{'=' if row.matched else '|'}{row.after or ''}" for row in rows)


@pytest.mark.parametrize(
    ("before", "after", "rows"),
    [
        ("", "", ""),
        ("ab", "", "a| b|"),
        ("", "S", "|S"),
        ("abcd", "abcd", "a=a b=b c=c d=d"),
        ("abcde", "aSe", "a=a b|S c| d| e=e"),
        ("abc", "aSNOc", "a=a b|S |N |O c=c"),
        ("abcdef", "Sce", "a|S b| c=c d| e=e f|"),
        ("abc", "Sabc", "|S a=a b=b c=c"),
        ("abcd", "Scdab", "|S |c |d a=a b=b c| d|"),  # what crosses others stands apart
    ],
)
def test_what_is_kept_stands_on_one_row(before: str, after: str, rows: str) -> None:
    assert drawn(before, after) == rows


def test_a_copy_stands_beside_what_it_was_copied_from() -> None:
    assert drawn("abc", "ASC", A="a", C="c") == "a=A b|S c=C"
    assert drawn("ab", "AB", A="a", B="a").count("=") == 1, "two copies of one message"


PARTS = st.lists(st.integers(0, 30), unique=True)


@given(PARTS, PARTS, st.dictionaries(st.integers(0, 30), st.integers(0, 30)))
def test_everything_stands_once_and_in_order(before: list[int], after: list[int], source_of: dict[int, int]) -> None:
    rows = align(before, after, source_of)
    assert [row.before for row in rows if row.before is not None] == before
    assert [row.after for row in rows if row.after is not None] == after
    for row in rows:
        assert not row.matched or source_of[row.after or 0] == row.before
        assert row.before is not None or row.after is not None
    bands = [row.band for row in rows]
    assert bands == sorted(bands)
    matched = [row.band for row in rows if row.matched]
    assert all(bands.count(band) == 1 for band in matched)


@given(st.lists(st.booleans()), st.lists(st.booleans()))
def test_all_that_is_kept_in_order_is_matched(keeps: list[bool], adds: list[bool]) -> None:
    before = list(range(len(keeps)))
    kept = [item for item, keep in zip(before, keeps, strict=True) if keep]
    after = list(kept)
    for at, add in enumerate(adds):
        if add:
            after.insert(at % (len(after) + 1), 1000 + at)
    rows = align(before, after, {item: item for item in kept})
    assert [row.before for row in rows if row.matched] == kept
    away = next((at for at, row in enumerate(rows) if row.before is not None and not row.matched), None)
    if away is not None and any(row.after is not None for row in rows if row.band == rows[away].band):
        assert rows[away].after is not None, "what is new begins beside the first"
