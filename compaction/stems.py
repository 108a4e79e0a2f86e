"""The words of a sentence, by their beginnings: what two sentences about one thing have in common."""

from __future__ import annotations

import re

from .details.cjk import CJK
from .sentences import set_of

_STEM = 5  # letters by which two words are the same
_WORDS = re.compile(r"[^\W\d_]{3,}|\d+")
_EMPTY = set_of(  # words that every second sentence has
    """the and for are was were you your our that this with have has had not but its they them their there here
    what when which will would can could should from into been being also just now then than any all some one
    let get got did does done more most very too der die das und ist sind ein eine einen den dem des mit für
    auf von war haben hat sich auch nicht wir sie ich bei aus noch wie les des une est pas pour que qui dans
    sur avec son ses mais los las una por con que del para son"""
)


def stems_of(text: str) -> set[str]:
    """The beginnings of the words; for scripts without spaces, pairs of letters."""
    words = _WORDS.findall(text.casefold())
    stems = {word[:_STEM] for word in words if word not in _EMPTY}
    if CJK.search(text):
        stems |= {word[i : i + 2] for word in words if CJK.match(word) for i in range(len(word) - 1)}
    return stems
