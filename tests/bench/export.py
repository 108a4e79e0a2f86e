"""How long a session of 20,000 messages takes to export, and how much memory that needs; part of `make bench`."""

from __future__ import annotations

import resource
import sqlite3
import time
import tracemalloc
from contextlib import closing
from pathlib import Path


def main(store: str, path: Path) -> None:
    """Print a line for each format, of the longest session of the store at this path.

    The peak is what Python held above what it held before, measured by itself.
    """
    from viewer import exports

    with closing(sqlite3.connect(path)) as con:
        longest = "SELECT session_id FROM messages GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 1"
        (session_id,) = con.execute(longest).fetchone()
    print(f"\nexport of {session_id}, history, redacted")
    print(f"{'':34} {'time':>9} {'first':>9} {'size':>9} {'peak':>9}")
    for format in exports.CONTENT_TYPES:
        started = time.perf_counter()
        made = exports.export(store, session_id, format)
        octets = len(next(made.chunks))
        first = time.perf_counter() - started
        octets += sum(map(len, made.chunks))
        taken = time.perf_counter() - started
        tracemalloc.start()
        for _ in exports.export(store, session_id, format).chunks:
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"  {format:32} {taken:8.2f}s {first * 1000:7.0f}ms {octets / 1e6:6.1f} MB {peak / 1e6:6.1f} MB",
            flush=True,
        )
    print(f"  the process at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:,.0f} MB")
