"""Texts are cut between words, and never inside what is shown as one letter."""

from __future__ import annotations

import re

import pytest

from compaction import counter_for
from compaction.offline.fill import fitting
from compaction.text.clip import clip, end_of, middle_left_out, start_of

TALK = "There are passengers waiting at gate twelve, all of their baggages are checked and 3 more are on the way. " * 4


def test_a_clip_begins_and_ends_with_whole_words() -> None:
    for most in range(40, 300):
        clipped = clip(TALK, most)
        assert set(clipped.replace("…", "").split()) <= set(TALK.split())
        assert most - 30 <= len(clipped) <= most


@pytest.mark.parametrize(
    "text", ["/srv/" + "a1b2c3d4/" * 90, "予約番号の変更について確認しました。" * 40, "ตรวจสอบแล้ว" * 60]
)
@pytest.mark.parametrize("most", [40, 41, 97, 300])
def test_long_names_and_scripts_without_spaces_use_the_room(text: str, most: int) -> None:
    assert most - 6 <= len(clip(text, most)) <= most


@pytest.mark.parametrize(
    "letter",
    [
        "e\u0301",
        "\u0915\u093f",
        "👩\u200d👩\u200d👧",
        "👍\U0001f3fd",
        "🇧🇪",
        "\ud83d\ude00",
        "☎\ufe0f",
        "が".replace("が", "か\u3099"),
    ],
)
def test_what_is_shown_as_one_letter_is_not_cut(letter: str) -> None:
    text = letter * 40
    for at in range(20, 40):
        start, end = start_of(text, at), end_of(text, at)
        assert start == letter * (len(start) // len(letter)) and end == letter * (len(end) // len(letter)), at
        assert start and end, at


def test_a_line_that_is_cut_to_a_budget_ends_with_a_whole_word() -> None:
    count = counter_for("gpt-5")
    for budget in range(3, 60):
        cut = fitting(TALK, budget, count)
        assert count(cut) <= budget and re.split(r"\s+", cut)[-1] in TALK.split()
    assert fitting("x" * 500, 4, count)


@pytest.mark.parametrize("length", [0, 1, 99, 100, 101, 5_000])
def test_the_count_of_what_is_left_out_is_exact(length: int) -> None:
    text = "x" * length
    kept = middle_left_out(text, 100).count("x")
    left = 0 if length <= 100 else int(middle_left_out(text, 100).split("... ")[1].split(" ")[0].replace(",", ""))
    assert kept + left == length and kept == min(length, 100)
