"""What SQLite and PostgreSQL spell differently in the statements on a store; `{}` is replaced by a column.

Everything else is written in what both understand: `?` for values (`postgres.py` numbers them), comparisons and not
numbers as truths, DOUBLE PRECISION for REAL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Dialect:
    """One database's spelling."""

    name: str
    start: str  # of a text, its first so many bytes
    end: str  # of a text, its last so many bytes, or characters
    byte_length: str  # how many bytes a text has
    trimmed: str  # how many bytes a text has without white space at its ends
    place: str  # where a bound text first stands in a text; 0 for nowhere
    whole: str  # a number without what is behind its point
    same: str  # whether two values are alike, or both none
    ids: str  # those of a bound JSON list of whole numbers
    joined: str  # all values of a column, with commas between them
    index: str  # whether there is an index of a bound name
    given_id: str  # the highest id the store ever gave to a message
    unsought: str  # a column that SQLite shall not look for a row by
    join: str  # of two tables that SQLite shall read in this order


SQLITE = Dialect(
    name="sqlite",
    # As bytes: of a text, SQLite's substr takes what is before the first NUL, with which lists of parts begin.
    start="substr(CAST({} AS BLOB), 1, {})",
    end="substr(CAST({} AS BLOB), -{})",
    byte_length="length(CAST({} AS BLOB))",
    trimmed="length(CAST(trim({}, char(9, 10, 13, 32)) AS BLOB))",
    place="instr({}, ?)",
    whole="CAST({} AS INTEGER)",
    same="{} IS {}",
    ids="(SELECT value FROM json_each(?))",
    joined="group_concat({})",
    index="SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = ?",
    given_id="SELECT seq FROM sqlite_sequence WHERE name = 'messages'",
    unsought="+{}",
    join="CROSS JOIN",
)
POSTGRES = Dialect(
    name="postgres",
    start="substr(convert_to(left({0}, {1}), 'UTF8'), 1, {1})",
    end="convert_to(right({}, {}), 'UTF8')",
    byte_length="octet_length({})",
    trimmed=r"octet_length(btrim({}, E'\t\n\r '))",
    place="strpos({}, ?)",
    whole="CAST(trunc(CASE WHEN {0} BETWEEN -1e15 AND 1e15 THEN {0} ELSE 0 END) AS bigint)",
    same="{} IS NOT DISTINCT FROM {}",
    ids="(SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(? AS json)))",
    joined="string_agg(CAST({} AS text), ',')",
    index="SELECT 1 FROM pg_class WHERE oid = to_regclass(quote_ident(?)) AND relkind = 'i'",
    given_id="SELECT GREATEST(pg_sequence_last_value(pg_get_serial_sequence('messages', 'id')::regclass), "
    "(SELECT MAX(id) FROM messages), 0)",
    unsought="{}",
    join="JOIN",
)


class Rows(Protocol):
    """What a statement found, or did."""

    @property
    def description(self) -> Any: ...
    @property
    def rowcount(self) -> int: ...
    @property
    def lastrowid(self) -> int | None: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...


class StoreConnection(Protocol):
    """An open store."""

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Rows: ...
