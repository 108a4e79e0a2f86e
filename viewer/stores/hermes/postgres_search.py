"""The questions to a PostgreSQL store's own indexes (`schema_postgres.py`) for a query.

The database functions that make the index also make the questions: both fold and cut words alike.
"""

from __future__ import annotations

from dataclasses import dataclass

from viewer.stores.search.query import Query, Term, spellings

INDEXED = 100_000  # characters of a message that are indexed, and
CALLS_INDEXED = 20_000  # of its calls
LETTERS = (
    f"left(content, {INDEXED})",
    f"left(tool_calls, {CALLS_INDEXED})",
)  # as in the definition of the index of letters


@dataclass(frozen=True, slots=True)
class RowQuery:
    """FROM and WHERE of a statement about rows called `rowid`, and the rank expression, each with its values."""

    sql: str
    values: tuple[object, ...]
    rank: str = ""
    rank_values: tuple[object, ...] = ()


def words(query: Query) -> RowQuery | None:
    """The part of the query that the index of words can find, None for none. Excluded words are not searched in calls,
    which always have "name".
    """
    wanted_terms = [term for term in query.wanted if term.words]
    if not wanted_terms:
        return None
    excluded = [term for term in query.excluded if term.words]
    text_query = " && ".join(
        ["message_query(?, ?, '')"] * len(wanted_terms) + ["!! message_query(?, ?, 'AB')"] * len(excluded)
    )
    values = tuple(value for term in (*wanted_terms, *excluded) for value in (term.text, term.prefix))
    # Lower is better; a long message is not better for its length.
    return RowQuery(
        f"FROM messages_fts WHERE words @@ ({text_query})", values, f"-ts_rank_cd(words, {text_query}, 1)", values
    )


def letters(query: Query) -> RowQuery | None:
    """The literal terms that the index of trigrams can find; None for none. It contains no signs."""
    spelled_terms = [_spelled(term) for term in query.wanted if term.literal and term.has_letters]
    if not spelled_terms:
        return None
    where = " AND ".join(
        f"({' OR '.join(f'{column} ILIKE ?' for _ in each for column in LETTERS)})" for each in spelled_terms
    )
    values = tuple(f"%{text}%" for each in spelled_terms for text in each for _ in LETTERS)
    return RowQuery(f"FROM (SELECT id AS rowid, content, tool_calls FROM messages) AS m WHERE {where}", values)


def _spelled(term: Term) -> list[str]:
    """How a row may spell the term, for LIKE."""
    return [
        text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        for text in [term.typed, *spellings(term)[1:]]
    ]
