"""Which lost texts later messages use: people or the agent say them again, or call a tool with them.

Theory: a text that comes up again was needed. If a tool printed it first, the agent found it again and nothing failed;
of a path, what is left may have the end, from which the agent knows the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..messages import Message
from .remaining import TOKEN, occurrences
from .statements import passages

END = 2  # parts of a path by which it is known


def used_later(texts: Sequence[str], remaining: Sequence[Message], later: Sequence[Message]) -> set[int]:
    """The positions of the texts that messages after a compaction use, before a tool prints them. `remaining` are the
    messages that it left.

    Each text is looked for only in messages that have all its words. It is indexed by its word that the fewest texts
    have: the first word of all absolute paths may be the same.
    """
    flat = [_flat(text) for text in texts]
    words_of = [set(TOKEN.findall(text)) for text in flat]
    count = Counter(word for words in words_of for word in words)
    by_word: dict[str, set[int]] = {}
    for at, words in enumerate(words_of):
        if words:
            by_word.setdefault(min(words, key=lambda word: (count[word], word)), set()).add(at)
    used: set[int] = set()
    for passage in passages(later, live=True):
        text = _flat(passage.text)
        there = set(TOKEN.findall(text))
        for word in by_word.keys() & there:
            met = {at for at in by_word[word] if words_of[at] <= there and _has(text, flat[at])}
            by_word[word] -= met
            if passage.source != "tool":
                used |= met
    context = "\n".join(_flat(passage.text) for passage in passages(remaining, live=False)) if used else ""
    known = set(TOKEN.findall(context))
    return {at for at in used if not _is_known(flat[at], context, known)}


def _is_known(text: str, context: str, known: set[str]) -> bool:
    """Whether the end of a path is in the text of the remaining context, which has the `known` words."""
    parts = text.split("/")
    end = "/".join(parts[-END:])
    return len(parts) > END and " " not in text and known.issuperset(TOKEN.findall(end)) and _has(context, end)


def _has(words: str, text: str) -> bool:
    return next(occurrences(text, words), -1) >= 0


def _flat(text: str) -> str:
    return " ".join(text.lower().split())
