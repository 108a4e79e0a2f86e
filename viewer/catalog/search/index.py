"""The full-text index in our own database: the words of a message, and how they are written, removed and queried.

A message is indexed as the set of its folded words (`stores.query`), and of each pair of neighbouring characters of a
script without spaces. Neither order nor number is stored: matches are read and compared anyway. So the index has a
fifth of the size of the text, and the text cannot be read from it.

SQLite: a contentless FTS5 table. PostgreSQL: a tsvector of the same words, which takes longer to write and to read.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import connection

from viewer.catalog.models import TextMessage
from viewer.stores.batches import chunks
from viewer.stores.search.query import UNSPACED, Query, Term, fold

LONGEST_TEXT = 400_000  # characters of a message that are indexed
LONGEST_WORD = 256  # bytes; PostgreSQL takes 2,046
PER_SECOND = 1_000  # places
LATEST = 2**42  # seconds
TAKEN = 5_000  # places in one query
MERGED = 500  # pages of FTS5, of 4 KB

RUNS = re.compile(f"{UNSPACED}+")
# ASCII in UTF-8: lower case, and a space for each character that is not a letter or digit. Other bytes stay.
_ASCII = bytes(ord(chr(byte).lower()) if byte > 127 or chr(byte).isalnum() else 32 for byte in range(128)) + bytes(
    range(128, 256)
)


class _Others(dict[int, str]):
    """For any character: folded, and a space if it is neither letter nor digit. Filled on first use."""

    def __missing__(self, code: int) -> str:
        folded = fold(chr(code))
        self[code] = folded if folded.isalnum() else " "
        return self[code]


_OTHER = _Others()


class Words(NamedTuple):
    """An indexed message: its place, its session (a `SessionText`) and id in the store, and its words."""

    place: int
    session: int
    message: int
    words: str


def indexed_words(text: str, marks: Sequence[str] = ()) -> str:
    """The distinct words of a text (composed) and these marks, separated by spaces."""
    text = text[:LONGEST_TEXT]
    words = set(text.encode("utf-8", "replace").translate(_ASCII).split())
    others: set[str] = set()
    if not text.isascii():
        mixed = [word for word in words if not word.isascii()]
        words.difference_update(mixed)
        others = _words_of_others(b" ".join(mixed).decode())
    if len(text) * 4 > LONGEST_WORD and max(map(len, words), default=0) > LONGEST_WORD:
        long = [word for word in words if len(word) > LONGEST_WORD]
        words.difference_update(long)
        others.update(cut(word.decode()) for word in long)
    return " ".join([*marks, *([b" ".join(words).decode()] if words else []), *others])


def _words_of_others(text: str) -> set[str]:
    """The words of a text that is not all ASCII, and the pairs of characters of scripts without spaces."""
    runs = RUNS.findall(text)
    if runs:  # other words begin and end where they do
        text = RUNS.sub(lambda run: f"{run[0][0]} {run[0][-1]}" if len(run[0]) > 1 else run[0], text)
    words = set(text.translate(_OTHER).split())
    if max(map(len, words), default=0) * 4 > LONGEST_WORD:
        words = set(map(cut, words))
    for run in map(fold, runs):
        words.update(map("".join, zip(run, run[1:], strict=False)))
        words.add(run[-1])  # so that each character begins one
    return words


def cut(word: str) -> str:
    """The word in the length in which it is indexed."""
    return word if len(word) * 4 <= LONGEST_WORD else word.encode()[:LONGEST_WORD].decode("utf-8", "ignore")


# -- marks: words that no text has, by which the index itself narrows --------------------------------------------------


def store_mark(store: int) -> str:
    return f"_t{store}"


def session_mark(session: int) -> str:
    return f"_s{session}"


@lru_cache(maxsize=100)
def role_mark(role: str) -> str:
    return "_r" + role.encode("utf-8", "replace").hex()[: LONGEST_WORD - 2]


# -- places ------------------------------------------------------------------------------------------------------------


def place_of(time: float) -> int:
    """The first place of a message of this time, in epoch seconds."""
    return int(min(max(time, 0.0), LATEST) * PER_SECOND) if time == time else 0


def free_places(requested: Sequence[int]) -> list[int]:
    """As many free places: each is the requested one (in ascending order) or a later one. Must run in a writing
    transaction.
    """
    result, free = _upwards(requested), set[int]()
    while occupied := _occupied([place for place in result if place not in free]):
        free.update(place for place in result if place not in occupied)
        behind, moved = 0, []
        for place in result:
            if place in occupied:
                behind = behind if place < behind else _behind(place)
            moved.append(behind if place in occupied else place)
        result = _upwards(moved)
    return result


def _behind(occupied: int) -> int:
    """A free place directly after an occupied one, so that places of one time stay together: found in a few queries,
    however many there are.
    """
    step = 1
    while _occupied([occupied + step]):
        step *= 2
    low, high = occupied + step // 2, occupied + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _occupied([middle]) else (low, middle)
    return high


def _upwards(places: Iterable[int]) -> list[int]:
    """The same places, or later ones, without repetitions."""
    result: list[int] = []
    for place in places:
        result.append(max(place, result[-1] + 1) if result else place)
    return result


def _occupied(places: Sequence[int]) -> set[int]:
    """Those of the places that are in use. Numbers are safe in SQL text: thousands fit into one statement without bound
    values.
    """
    result: set[int] = set()
    for start in range(0, len(places), TAKEN):
        numbers = ", ".join(map(str, places[start : start + TAKEN]))
        result.update(row[0] for row in _rows(f"SELECT id FROM catalog_textmessage WHERE id IN ({numbers})", []))
    return result


# -- writing -----------------------------------------------------------------------------------------------------------


def add(messages: Sequence[Words]) -> None:
    """Write these messages, in ascending order of place."""
    if connection.vendor == "postgresql":
        _many(
            "INSERT INTO catalog_textmessage (id, session_id, message, words) "
            "VALUES (%s, %s, %s, array_to_tsvector(string_to_array(%s, ' ')))",
            [(each.place, each.session, each.message, each.words) for each in messages],
        )
        return
    _many(
        "INSERT INTO catalog_textmessage (id, session_id, message) VALUES (%s, %s, %s)",
        [(each.place, each.session, each.message) for each in messages],
    )
    _many("INSERT INTO catalog_text (rowid, words) VALUES (%s, %s)", [(each.place, each.words) for each in messages])


def take_out(portion: bytes) -> int:
    """Remove the messages of a packed portion; returns their number."""
    lines = list(unpacked(portion))
    if connection.vendor != "postgresql":
        _many(
            "INSERT INTO catalog_text (catalog_text, rowid, words) VALUES ('delete', %s, %s)",
            [(place, words) for place, words in lines],
        )
    for chunk in chunks([place for place, _ in lines]):
        TextMessage.objects.filter(pk__in=chunk).delete()
    return len(lines)


def tidied() -> bool:
    """Make FTS5 merge some of its file, where removed words stay until then; returns whether all is merged.

    A statement that merges nothing changes fewer than two rows (https://sqlite.org/fts5.html, the `merge` command).
    What a server keeps of deleted rows is removed by its vacuum.
    """
    if connection.vendor == "postgresql":
        return True
    with connection.cursor() as cursor:
        ((before,),) = cursor.execute("SELECT total_changes()").fetchall()
        cursor.execute("INSERT INTO catalog_text (catalog_text, rank) VALUES ('merge', %s)", [-MERGED])
        ((after,),) = cursor.execute("SELECT total_changes()").fetchall()
    return bool(after - before < 2)


def packed(messages: Iterable[Words]) -> bytes:
    """A portion: one line per message, with its place and words."""
    return zlib.compress("\n".join(f"{each.place} {each.words} " for each in messages).encode(), 1)


def unpacked(portion: bytes, parts: Sequence[str] = ()) -> Iterator[tuple[int, str]]:
    """Place and words, each between spaces, of those messages of a portion whose words contain these parts."""
    text = zlib.decompress(portion).decode()
    if all(part in text for part in parts):
        for line in text.split("\n"):
            at = line.index(" ")
            words = line[at:]
            if all(part in words for part in parts):
                yield int(line[:at]), words


def _many(sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(sql, rows)


# -- asking ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WordQuery:
    """A query for the index: all words of `wanted`, none of `excluded`, and one of `either` if there are any. A word
    with a star at the end is a prefix.
    """

    wanted: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    either: tuple[str, ...] = ()


def word_query(query: Query) -> WordQuery | None:
    """The part of a query that the index can answer; None if it can answer none of what is wanted, or parts of words
    are wanted.
    """
    if any(term.literal and term.has_letters and not RUNS.search(term.text) for term in query.wanted):
        return None
    words = [word for term in query.wanted for word in _served(term)]
    excluded = [term.words[0] for term in query.excluded if len(term.words) == 1 and not term.prefix]
    short = [word for word in excluded if cut(word) == word]
    return WordQuery(tuple(dict.fromkeys(words)), tuple(short)) if words else None


def _served(term: Term) -> Iterator[str]:
    """The words that each text with this term contains."""
    for word in term.words[:-1]:
        yield cut(word)
    if term.words:
        last = cut(term.words[-1])
        yield last + ("*" if term.prefix else "")
    for run in RUNS.findall(term.text) if term.literal else ():
        yield from (map("".join, zip(run, run[1:], strict=False)) if len(run) > 1 else [f"{run}*"])


def places(question: WordQuery, low: int, high: int, limit: int) -> list[tuple[int, int, int]]:
    """Place, session and id of the newest matches between two places, in descending order."""
    if connection.vendor == "postgresql":
        sql = (
            "SELECT id, session_id, message FROM catalog_textmessage WHERE words @@ %s::tsquery "
            "AND id BETWEEN %s AND %s ORDER BY id DESC LIMIT %s"
        )
        return _rows(sql, [_tsquery(question), low, high, limit])
    sql = (
        "SELECT m.id, m.session_id, m.message FROM (SELECT rowid AS place FROM catalog_text "
        "WHERE catalog_text MATCH %s AND rowid BETWEEN %s AND %s ORDER BY rowid DESC LIMIT %s) AS found "
        "CROSS JOIN catalog_textmessage AS m ON m.id = found.place ORDER BY m.id DESC"
    )
    return _rows(sql, [_match(question), low, high, limit])


def _match(question: WordQuery) -> str:
    """The query in FTS5's language. Words and marks contain no quotes."""
    either = " OR ".join(map(_fts5, question.either))
    required = " AND ".join([*map(_fts5, question.wanted), *([f"({either})"] if either else [])])
    return f"({required})" + "".join(f" NOT {_fts5(word)}" for word in question.excluded)


def _fts5(word: str) -> str:
    return f'"{word.removesuffix("*")}"' + ("*" if word.endswith("*") else "")


def _tsquery(question: WordQuery) -> str:
    either = " | ".join(map(_lexeme, question.either))
    required = [*map(_lexeme, question.wanted), *([f"({either})"] if either else [])]
    return " & ".join([*required, *(f"!{_lexeme(word)}" for word in question.excluded)])


def _lexeme(word: str) -> str:
    return f"'{word.removesuffix('*')}'" + (":*" if word.endswith("*") else "")


def _rows(sql: str, values: Sequence[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())
