"""What a site had before 0.1.0, with the last of the migrations that 0.1.0 replaces, and rows in every table: its own
database on SQLite, beside its demo store, and one on PostgreSQL as pg_dump wrote it.

The runs are older still: of a version before receipts, brought up to date since.
"""

from __future__ import annotations

import lzma
from pathlib import Path

PACKED = Path(__file__).parent


def unpack(data: Path) -> None:
    """Make this directory a data directory of then."""
    for name in ("palimpsest.sqlite3", "demo.db"):
        (data / name).write_bytes(lzma.decompress((PACKED / f"{name}.xz").read_bytes()))


def statements() -> str:
    """The SQL that makes the database on PostgreSQL."""
    return lzma.decompress((PACKED / "postgresql.sql.xz").read_bytes()).decode()
