"""Of what a reader would miss, marked by reading, a loss report tells nearly all that is lost."""

from __future__ import annotations

import pytest

from tests.compaction.marked_losses import INVENTED, Mark, Told, marks, poorly, summarised, told, transcript
from tests.slow import slow

WINDOWS = {"airline-416": 32_000, "258c7280": 64_000, "airline-1558": 64_000, "ae4a77f8": 64_000}


def _shares(names: tuple[str, ...]) -> tuple[int, list[Mark]]:
    """How many of the marked things that are lost are reported, and those that are not."""
    found: list[Told] = []
    for name in names:
        messages = transcript(name)
        reports = poorly(messages), summarised(messages, WINDOWS.get(name, 4_000))
        found += [told(name, report) for report in reports]
    return sum(len(each.reported) for each in found), [mark for each in found for mark in each.silent]


def _names(half: str) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(mark.transcript for mark in marks() if mark.half == half and transcript(mark.transcript))
    )


@pytest.mark.parametrize(("half", "share"), [("tuned", 0.95), ("held_out", 0.9)])
def test_what_a_reader_would_miss_of_an_invented_transcript_is_reported(half: str, share: float) -> None:
    reported, silent = _shares(tuple(name for name in _names(half) if name in INVENTED))
    assert reported >= 15 and reported / (reported + len(silent)) >= share, silent


@pytest.mark.parametrize(("half", "share"), [*slow(("tuned", 0.95), ("held_out", 0.8))])
def test_what_a_reader_would_miss_of_a_real_transcript_is_reported(half: str, share: float) -> None:
    names = tuple(name for name in _names(half) if name not in INVENTED)
    if not names:
        pytest.skip("no sample data beside the checkout (CONTRIBUTING.md)")
    reported, silent = _shares(names)
    assert reported >= 30 and reported / (reported + len(silent)) >= share, silent
