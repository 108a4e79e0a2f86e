"""Many stories beside a running site whose processes are killed (`raced`).

`python -m tests.faults --rounds 100 --schema 31 --journal delete --seed 1` prints each fault with its seed, and figures
at the end.

A round is one session of six steps: what is said, taken back, rewritten, compacted by the agent and by us, undone,
branched. After each step every message is in History once, with its whole text and in order; after each undo the
context is exact; after each round nobody holds a lock, and every tenth round the file and its indexes are sound.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.agents.hermes.real import Hermes, environment
from tests.agents.hermes.stories import NOBODY, REQUIREMENTS, Outcome, as_schema_21, keep
from tests.agents.hermes.told import Fault

from . import ledger
from .raced import STORE, Live, Raced
from .site import SiteProcesses, until

STEPS = 6


class Campaign:
    """Rounds on one site; `faults` are those found so far, by seed. Their sessions go into the directory `kept`."""

    def __init__(self, live: Live, scratch: Path, schema: int, kept: Path | None) -> None:
        self.live, self.scratch, self.schema, self.kept = live, scratch, schema, kept
        self.faults: dict[int, list[Fault]] = {}
        self.counts: Counter[str] = Counter()

    def round(self, seed: int, steps: int = STEPS) -> None:
        story = Raced(self.live, seed)
        found = story.tell_all(steps)
        if found:
            self.faults[seed] = found
            if self.kept is not None:
                keep(self.kept, Outcome(story, found), self.schema)
        self.counts += story.counts
        self.counts.update({f"refused: {why}": count for why, count in story.refusals.items()})
        self.counts["steps"] += len(story.told)
        self.counts.update(f"step: {step}" for _, step in story.told)
        self.counts["messages"] += len(story.ledger.said)
        until(self._is_free, self.live.site.logs)

    def _is_free(self) -> bool:
        return all(holder.startswith(tuple(f"pid={pid}:" for pid in self.live.dead)) for holder in self._holders())

    def _holders(self) -> list[str]:
        found: list[str] = []
        for table in ("compression_locks", "session_turn_leases"):
            if ledger.query(self.live.path, "SELECT 1 FROM sqlite_master WHERE name = ?", table):
                found += [row[0] for row in ledger.query(self.live.path, f"SELECT holder FROM {table}")]
        return found

    def check_sound(self) -> None:
        ledger.check_sound(self.live.path, self.scratch)


@contextmanager
def campaign(
    place: Path, schema: int, journal: str, database: str = "", kept: Path | None = None
) -> Iterator[Campaign]:
    """A site with a store that Hermes of this schema made, in a fresh directory; `database` is PostgreSQL's address."""
    path, homes = place / "state.db", iter(range(1_000_000))

    def start() -> Hermes:
        return Hermes(environment(REQUIREMENTS[schema]), place / f"agent-{next(homes)}", NOBODY)

    first = start()
    first.open(path)
    if schema == 21:
        as_schema_21(first, path)
    first.close()
    first.stop()
    ledger.query(path, f"PRAGMA journal_mode = {journal}")
    live = Live(SiteProcesses(place, {STORE: path}, database), path, start)
    try:
        yield Campaign(live, place, schema, kept)
    finally:
        live.end()


def journal_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as con:
        return str(con.execute("PRAGMA journal_mode").fetchone()[0])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--schema", type=int, choices=sorted(REQUIREMENTS), default=31)
    parser.add_argument("--journal", choices=("wal", "delete"), default="wal")
    parser.add_argument("--own", default="", help="postgres://... for the site's own database")
    parser.add_argument("--keep", type=Path, help="a directory for stories with faults")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home,
        campaign(Path(home), options.schema, options.journal, options.own, options.keep) as made,
    ):
        for number in range(options.rounds):
            seed = options.seed + number
            made.round(seed)
            for fault in made.faults.get(seed, ()):
                print(f"seed {seed}: {fault}", flush=True)
            if number % 10 == 9:
                made.check_sound()
        journal, kills = journal_of(made.live.path), made.live.kills
    own = "PostgreSQL" if options.own else "SQLite"
    print(
        f"schema {options.schema}, journal {journal}, own database {own}: {options.rounds} rounds, {kills} kills, ",
        end="",
    )
    print(f"{len(made.faults)} with faults, {time.monotonic() - started:.0f} s")
    for what, count in made.counts.most_common():
        print(f"  {count:6} {what}")
    return 1 if made.faults else 0
