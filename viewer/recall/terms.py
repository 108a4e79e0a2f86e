"""A question's words as terms, and where they occur in a text.

A word is compared by its beginning, so that "settled" is "settle"; accents and capitals do not count. Identifiers and
paths are also terms as a whole, next to their parts. Scripts without spaces are compared by pairs of letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from compaction.stems import stems_of
from viewer.stores.search.query import UNSPACED, fold

LONGEST, MOST = 2_000, 60  # characters and terms of a question that are read
STEM = 6  # letters by which long words are the same
SHORT = 4  # a beginning of so few letters is a word only with a short ending
ENDING = 3
_TOKENS = re.compile(r"\S+")
_PIECES = re.compile(rf"{UNSPACED}+|[^\W_]+")
_UNSPACED_RUN = re.compile(f"{UNSPACED}+")
_CAPITALS = re.compile(r"(?<=[a-zà-ÿ\d])(?=[A-ZÀ-Þ])")
_WORD_END = re.compile(r"[^\W_]{0,60}")
_SUFFIXES = ("ies", "ied", "ing", "ers", "es", "ed", "er", "en", "ly", "s", "y", "e", "n")
# Words of which questions are made, beside those that `compaction.stems` leaves out.
_ASKING = re.findall(
    r"\S+",
    """a an i we me my us he she his her him it is be am do if of to in on at by as or so no up how who whom whose why
    where much many about after before between during while again once only other such same own each both these those
    because through over under out off down per via ever
    wie wer wem wen wessen wo wann warum wieso weshalb welche welcher welches welchen was viel viele wurde wurden
    hatte hatten waren war es er du ihr ihm ihn im am um zu zum zur nach vor so als ob oder aber
    comment quel quelle quels quelles quand où pourquoi combien qui quoi dont je tu il elle nous vous ils au aux du en
    ne ce ces cette a été était à y
    cómo qué cuál cuáles cuándo dónde cuánto cuántos cuánta cuántas quién yo tú él ella nos en de al lo le se un una
    es fue era a y o""",
)
_EMPTY = frozenset(map(fold, _ASKING))
WHOLE, ENDED, INSIDE = 1.0, 0.8, 0.4  # what an occurrence counts: the word itself, with another ending, in a word


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """One term: `stem` is what occurs in a folded text, `word` the whole of it; `literal`: inside of anything."""

    stem: str
    word: str
    literal: bool = False

    def occurrences(self, text: str, folded: str) -> Iterator[tuple[int, float]]:
        """Positions in a text, and what each counts."""
        at = folded.find(self.stem)
        while at >= 0:
            weight = WHOLE if self.literal else self._weight(text, folded, at)
            if weight:
                yield at, weight
            at = folded.find(self.stem, at + len(self.stem))

    def _weight(self, text: str, folded: str, at: int) -> float:
        match = _WORD_END.match(folded, at)
        end = match.end() if match else at
        if not _begins(text, folded, at, digits=self.stem[0].isdigit()):
            return INSIDE if len(self.stem) > SHORT and not self.stem[0].isdigit() else 0.0
        if folded[at:end] == self.word:
            return WHOLE
        if self.stem.isdigit():
            return 0.0 if folded[at + len(self.stem) : at + len(self.stem) + 1].isdigit() else ENDED
        if len(self.stem) <= SHORT and end - at > len(self.stem) + ENDING:
            capital = _CAPITALS.search(text, at + 1, end)  # "portNumber"
            return ENDED if capital and capital.start() - at <= len(self.stem) + ENDING else 0.0
        return ENDED


def _begins(text: str, folded: str, at: int, *, digits: bool) -> bool:
    """Whether a word begins here: also within an identifier, and between a letter and a digit."""
    if not at or not folded[at - 1].isalnum():
        return True
    before = text[at - 1]
    if digits:
        return not before.isdigit()
    return before.isdigit() or (text[at].isupper() and before.islower())


def terms_of(question: str) -> tuple[SearchTerm, ...]:
    """The terms of a question, each once."""
    text = unicodedata.normalize("NFC", question[:LONGEST])
    terms: dict[SearchTerm, None] = {}
    for token in (match[0].strip(".,;:!?()[]{}<>\"'`*“”„’…。、？！「」") for match in _TOKENS.finditer(text)):
        pieces = _PIECES.findall(token)
        if len(pieces) > 1 and not _UNSPACED_RUN.search(token):
            terms[SearchTerm(fold(token), fold(token), literal=True)] = None
        for piece in pieces:
            terms |= dict.fromkeys(_terms(piece))
    telling = [term for term in terms if not _is_empty(term)]
    return tuple(telling or terms)[:MOST]


def _is_empty(term: SearchTerm) -> bool:
    """Whether every second question has the word."""
    if term.literal or not term.word.isalpha():
        return False
    return term.word in _EMPTY or (len(term.word) > 2 and not stems_of(term.word))


def _terms(piece: str) -> Iterator[SearchTerm]:
    folded = fold(piece)
    if _UNSPACED_RUN.match(piece):
        pairs = [folded[at : at + 2] for at in range(len(folded) - 1)] or [folded]
        yield from (SearchTerm(pair, pair, literal=True) for pair in pairs)
        return
    yield SearchTerm(stem(folded), folded)
    parts = _CAPITALS.split(piece)
    if len(parts) > 1:
        yield from (SearchTerm(stem(part), part) for part in map(fold, parts) if len(part) > 1)


def stem(word: str) -> str:
    """The beginning by which a word is compared."""
    if not word.isalpha() or len(word) <= SHORT - 1:
        return word
    ending = next((each for each in _SUFFIXES if word.endswith(each) and len(word) - len(each) >= SHORT - 1), "")
    return word.removesuffix(ending)[:STEM]
