"""How long the pages of one session take, and how large they are; part of `make bench`.

Server time to the last byte through Django's test client with the site's own middleware: the first, cold view, then the
median and the worst of five.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

from tests.clients import signed_in_client

REPEATS = 5
SHORT = 110  # rows at most of a session that is called short
FRAGMENT = {"HX-Request": "true"}


def main(stores: list[str]) -> None:
    """Print a line for each page: of the longest session and a short one of the store `filled`, of "week 29" of the
    others, and of the longest once more after a compaction, which is written to that store.
    """
    print(f"\n{'pages of one session':46} {'cold':>9} {'median':>9} {'worst':>9} {'bytes':>8} {'gzipped':>8}")
    for store in stores:
        if store != "filled":
            _print(store, _named(store, "%week 29"))
    if "filled" in stores:
        long, short = _by_length(store="filled")
        _print("filled", long)
        _print("filled", short)
        print(f"  compacting {long} took {_compact('filled', long):.1f} s")
        _print("filled", long)


def _print(store: str, session_id: str) -> None:
    from viewer.history import index_cache
    from viewer.stores.hermes.paths import get_session
    from viewer.stores.hermes.reader import open_store
    from viewer.stores.registry import get_store

    client = signed_in_client()
    with open_store(get_store(store)) as reader:
        session = get_session(reader, session_id)
        started = time.perf_counter()
        index = index_cache.index_of(reader, session)
        made = time.perf_counter() - started
        print(f"{store}, {len(index.ids):,} rows: {made * 1000:.0f} ms to make its index")
        for what, address, headers in _pages(f"/stores/{store}/sessions/{session_id}", index):
            _time(client, what, address, headers)
        started = time.perf_counter()
        index_cache.count_some(reader, session, 600)
        print(f"  {'counting all tokens':44} {(time.perf_counter() - started) * 1000:7.0f}ms")
        _time(client, "timeline, once counted", f"/stores/{store}/sessions/{session_id}/timeline", FRAGMENT)


def _pages(session: str, index: Any) -> Iterator[tuple[str, str, dict[str, str]]]:
    middle = index.entry(index.messages // 2).id
    yield "newest window", session, {}
    yield "deep link into the middle", f"{session}?around={middle}", {}
    yield "what the model sees", f"{session}/context", {}
    yield "what the model sees, its middle", f"{session}/context?start={len(index.live) // 2}", {}
    if index.boundaries:
        yield "newest boundary", f"{session}?around={index.boundaries[-1].handoff_id}", {}
    yield "a further window, earlier", f"{session}?before={middle}", FRAGMENT
    yield "a further window, later", f"{session}?after={middle}", FRAGMENT
    yield "timeline", f"{session}/timeline", FRAGMENT
    yield "raw rows", f"{session}/rows", {}
    yield "plan of a compaction", f"{session}/plan", FRAGMENT


def _time(client: Any, what: str, address: str, headers: dict[str, str]) -> None:
    taken: list[float] = []
    for _ in range(REPEATS + 1):
        started = time.perf_counter()
        answer = client.get(address, headers={**headers, "Accept-Encoding": "identity"})
        octets = answer.content
        taken.append((time.perf_counter() - started) * 1000)
        assert answer.status_code == 200, (address, answer.status_code)
    cold, warm = taken[0], taken[1:]
    sizes = f"{len(octets) / 1000:5.0f} kB {len(gzip.compress(octets, 6)) / 1000:5.1f} kB"
    print(f"  {what:44} {cold:7.1f}ms {median(warm):7.1f}ms {max(warm):7.1f}ms {sizes}", flush=True)


def _by_length(store: str) -> tuple[str, str]:
    """The longest session of a store, and one that is short."""
    from viewer.stores.hermes.reader import open_store
    from viewer.stores.registry import get_store

    with open_store(get_store(store)) as reader:
        found = reader.con.execute(
            "SELECT session_id, COUNT(*) AS rows FROM messages GROUP BY session_id ORDER BY rows DESC"
        ).fetchall()
    return found[0][0], next(session_id for session_id, rows in found if rows <= SHORT)


def _named(store: str, title: str) -> str:
    from viewer.stores.hermes.reader import open_store
    from viewer.stores.registry import get_store

    with open_store(get_store(store)) as reader:
        return str(reader.con.execute("SELECT id FROM sessions WHERE title LIKE ?", [title]).fetchone()[0])


def _compact(store: str, session_id: str) -> float:
    from viewer.runs import job, service
    from viewer.runs.planning import Options
    from viewer.stores.registry import get_store

    started = time.perf_counter()
    run = service.prepare(get_store(store), session_id, Options("summary"), apply=True)
    job.compact(run.pk)
    run.refresh_from_db()
    assert run.status == "applied", run.error_message
    return time.perf_counter() - started
