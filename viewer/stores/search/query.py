"""A search text as a query: words, "exact phrases", prefix*, -excluded. Anything else is literal text.

The last word may be incomplete, as if it ended with a star, because people type the beginning of a word; `"reserv"`
finds only the word itself.

No text is an error. A term that an index of words can find is folded as that index does (FTS5's `unicode61`: letters
and digits, lower case, accents off). A term with letters of a script without spaces, and one without any letter, is
*literal*: searched unchanged, inside words too.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import cached_property

LONGEST = 400  # characters of a query that are read
MOST_TERMS = 16
PREFIX_LEAST = 2  # letters: the index gathers every row of every word with this beginning before it returns the first
TRIGRAM = 3  # characters: the shortest text that a trigram index finds

# A letter of a script written without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, the East Asian ones.
UNSPACED = (
    "[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\ua4cf\uac00-\ud7ff\uf900-\ufaff"
    "\uff66-\uffdc\U00020000-\U0003ffff]"
)
_HAS_UNSPACED = re.compile(UNSPACED)
_WORD = re.compile(r"[^\W_]+")
_LETTERS = re.compile(rf"[^\W_]{{{TRIGRAM}}}")
# A term, with "-" before an excluded one; "--force" and "->" are text.
_TERMS = re.compile(r'(-(?=["\w]))?(?:"([^"]*)"?|(\S+?)(?=["\s]|$))', re.DOTALL)
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a query: as `typed`, and folded. `words` are its folded words, empty for a literal one."""

    typed: str
    text: str
    words: tuple[str, ...] = ()
    prefix: bool = False
    quoted: bool = False

    @property
    def literal(self) -> bool:
        return not self.words

    @property
    def has_letters(self) -> bool:
        """Whether an index of trigrams can find it."""
        return _LETTERS.search(self.typed) is not None

    @property
    def pattern(self) -> str:
        """A regular expression for it in folded text."""
        if self.literal:
            return re.escape(self.text)
        return r"(?<![^\W_])" + r"[\W_]+".join(self.words) + ("" if self.prefix else r"(?![^\W_])")


@dataclass(frozen=True)
class Query:
    """What must occur, what must not, and the text they were read from."""

    text: str
    wanted: tuple[Term, ...]
    excluded: tuple[Term, ...] = ()

    @property
    def empty(self) -> bool:
        return not self.wanted

    @property
    def has_words(self) -> bool:
        """Whether an index of words can find any of it."""
        return any(term.words for term in self.wanted)

    @property
    def inside(self) -> Query | None:
        """The same query with every word searched inside words too; None where that finds no more, or no index can."""
        if not self.has_words or not any(term.has_letters for term in self.wanted):
            return None
        return replace(self, wanted=tuple(_literal(term.typed.strip("*")) for term in self.wanted))

    @cached_property
    def marks(self) -> re.Pattern[str]:
        """The pattern of all wanted terms in folded text."""
        return re.compile("|".join(term.pattern for term in self.wanted) or r"(?!)")

    @cached_property
    def _wanted(self) -> list[tuple[str, re.Pattern[str]]]:
        return [_test(term) for term in self.wanted]

    @cached_property
    def _excluded(self) -> list[tuple[str, re.Pattern[str]]]:
        return [_test(term) for term in self.excluded]

    def lacks(self, folded: str) -> bool:
        """Whether a wanted term does not occur in this folded text."""
        return not all(_matches(test, folded) for test in self._wanted)

    def counts(self, folded: str) -> list[int]:
        """How often each wanted term occurs in this folded text."""
        return [sum(1 for _ in pattern.finditer(folded)) for _, pattern in self._wanted]

    def forbids(self, folded: str) -> bool:
        """Whether an excluded term occurs in this folded text."""
        return any(_matches(test, folded) for test in self._excluded)


def parse(text: str, *, whole: bool = False) -> Query:
    """The query that somebody typed; `whole` takes the text as one literal term."""
    text = unicodedata.normalize("NFC", _NO_TEXT.sub(" ", text[:LONGEST])).strip()
    if whole:
        return Query(text, (_literal(text),) if text else ())
    terms = [(bool(match[1]), _term(match)) for match in _TERMS.finditer(text)]
    wanted = [term for excluded, term in terms if term and not excluded]
    excluded = [term for excluded, term in terms if term and excluded]
    if not wanted:  # nothing to exclude from: the text is searched literally
        wanted, excluded = excluded, []
    if wanted:
        wanted[-1] = _open(wanted[-1])
    return Query(text, tuple(dict.fromkeys(wanted))[:MOST_TERMS], tuple(dict.fromkeys(excluded))[:MOST_TERMS])


def _term(match: re.Match[str]) -> Term | None:
    typed = (match[3] if match[2] is None else match[2]).strip()
    if _HAS_UNSPACED.search(typed):
        return _literal(typed.rstrip("*"))
    words = tuple(_WORD.findall(fold(typed)))
    if words:
        term = Term(typed, fold(typed), words, quoted=match[2] is not None)
        return _open(term) if typed.endswith("*") else term
    return _literal(typed) if typed.strip('*"') else None


def _open(term: Term) -> Term:
    """The term as a prefix: its last word may be incomplete."""
    return replace(term, prefix=bool(term.words) and not term.quoted and len(term.words[-1]) >= PREFIX_LEAST)


def _literal(typed: str) -> Term:
    return Term(typed, fold(typed))


def _test(term: Term) -> tuple[str, re.Pattern[str]]:
    """A text that every match of the term contains, which is faster to find, and the term's pattern."""
    return (term.text if term.literal else max(term.words, key=len)), re.compile(term.pattern)


def _matches(test: tuple[str, re.Pattern[str]], folded: str) -> bool:
    return test[0] in folded and test[1].search(folded) is not None


# -- folding -----------------------------------------------------------------------------------------------------------


_ABOVE_OR_BELOW = 200  # combining classes of accents; with lower ones, as in Japanese and Hindi, it is another letter


class _Folding(dict[int, str]):
    """One character for one: lower case, and a letter without its accent. Filled as characters occur."""

    def __missing__(self, code: int) -> str:
        lower = chr(code).lower()[0]
        parts = unicodedata.normalize("NFD", lower)
        folded = parts[0] if len(parts) > 1 and unicodedata.combining(parts[1]) >= _ABOVE_OR_BELOW else lower
        self[code] = folded
        return folded


_FOLDING = _Folding()


def fold(text: str) -> str:
    """The text as terms are compared, character by character: positions in it are positions in `text`, where that is
    composed (NFC).
    """
    return text.lower() if text.isascii() else text.translate(_FOLDING)


# -- for the indexes ---------------------------------------------------------------------------------------------------


def word_expression(query: Query, *, columns: bool) -> str:
    """The part of the query that an index of words can find, in FTS5's language, "" for none.

    `columns` says that calls are indexed separately: excluded words are not searched in their JSON, which always has
    "name".
    """
    wanted = [_quoted(" ".join(term.words)) + ("*" if term.prefix else "") for term in query.wanted if term.words]
    excluded = [_quoted(" ".join(term.words)) + ("*" if term.prefix else "") for term in query.excluded if term.words]
    if not wanted:
        return ""
    where = "{content tool_name} : " if columns else ""
    return " AND ".join(wanted) + "".join(f" NOT ({where}{each})" for each in excluded)


def trigram_expression(query: Query) -> str:
    """The literal terms that an index of trigrams can find, in FTS5's language, "" for none; in every spelling."""
    served = [term for term in query.wanted if term.literal and len(term.typed) >= TRIGRAM]
    return " AND ".join(f"({' OR '.join(map(_quoted, [term.typed, *spellings(term)[1:]]))})" for term in served)


def spellings(term: Term) -> list[str]:
    """How a row may spell a literal term, ASCII in lower case: as it is, escaped in JSON, and in JSON within JSON.

    For a term with letters that have no lower case in SQLite, its longest stretch without any; [] for none.
    """
    runs = "".join(letter if _has_one_shape(letter) else "\x00" for letter in term.typed).split("\x00")
    plain = "".join(letter.lower() if letter.isascii() else letter for letter in max(runs, key=len))
    once = escaped(plain)
    return list(dict.fromkeys([plain, once, once.replace("\\u", "\\\\u")])) if plain else []


def _has_one_shape(letter: str) -> bool:
    return letter.isascii() or fold(letter) == letter == letter.upper()


def escaped(text: str) -> str:
    """The text as in stored JSON, where everything but ASCII is escaped."""
    return "".join(letter if letter.isascii() else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    units = letter.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
