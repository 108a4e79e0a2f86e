"""How long a commit and its undo hold the write lock, against the size of the session; part of `make bench`.

Stores are copies of the sample data (CONTRIBUTING.md) where present, else our own of the same shape, with sessions of
made-up text added. Schema 21 has update triggers that fire on any column, schema 31 has none.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from viewer.stores import lock_owners
from viewer.stores.hermes import commit, encode, plan, presence
from viewer.stores.hermes import undo as hermes_undo

REPEATS = 3
SIZES = [(200, 0), (2_000, 0), (20_000, 0), (200, 20_000)]  # live rows, rows under boundaries
KEPT = 100  # rows, about what a plan keeps of a large session


@dataclass(frozen=True)
class Measured:
    """One commit and its undo: seconds of the lock held, of the undo; rows flagged and inserted."""

    commit: float
    undo: float
    flagged: int
    inserted: int


def main(data: Path, cache: Path) -> None:
    """Print the table for stores of schema 31 and 21."""
    print("\nwriting: seconds the write lock is held, the median of", REPEATS)
    print(f"{'':34} {'commit':>9} {'undo':>9} {'flagged':>9} {'inserted':>9}")
    for version in (31, 21):
        path = Path(shutil.copyfile(_made(version, cache), data / f"write-{version}.db"))
        for live, under in SIZES:
            print_line(f"  schema {version}, {live:,} live, {under:,} under", path, _name(live, under), KEPT)
    print_line("  schema 31, 20,000 live, 4,000 kept", data / "write-31.db", _name(20_000, 0), 4_000)


def print_line(what: str, path: Path, session_id: str, kept: int) -> None:
    """Commit and undo `REPEATS` times, keeping so many of the newest rows."""
    found = [measure(path, session_id, kept) for _ in range(REPEATS)]
    times = [median(getattr(one, name) for one in found) for name in ("commit", "undo")]
    print(
        f"{what:34} {' '.join(f'{seconds:8.3f}s' for seconds in times)} {found[0].flagged:9,} {found[0].inserted:9,}",
        flush=True,
    )


def measure(path: Path, session_id: str, kept: int) -> Measured:
    from viewer.stores.base import Store
    from viewer.stores.hermes.reader import open_store
    from viewer.stores.hermes.undo import Undoing

    store, holder = Store("measured", f"sqlite:///{path}", "configured"), lock_owners.new_holder()
    with open_store(store) as reader:
        planned = plan.snapshot(reader, session_id)
        ids = [row[0] for row in planned.rows]
    handoff = {"role": "user", "content": "[CONTEXT SUMMARY]: measured", "_compressed_summary": True}
    steps: list[encode.Step] = [encode.New(handoff), *map(encode.Clone, ids[-kept:])]
    with presence.locked(store, session_id, holder), presence.leased(store, session_id, holder):
        done = commit.commit(store, planned, steps, lock_holder=holder, lease_holder=holder, now=time.time())
        undoing = Undoing(session_id, done.handoff_id, done.block_ids, {row: done.copies.get(row) for row in ids})
        started = time.perf_counter()
        hermes_undo.undo(store, undoing, lock_holder=holder, lease_holder=holder)
        undo = time.perf_counter() - started
    return Measured(done.seconds, undo, len(ids), len(done.block_ids))


# -- stores ------------------------------------------------------------------------------------------------------------


def _name(live: int, under: int) -> str:
    return f"measured_{live}_{under}"


def _made(version: int, cache: Path) -> Path:
    """A store of this schema with a session of each size, made once."""
    from tests.data import own

    path = cache / f"write-{version}.db"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        real = Path(__file__).resolve().parents[3] / "shared" / "data" / f"hermes-v{version}.db"
        if real.exists():
            shutil.copyfile(real, unfinished)
            os.chmod(unfinished, 0o600)
        else:
            own.write(version, unfinished)
        with closing(sqlite3.connect(unfinished, isolation_level=None)) as con:
            con.execute("PRAGMA synchronous = OFF")
            con.execute("BEGIN")
            for live, under in SIZES:
                _fill(con, _name(live, under), live, under)
            con.execute("COMMIT")
            con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        unfinished.rename(path)
    return path


def _fill(con: sqlite3.Connection, session_id: str, live: int, under: int) -> None:
    con.execute("INSERT INTO sessions (id, source, started_at) VALUES (?, 'cli', 1.0)", [session_id])
    names = "session_id, role, content, tool_calls, tool_call_id, tool_name, timestamp, active, compacted"
    con.executemany(
        f"INSERT INTO messages ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", _rows(session_id, live, under)
    )


def _rows(session_id: str, live: int, under: int) -> Iterator[tuple[object, ...]]:
    """Turns of a question, a call, its result and a reply, about a kilobyte a row."""
    dice = random.Random(7)
    words = ["".join(dice.choices("aeioubcdfghlmnprst", k=dice.randint(3, 9))) for _ in range(3_000)]
    for number in range(under + live):
        role = ("user", "assistant", "tool", "assistant")[number % 4]
        text = " ".join(dice.choices(words, k=dice.randint(20, 260)))
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "terminal", "arguments": text[:200]}}
        calling = number % 4 == 1
        flags = (0, 1) if number < under else (1, 0)
        answered = (f"call_{number - 1}", "terminal") if role == "tool" else (None, None)
        calls = json.dumps([call]) if calling else None
        yield session_id, role, "" if calling else text, calls, *answered, 1e9 + number, *flags
