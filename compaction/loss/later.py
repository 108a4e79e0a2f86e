"""Which lost texts later messages use: people or the agent say them again, or call a tool with them.

Theory: a text that comes up again was needed. If a tool printed it first, the agent found it again and nothing failed;
of a path, what is left may have the end, from which the agent knows the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..messages import Message
from .remaining import TOKEN, occurrences
from .statements import passages

END = 2  # parts of a path by which it is known


def used_later(texts: Sequence[str], remaining: Sequence[Message], later: Sequence[Message]) -> set[int]:
    """The positions of the texts that messages after a compaction use, before a tool prints them. `remaining` are the
    messages that it left.

    Each text is looked for only where its first word is, so the cost grows with the text of the messages.
    """
    flat = [_flat(text) for text in texts]
    by_word: dict[str, list[int]] = {}
    for at, text in enumerate(flat):
        if first := TOKEN.search(text):
            by_word.setdefault(first[0], []).append(at)
    used: set[int] = set()
    found: set[int] = set()
    for passage in passages(later, live=True):
        words = _flat(passage.text)
        for word in by_word.keys() & set(TOKEN.findall(words)):
            met = (at for at in by_word[word] if at not in used and at not in found)
            (found if passage.source == "tool" else used).update([at for at in met if _has(words, flat[at])])
    left = [_flat(passage.text) for passage in passages(remaining, live=False)] if used else []
    return {at for at in used if not _is_known(flat[at], left)}


def _is_known(text: str, left: Sequence[str]) -> bool:
    """Whether the end of a path is in one of the texts."""
    parts = text.split("/")
    end = "/".join(parts[-END:])
    return len(parts) > END and " " not in text and any(_has(words, end) for words in left)


def _has(words: str, text: str) -> bool:
    return next(occurrences(text, words), -1) >= 0


def _flat(text: str) -> str:
    return " ".join(text.lower().split())
