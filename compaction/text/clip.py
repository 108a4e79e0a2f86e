"""Shorter texts. A cut is made between words if such a position is near, and never inside what is
shown as one letter.
"""

from __future__ import annotations

import re
from itertools import chain
from unicodedata import category

_NEAR = 16  # characters that are given up for it: a longer word, an id or a path, is cut where the room ends
_LONGEST_LETTER = 16  # characters: a letter with its marks, an emoji of several people
_JOINER = "\u200d"
_SKIN = range(0x1F3FB, 0x1F400)
_FLAG = range(0x1F1E6, 0x1F200)
_SPACELESS = re.compile(  # Thai, Lao, Burmese, Khmer, Chinese and Japanese with their marks
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff9f\U00020000-\U0003ffff]"
)


def start_of(text: str, most: int) -> str:
    """The beginning of the text, at most so many characters."""
    return text[: _cut_position(text, most, -1)]


def end_of(text: str, most: int) -> str:
    """The end of the text, at most so many characters."""
    return text[_cut_position(text, max(len(text) - most, 0), 1) :]


def clip(text: str, most: int) -> str:
    """The text on one line, at most `most` characters: its start and end, in whole words, with "…" between them."""
    text = " ".join(
        text[: 4 * most].split() if len(text) <= 4 * most else chain(text[: 2 * most].split(), text[-most:].split())
    )
    if len(text) <= most:
        return text
    start = start_of(text, most - most // 4 - 3).rstrip()
    return f"{start} … {end_of(text, most - len(start) - 3).lstrip()}"


def middle_left_out(text: str, most: int) -> str:
    """The text, or the first three quarters and last quarter of `most` characters with a note of how many were left
    out.
    """
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end]}\n[... {len(text) - most:,} characters left out ...]\n{text[-end:]}"


def _cut_position(text: str, at: int, step: int) -> int:
    """The nearest position for a cut from `at` in the direction of `step`; it removes at most half of the text."""
    if not 0 < at < len(text):
        return at
    length = at if step < 0 else len(text) - at
    between_words = range(at, at + step * (min(_NEAR, length // 2) + 1), step)
    between_letters = range(at, at + step * min(_LONGEST_LETTER, length), step)
    places = (position for position in between_words if not _is_in_word(text, position))
    return next(places, next((position for position in between_letters if not _is_in_letter(text, position)), at))


def _is_in_word(text: str, at: int) -> bool:
    before, behind = text[at - 1], text[at]
    parted = before.isspace() or behind.isspace() or bool(_SPACELESS.match(before) or _SPACELESS.match(behind))
    return not parted or _is_in_letter(text, at)


def _is_in_letter(text: str, at: int) -> bool:
    """Whether the characters before and after the position form one letter: marks, joined emoji, flags, halves of a
    pair.
    """
    before, behind = text[at - 1], text[at]
    if behind.isascii():
        return before == _JOINER
    if category(behind)[0] == "M" or _JOINER in (before, behind) or ord(behind) in _SKIN:
        return True
    if ord(behind) in _FLAG:
        flags = len(text[:at]) - len(text[:at].rstrip("".join(map(chr, _FLAG))))
        return flags % 2 == 1
    return "\ud800" <= before <= "\udbff" and "\udc00" <= behind <= "\udfff"
