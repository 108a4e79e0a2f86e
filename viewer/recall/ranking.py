"""Passages ranked for a question: BM25 over passages of some hundred characters, and what is around them.

Not every word has to occur. A word counts by how rare it is, among all passages and among what people and the agent
say: so the words that every question has count little in a session of nothing but tool output, too. A passage gains
by what is around it: the answer is often a line below, or some messages after the name of whom it is about.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

from .terms import SearchTerm
from .texts import RecalledMessage

K, B = 1.2, 0.6  # of BM25
NEXT = 0.5  # what a term counts that occurs in the next passage of a message
NEAR, FADING, REACH = 0.6, 0.85, 7  # the same in the next message, the share of that a message further, how far
COMMON = 0.4  # share of messages: a term that more of them have gives nothing to others
OWN = {"person": 1.3, "agent": 1.2, "client": 0.9, "tool": 1.0}  # by author
WIDEST = 400  # passages of a message that gain by the messages around it
CLOSE, TOGETHER = 60, 0.3  # characters within which two terms belong together, and what that counts
AGAIN = 0.9  # what each further passage of one message counts
KNOWN, COMPARED = 0.3, 40  # what a passage loses whose words better ones have; passages, the best, that are compared
BEST, BESIDE, STEP = 6, 2, 0.8  # best passages; messages around each; what each message further away counts
LOOKED_AT = 400  # passages, the best ones, for which that is looked at


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage of the message at the position `at` of a list, from `start` to `end` in its text."""

    at: int
    start: int
    end: int
    score: float


def ranked(messages: Sequence[RecalledMessage], terms: Sequence[SearchTerm]) -> list[RankedPassage]:
    """The passages that have to do with the terms, the best first."""
    passages = _Passages(messages)
    scores: dict[int, float] = defaultdict(float)
    weights: list[tuple[SearchTerm, float]] = []
    for term in terms:
        counts = passages.counts(term)
        if not counts:
            continue
        weight = passages.rarity(counts)
        weights.append((term, weight))
        for number, value in passages.spread(passages.values(counts)).items():
            scores[number] += weight * value
    best = sorted((passages.ranked(number, score) for number, score in scores.items()), key=_order)
    near = [replace(each, score=each.score + _together(messages, each, weights)) for each in best[:LOOKED_AT]]
    return _news_first(messages, _spread_out(_once(messages, sorted(near, key=_order))))


def _once(messages: Sequence[RecalledMessage], passages: Sequence[RankedPassage]) -> list[RankedPassage]:
    """The passages without those whose words another one has, as of a file that was read twice."""
    seen: set[str] = set()
    once = []
    for each in passages:
        words = _BLANKS.sub("", messages[each.at].words.folded[each.start : each.end])
        if words not in seen:
            seen.add(words)
            once.append(each)
    return once


def _spread_out(passages: Sequence[RankedPassage]) -> list[RankedPassage]:
    """The passages in an order in which one message does not have all the first ones."""
    met: Counter[int] = Counter()
    fresh = []
    for each in passages:
        fresh.append(replace(each, score=each.score * AGAIN ** met[each.at]))
        met[each.at] += 1
    return sorted(fresh, key=_order)


def _news_first(messages: Sequence[RecalledMessage], passages: Sequence[RankedPassage]) -> list[RankedPassage]:
    """The passages in an order in which each of the first ones has what those before it do not have: so an answer is
    not one file as it was read after every edit.
    """
    left = [(each, _runs(messages[each.at].words.folded[each.start : each.end])) for each in passages[:COMPARED]]
    known: set[tuple[str, ...]] = set()
    ordered = []
    while left:
        values = [each.score * (1 - KNOWN * len(runs & known) / max(len(runs), 1)) for each, runs in left]
        best, runs = left.pop(values.index(max(values)))
        ordered.append(best)
        known |= runs
    return [*ordered, *passages[COMPARED:]]


def _runs(folded: str) -> set[tuple[str, ...]]:
    """Each three words in a row, without numbers, as lines of a file have them."""
    words = _WORDS.findall(folded)
    return set(zip(words, words[1:], words[2:], strict=False))


_BLANKS = re.compile(r"\s+")
_WORDS = re.compile(r"[^\W\d_]+")


def _order(passage: RankedPassage) -> tuple[float, int, int]:
    return -passage.score, -passage.at, passage.start


def nearest_first(passages: Sequence[RankedPassage], shown: int) -> list[RankedPassage]:
    """The passages; behind those that were `shown` first come what is around the best ones, in their messages and in
    those before and after. So whoever asks for more sees what the best matches belong to.
    """
    gains: dict[int, float] = {}
    for each in passages[:BEST]:
        for distance in range(-BESIDE, BESIDE + 1):
            gain = each.score * STEP ** abs(distance)
            gains[each.at + distance] = max(gain, gains.get(each.at + distance, 0.0))
    later = [replace(each, score=each.score + gains.get(each.at, 0.0)) for each in passages[shown:]]
    return [*passages[:shown], *sorted(later, key=_order)]


class _Passages:
    """All passages of some messages, by their numbers."""

    def __init__(self, messages: Sequence[RecalledMessage]) -> None:
        self._messages = messages
        self._first = [0]  # number of each message's first passage
        self._lengths: list[int] = []
        self._owners: list[int] = []
        for at, message in enumerate(messages):
            starts = message.words.starts
            ends = (*starts[1:], len(message.words.text))
            self._lengths += [max(end - start, 1) for start, end in zip(starts, ends, strict=True)]
            self._owners += [at] * len(starts)
            self._first.append(len(self._owners))
        self._average = sum(self._lengths) / max(len(self._lengths), 1)
        self._is_speech = [message.words.author != "tool" for message in messages]
        self._speech = sum(self._is_speech[owner] for owner in self._owners)

    def counts(self, term: SearchTerm) -> dict[int, float]:
        """How often a term occurs in each passage that has it."""
        counts: dict[int, float] = defaultdict(float)
        for at, message in enumerate(self._messages):
            words = message.words
            if term.stem in words.folded:
                for position, weight in term.occurrences(words.text, words.folded):
                    counts[self._first[at] + bisect_right(words.starts, position) - 1] += weight
        return counts

    def rarity(self, numbers: dict[int, float]) -> float:
        """What a term counts that these passages have."""
        in_speech = sum(self._is_speech[self._owners[number]] for number in numbers)
        return min(_rarity(len(numbers), len(self._owners)), _rarity(in_speech, self._speech))

    def values(self, counts: dict[int, float]) -> dict[int, float]:
        """What a term that occurs so often counts in each passage: less in a long one, and ever less each time."""
        return {
            number: count * (K + 1) / (count + K * (1 - B + B * self._lengths[number] / self._average))
            for number, count in counts.items()
        }

    def spread(self, values: dict[int, float]) -> dict[int, float]:
        """The values of passages, and what they give to those around them."""
        spread = dict(values)
        best: dict[int, float] = {}
        for number, value in values.items():
            owner = self._owners[number]
            best[owner] = max(value, best.get(owner, 0.0))
            for other in (number - 1, number + 1):
                if 0 <= other < len(self._owners) and self._owners[other] == owner:
                    spread[other] = max(spread.get(other, 0.0), value * NEXT)
        given: dict[int, float] = {}
        for owner, value in best.items() if len(best) <= COMMON * len(self._messages) else ():
            for distance in range(1, REACH + 1):
                share = value * NEAR * FADING ** (distance - 1)
                for other in (owner - distance, owner + distance):
                    if 0 <= other < len(self._messages) and share > given.get(other, 0.0):
                        given[other] = share
        for owner, share in given.items():
            first = self._first[owner]
            for number in range(first, min(self._first[owner + 1], first + WIDEST)):
                if share > spread.get(number, 0.0):
                    spread[number] = share
        return spread

    def ranked(self, number: int, score: float) -> RankedPassage:
        """The passage of this number."""
        owner = self._owners[number]
        words = self._messages[owner].words
        start = words.starts[number - self._first[owner]]
        return RankedPassage(owner, start, start + self._lengths[number], score * OWN[words.author])


def _rarity(having: int, all_of_them: int) -> float:
    return log(1 + (all_of_them - having + 0.5) / (having + 0.5))


def _together(
    messages: Sequence[RecalledMessage], passage: RankedPassage, weights: Sequence[tuple[SearchTerm, float]]
) -> float:
    """What a passage gains by terms that are close to each other in it, as in an identifier of several words."""
    words = messages[passage.at].words
    text, folded = words.text[passage.start : passage.end], words.folded[passage.start : passage.end]
    places = [
        (weight, sorted(position for position, _ in term.occurrences(text, folded)))
        for term, weight in weights
        if term.stem in folded
    ]
    gain = 0.0
    for number, (weight, positions) in enumerate(places):
        for other, others in places[number + 1 :]:
            if _are_close(positions, others):
                gain += TOGETHER * min(weight, other)
    return gain


def _are_close(positions: Sequence[int], others: Sequence[int]) -> bool:
    for position in positions:
        at = bisect_left(others, position - CLOSE)
        if at < len(others) and others[at] <= position + CLOSE and others[at] != position:
            return True
    return False
