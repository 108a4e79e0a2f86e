"""How fast the text of a store without an index is indexed, and then searched; part of `make bench`.

The store is held in memory, so that the index alone is measured: 200 MB in 200 sessions, of words as common as
words are, paths, and some Chinese. Alone: python -m tests.bench.texts [MB]
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from viewer.stores.base import Session, Store
from viewer.stores.kind import StoreKind
from viewer.stores.message import StoredMessage
from viewer.stores.whole import WholeConversation, WholeReader

MEGABYTES, SESSIONS, TEXTS = 200, 200, 20_000
REPEATS = 5
STARTED = 1_790_000_000.0  # epoch seconds
QUERIES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("a common word", "word7", {}),
    ("a common word, best match", "word7", {"order": "best"}),
    ("two common words", "word7 word11", {}),
    ("a phrase of two common words", '"word7 word11"', {}),
    ("a rare word", "marmoset", {}),
    ("a beginning of many words", "word1*", {}),
    ("a common word in one session", "word7", {"sessions": ("s7",)}),
    ("two characters", "世界", {}),
    ("inside of a rare word", "armose", {}),
    ("inside of words, nowhere", "zzyzx", {}),
    ("a filter that nothing passes", "word7", {"role": "nobody"}),
)


@dataclass(frozen=True, slots=True)
class _Known(WholeConversation):
    """A conversation that never changes."""

    @property
    def digest(self) -> str:
        return self.session.id


class _InMemory(StoreKind):
    name = "memory"
    schemes = ("memory:///",)

    def __init__(self, megabytes: int) -> None:
        rnd, size = random.Random(7), megabytes * 1_000_000 // SESSIONS
        texts = [_text(rnd) for _ in range(TEXTS)]
        self.conversations = [_conversation(number, size, texts) for number in range(SESSIONS)]

    def discover(self) -> list[tuple[str, str]]:
        return []

    def is_here(self, store: Store) -> bool:
        return True

    def identity(self, store: Store) -> tuple[int, int]:
        return 0, 0

    def version(self, store: Store, session_id: str | None = None) -> str:
        return "1"

    @contextmanager
    def open(self, store: Store, *, listed: bool) -> Iterator[WholeReader]:
        yield WholeReader(store, self.conversations, 0)


def _conversation(number: int, size: int, texts: Sequence[str]) -> WholeConversation:
    """Messages that begin and end with other texts of these than those of other sessions."""
    rnd, started = random.Random(number), STARTED + 1_000 * number
    messages: list[StoredMessage] = []
    written = 0
    while written < size:
        text = f"{rnd.choice(texts)} {rnd.getrandbits(40):x} {rnd.choice(texts)}"
        role = ("user", "assistant", "tool")[len(messages) % 3]
        messages.append(StoredMessage(len(messages) + 1, f"s{number}", role, text, "live", started + 7 * len(messages)))
        written += len(text.encode())
    session = Session(
        "memory", f"s{number}", "cli", "gpt-4o", f"Session {number}", "", "", started, messages[-1].timestamp, None, "",
        False, "", 1, "",
    )  # fmt: skip
    return _Known(session, messages)


def _text(rnd: random.Random) -> str:
    """Some 70 words by Zipf's law, paths, and a few that stand nowhere else."""
    words: list[str] = []
    for _ in range(int(rnd.expovariate(1 / 70)) + 5):
        kind = rnd.random()
        if kind < 0.88:
            words.append(f"word{int(rnd.paretovariate(0.8)) % 200_000}")
        elif kind < 0.97:
            words.append(f"/srv/app/part_{int(rnd.paretovariate(0.5)) % 5_000}.py:{rnd.randint(1, 900)}")
        elif kind < 0.98:
            words.append("".join(chr(0x4E00 + int(rnd.paretovariate(0.5)) % 4_000) for _ in range(20)))
        else:
            words.append(f"{rnd.getrandbits(32):x}")
    if rnd.random() < 0.0002:
        words.append("marmoset")
    if rnd.random() < 0.002:
        words.append("你好世界")
    return " ".join(words)


def main(megabytes: int = MEGABYTES) -> None:
    """Print lines for indexing, and for each kind of search."""
    from django.conf import settings

    from viewer.catalog import sync
    from viewer.catalog.search import indexing
    from viewer.stores import registry

    kind = _InMemory(megabytes)
    kinds, registry.KINDS = registry.KINDS, [*registry.KINDS, kind]
    settings.STORES = {**settings.STORES, "memory": "memory:///1"}
    store = registry.get_store("memory")
    try:
        while sync.store_listings([store])[0].state.unlisted:  # type: ignore[union-attr]
            pass
        size, count = _size(kind), sum(len(each.messages) for each in kind.conversations)
        before, steps, started, worked = _database(), [], time.perf_counter(), time.process_time()
        left = True
        while left:
            began = time.perf_counter()
            with registry.open_store(store) as reader:
                left = indexing.index_some(reader, 1.0)
            steps.append(time.perf_counter() - began)
        taken, worked = time.perf_counter() - started, time.process_time() - worked
        print(f"  full text of {size / 1e6:,.0f} MB, {count:,} messages (goal: 20 MB/s)")
        print(
            f"    indexed at {size / 1e6 / taken:5.1f} MB/s, {size / 1e6 / worked:5.1f} MB/s of processor time; "
            f"steps of at most {max(steps):.2f} s"
        )
        print(f"    size of the index: {(_database() - before) / size:.0%} of the text", flush=True)
        _search(store)
    finally:
        registry.KINDS = kinds


def _size(kind: _InMemory) -> int:
    return sum(len(message.content.encode()) for each in kind.conversations for message in each.messages)


def _database() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_database_size(current_database())")
        else:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        return int(cursor.fetchone()[0])


def _search(store: Store) -> None:
    from viewer.catalog.search.store_search import search
    from viewer.stores.registry import open_store
    from viewer.stores.search.pages import PageRequest, SearchFilter
    from viewer.stores.search.query import parse

    for what, q, wanted in QUERIES:
        taken = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            with open_store(store) as reader:
                found = search(reader, parse(q), SearchFilter(**wanted), PageRequest(25))
            taken.append(time.perf_counter() - began)
        end = f"{len(found.hits)} hits{', stopped' if found.stopped else ''} of {found.looked:,}"
        print(f"    {what:52} {median(taken) * 1000:7.1f}ms {max(taken) * 1000:7.1f}ms  {end}", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as place:
        os.environ.setdefault("PALIMPSEST_DATA_DIR", str(Path(place) / "own"))
        os.environ["DJANGO_SETTINGS_MODULE"] = "viewer.settings"
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        main(*map(int, sys.argv[1:]))
