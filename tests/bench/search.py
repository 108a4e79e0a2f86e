"""How long a search takes to the last byte; part of `make bench`. The catalog must know the stores already."""

from __future__ import annotations

import gzip
import time
from statistics import median
from typing import Any

REPEATS = 5
ROWS = (
    ("a common word, newest first", "q=timeout"),
    ("a common word, best match", "q=timeout&order=best"),
    ("two common words", "q=timeout+retry"),
    ("a phrase of two common words", "q=%22timeout+retry%22"),
    ("a beginning", "q=tim*"),
    ("a common word in the middle", "q=timeout&after={store}:{middle}"),
    ("a filter that nothing passes", "q=timeout&role=user&until=2000-01-01"),
    ("two characters, one by one", "q=%E4%B8%96%E7%95%8C"),
)


def main(client: Any, store: str) -> None:
    """Print a line for each kind of search in this store."""
    print("  search, newest first (goal: under 30 ms for a common word)")
    newest = _newest(store)
    for what, query in ROWS:
        address = f"/search?store={store}&{query.format(store=store, middle=newest // 2)}"
        client.get(address)
        taken = []
        for _ in range(REPEATS):
            started = time.perf_counter()
            answer = client.get(address)
            taken.append(time.perf_counter() - started)
        octets, packed = len(answer.content), len(gzip.compress(answer.content))
        print(
            f"    {what:52} {median(taken) * 1000:7.1f}ms {max(taken) * 1000:7.1f}ms  {octets:,} B, {packed:,} packed",
            flush=True,
        )


def _newest(store: str) -> int:
    from viewer.stores.hermes.reader import open_store
    from viewer.stores.registry import get_store

    with open_store(get_store(store)) as reader:
        return int(reader.con.execute("SELECT MAX(id) FROM messages").fetchone()[0] or 0)
