"""What SQLite and PostgreSQL write differently in the statements on a store; `{}` is replaced by a column.

Everything else is written in what both understand: `?` for values (`postgres.py` numbers them), comparisons and not
numbers as truth values, DOUBLE PRECISION for REAL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Dialect:
    """One database's spelling."""

    name: str
    start: str  # the first so many bytes of a text
    end: str  # the last so many bytes, or characters, of a text
    byte_length: str  # the number of bytes of a text
    trimmed: str  # the number of bytes of a text without white space at its ends
    place: str  # the position of a bound text in a text; 0 for none
    whole: str  # a number without its fraction
    same: str  # whether two values are equal, or both NULL
    ids: str  # the ids in a bound JSON list of whole numbers
    joined: str  # all values of a column, with commas between them
    index: str  # whether there is an index of a bound name
    given_id: str  # the highest id that a message ever had
    unsought: str  # a column that SQLite must not use an index for
    join: str  # of two tables that SQLite must read in this order


SQLITE = Dialect(
    name="sqlite",
    # As bytes: SQLite's substr of a text ends at the first NUL, with which lists of parts begin.
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
    """The result of a statement."""

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
