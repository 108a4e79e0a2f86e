"""The full-text index in our own database: which words a message has, how they are written, taken out and asked for.

A message is indexed as the set of its folded words (`stores.query`), and of any two neighbouring characters of a script
without spaces. Neither their order nor their number is kept: what the index names is read and compared anyway. That
makes it a fifth of the size of the text, and the text cannot be read from it.

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
TAKEN = 5_000  # places that are asked for at once
MERGED = 500  # pages of FTS5, of 4 KB

RUNS = re.compile(f"{UNSPACED}+")
# Of ASCII, in UTF-8: lower case, and a space for what is neither letter nor digit. Other bytes stay.
_ASCII = bytes(ord(chr(byte).lower()) if byte > 127 or chr(byte).isalnum() else 32 for byte in range(128)) + bytes(
    range(128, 256)
)


class _Others(dict[int, str]):
    """Of any character: folded, and a space for what is neither letter nor digit. Filled as they come by."""

    def __missing__(self, code: int) -> str:
        folded = fold(chr(code))
        self[code] = folded if folded.isalnum() else " "
        return self[code]


_OTHER = _Others()


class Words(NamedTuple):
    """An indexed message: its place, the session (a `SessionText`) and id it is asked for by, and its words."""

    place: int
    session: int
    message: int
    words: str


def indexed_words(text: str, marks: Sequence[str] = ()) -> str:
    """The different words of a text (composed) and these marks, with spaces between them."""
    text = text[:LONGEST_TEXT]
    found = set(text.encode("utf-8", "replace").translate(_ASCII).split())
    others: set[str] = set()
    if not text.isascii():
        mixed = [word for word in found if not word.isascii()]
        found.difference_update(mixed)
        others = _words_of_others(b" ".join(mixed).decode())
    if len(text) * 4 > LONGEST_WORD and max(map(len, found), default=0) > LONGEST_WORD:
        long = [word for word in found if len(word) > LONGEST_WORD]
        found.difference_update(long)
        others.update(cut(word.decode()) for word in long)
    return " ".join([*marks, *([b" ".join(found).decode()] if found else []), *others])


def _words_of_others(text: str) -> set[str]:
    """The words of a text that is not all ASCII, and the pairs of characters of scripts without spaces."""
    runs = RUNS.findall(text)
    if runs:  # other words begin and end where they do
        text = RUNS.sub(lambda run: f"{run[0][0]} {run[0][-1]}" if len(run[0]) > 1 else run[0], text)
    found = set(text.translate(_OTHER).split())
    if max(map(len, found), default=0) * 4 > LONGEST_WORD:
        found = set(map(cut, found))
    for run in map(fold, runs):
        found.update(map("".join, zip(run, run[1:], strict=False)))
        found.add(run[-1])  # so that each character begins one
    return found


def cut(word: str) -> str:
    """The word as it is indexed."""
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


def free_places(wanted: Sequence[int]) -> list[int]:
    """As many places, each one of these (upwards) or a later one; the transaction has to be one that writes."""
    found, free = _upwards(wanted), set[int]()
    while taken := _taken([place for place in found if place not in free]):
        free.update(place for place in found if place not in taken)
        behind, moved = 0, []
        for place in found:
            if place in taken:
                behind = behind if place < behind else _behind(place)
            moved.append(behind if place in taken else place)
        found = _upwards(moved)
    return found


def _behind(taken: int) -> int:
    """A free place that is directly behind a taken one, so that places of one time stay together: found in a few looks,
    however many there are.
    """
    step = 1
    while _taken([taken + step]):
        step *= 2
    low, high = taken + step // 2, taken + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _taken([middle]) else (low, middle)
    return high


def _upwards(places: Iterable[int]) -> list[int]:
    """The same places, or later ones, each but once."""
    found: list[int] = []
    for place in places:
        found.append(max(place, found[-1] + 1) if found else place)
    return found


def _taken(places: Sequence[int]) -> set[int]:
    """Numbers are no text: thousands of them fit into one statement without a bound value each."""
    found: set[int] = set()
    for start in range(0, len(places), TAKEN):
        numbers = ", ".join(map(str, places[start : start + TAKEN]))
        found.update(row[0] for row in _rows(f"SELECT id FROM catalog_textmessage WHERE id IN ({numbers})", []))
    return found


# -- writing -----------------------------------------------------------------------------------------------------------


def add(found: Sequence[Words]) -> None:
    """Write these messages, by place upwards."""
    if connection.vendor == "postgresql":
        _many(
            "INSERT INTO catalog_textmessage (id, session_id, message, words) "
            "VALUES (%s, %s, %s, array_to_tsvector(string_to_array(%s, ' ')))",
            [(each.place, each.session, each.message, each.words) for each in found],
        )
        return
    _many(
        "INSERT INTO catalog_textmessage (id, session_id, message) VALUES (%s, %s, %s)",
        [(each.place, each.session, each.message) for each in found],
    )
    _many("INSERT INTO catalog_text (rowid, words) VALUES (%s, %s)", [(each.place, each.words) for each in found])


def take_out(portion: bytes) -> int:
    """Remove the messages of a packed portion; how many."""
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
    """Have FTS5 merge some of its file, where words that were taken out stay until then; whether all is merged.

    Two rows are changed by a statement that does nothing (https://sqlite.org/fts5.html, the `merge` command). What a
    server keeps of deleted rows leaves with its vacuum.
    """
    if connection.vendor == "postgresql":
        return True
    with connection.cursor() as cursor:
        ((before,),) = cursor.execute("SELECT total_changes()").fetchall()
        cursor.execute("INSERT INTO catalog_text (catalog_text, rank) VALUES ('merge', %s)", [-MERGED])
        ((after,),) = cursor.execute("SELECT total_changes()").fetchall()
    return bool(after - before < 2)


def packed(found: Iterable[Words]) -> bytes:
    """A portion: of each message its place and words, as a line."""
    return zlib.compress("\n".join(f"{each.place} {each.words} " for each in found).encode(), 1)


def unpacked(portion: bytes, parts: Sequence[str] = ()) -> Iterator[tuple[int, str]]:
    """Place and words, each between spaces, of the messages of a portion whose words have these parts."""
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
class Asked:
    """What to ask the index: words, of which a star at the end takes any that begin so; all of `wanted`, none of
    `excluded`, and one of `either` where there are any.
    """

    wanted: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    either: tuple[str, ...] = ()


def asked(query: Query) -> Asked | None:
    """What the index can tell of a query; None for nothing of what is wanted, or where parts of words are."""
    if any(term.literal and term.has_letters and not RUNS.search(term.text) for term in query.wanted):
        return None
    wanted = [word for term in query.wanted for word in _served(term)]
    excluded = [term.words[0] for term in query.excluded if len(term.words) == 1 and not term.prefix]
    short = [word for word in excluded if cut(word) == word]
    return Asked(tuple(dict.fromkeys(wanted)), tuple(short)) if wanted else None


def _served(term: Term) -> Iterator[str]:
    """The words that each text with this term has."""
    for word in term.words[:-1]:
        yield cut(word)
    if term.words:
        last = cut(term.words[-1])
        yield last + ("*" if term.prefix else "")
    for run in RUNS.findall(term.text) if term.literal else ():
        yield from (map("".join, zip(run, run[1:], strict=False)) if len(run) > 1 else [f"{run}*"])


def places(question: Asked, low: int, high: int, limit: int) -> list[tuple[int, int, int]]:
    """Place, session and id of the newest messages that the index names between two places, downwards."""
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


def _match(question: Asked) -> str:
    """In FTS5's language. Words and marks have no quotes in them."""
    either = " OR ".join(map(_fts5, question.either))
    found = " AND ".join([*map(_fts5, question.wanted), *([f"({either})"] if either else [])])
    return f"({found})" + "".join(f" NOT {_fts5(word)}" for word in question.excluded)


def _fts5(word: str) -> str:
    return f'"{word.removesuffix("*")}"' + ("*" if word.endswith("*") else "")


def _tsquery(question: Asked) -> str:
    either = " | ".join(map(_lexeme, question.either))
    found = [*map(_lexeme, question.wanted), *([f"({either})"] if either else [])]
    return " & ".join([*found, *(f"!{_lexeme(word)}" for word in question.excluded)])


def _lexeme(word: str) -> str:
    return f"'{word.removesuffix('*')}'" + (":*" if word.endswith("*") else "")


def _rows(sql: str, values: Sequence[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())
