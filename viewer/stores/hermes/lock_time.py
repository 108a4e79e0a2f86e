"""An estimate of how long a write will hold the store's write lock: meanwhile its agent cannot write.

The factors were measured on an idle machine (`make bench`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .columns import Columns


def estimate_commit_seconds(columns: Columns, sizes: Mapping[int, int], kept: Collection[int]) -> float:
    """Seconds for which a commit will hold the write lock that flags rows of so many bytes and keeps some of them.

    Every live row is flagged, and indexed again where update triggers fire on any column (schemas up to 22); kept rows
    are written and indexed once more.
    """
    reindexed = any("UPDATE ON" in " ".join(sql.upper().split()) for _, sql in columns.triggers)
    flagged = REINDEXED * sum(sizes.values()) if reindexed else 0.0
    return estimate_copy_seconds(sum(sizes.get(row_id, 0) for row_id in kept)) + _FLAGGED * len(sizes) + flagged


def estimate_copy_seconds(size: int) -> float:
    """Seconds for which writing clones of rows with so much text will hold the write lock."""
    return _AT_LEAST + INDEXED * size


_AT_LEAST, _FLAGGED = 0.01, 14e-6  # seconds: a commit, a row
REINDEXED, INDEXED = 0.35e-6, 0.2e-6  # seconds a byte
