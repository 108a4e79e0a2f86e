"""Clients that write into their files beside us, where no lock of theirs tells us so, as one in another container may.

`python -m tests.faults beside --kind pi --rounds 400 --seed 1` prints each fault with its seed, and figures at the end.

A round is one session. Its client appends whole lines with a serial number each, in its own form and from what it has
in memory: rarely, steadily, or as fast as it can. Meanwhile a process of ours compacts, shortens, undoes, redoes and
makes branches of the session; at a random moment it is killed, and another one goes on. Then every line of the client's
has to be in the file, once and in order, what was there before stand as it was, the newest line be in context, and once
all is undone that is in effect, the context be all that was ever said.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "viewer.settings")
django.setup()

import compaction  # noqa: E402  # Django is set up by the line above
from compaction.strategy import STRATEGIES  # noqa: E402
from tests.agents.base import Agent, objects  # noqa: E402
from tests.agents.claude_code.by_hand import ClaudeByHand, record, resumed  # noqa: E402
from tests.agents.codex.by_hand import CodexByHand, items  # noqa: E402
from tests.agents.openclaw.by_hand import OpenClawFilesByHand  # noqa: E402
from tests.agents.pi.by_hand import PiByHand, said  # noqa: E402
from tests.agents.talk import heard, talk  # noqa: E402
from viewer.runs import candidate, planning  # noqa: E402
from viewer.stores.base import Store  # noqa: E402
from viewer.stores.changes import Json  # noqa: E402
from viewer.stores.errors import StoreError  # noqa: E402
from viewer.stores.message import message_of  # noqa: E402
from viewer.stores.pi import presence as pi_presence  # noqa: E402
from viewer.stores.reader import Reader  # noqa: E402
from viewer.stores.recorded import Recorded  # noqa: E402
from viewer.stores.registry import open_store, writer_of  # noqa: E402

compaction.counter_for("")("loaded once, and not in each process")

Line = dict[str, Any]
KINDS: dict[str, Callable[[Path], Agent]] = {
    "claude-code": ClaudeByHand, "codex": CodexByHand, "openclaw-files": OpenClawFilesByHand, "pi": PiByHand,
}  # fmt: skip
TURNS, SECONDS, PATIENCE = 5, 0.35, 30.0
HOLDER = f"pid={os.getpid()}:agent=palimpsest:nonce=1"
PAUSES = {"rarely": 0.05, "steadily": 0.004, "fast": 0.0}
BURST, MOST = 150, 2_000  # lines of one that writes as fast as it can, at once and in all
_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(["tests.faults.beside"])


# -- the client --------------------------------------------------------------------------------------------------------


def write_beside(told: Connection, kind: str, path: Path, before: str, seed: int) -> None:
    """Append lines behind the record `before` until told to end; then tell how many."""
    chance, written = random.Random(seed), 0
    pause = PAUSES[chance.choice([*PAUSES])]
    while not told.poll():
        for _ in range(min(1 if pause else chance.randint(1, BURST), MOST - written)):
            line, before = line_of(kind, written, before)
            with path.open("ab", buffering=0) as file:
                file.write(json.dumps(line).encode() + b"\n")
            written += 1
        time.sleep(chance.uniform(0, 2 * pause or 0.1))
    told.send(written)


def line_of(kind: str, serial: int, before: str) -> tuple[Line, str]:
    """A message as this client writes one, behind the record `before`; and its own id."""
    message = {"role": "assistant" if serial % 2 else "user", "content": f"serial {serial}."}
    made, stamp = f"{serial:08x}", "2026-11-27T10:00:00.000Z"
    if kind == "codex":
        [item] = items(message)
        line = {"timestamp": stamp, "ordinal": 10_000 + serial, "type": "response_item", "payload": item}
        return line | {"serial": serial}, ""
    if kind == "claude-code":
        made = f"00000000-0000-4000-8000-0000{made}"
        around = {"uuid": made, "parentUuid": before, "isSidechain": False, "timestamp": stamp, "serial": serial}
        return record(message) | around, made
    line = {"type": "message", "id": made, "parentId": before, "timestamp": stamp, "message": said(message)}
    return line | {"serial": serial}, made


# -- we ----------------------------------------------------------------------------------------------------------------


def change(told: Connection, url: str, session_id: str, seed: int) -> None:
    """Change the session in every way, and tell of each how it ended, until told to end."""
    pi_presence.QUIET_SECONDS = 0.0  # it would see that the file was written to
    chance, ours = random.Random(seed), Ours(url, session_id)
    ways = [ours.compact, ours.compact, ours.compact, ours.undo, ours.undo, ours.redo, ours.branch]
    while not told.poll():
        way = chance.choice(ways)
        try:
            done = way(chance)
        except StoreError as problem:
            done = problem.code
        told.send(f"{way.__name__}: {done}")


class Ours:
    """The changes of one session. Each says how it ended, and raises StoreError."""

    def __init__(self, url: str, session_id: str) -> None:
        self.store, self.session_id = Store("agent", url, "configured"), session_id
        self.writer, self.made = writer_of(self.store), list[Json]()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self.writer.hold(self.session_id, HOLDER), self.writer.hold_turn(self.session_id, HOLDER):
            yield

    def compact(self, chance: random.Random) -> str:
        with self._locked():
            with open_store(self.store) as reader:
                basis = planning.read_basis(reader, self.session_id)
            strategy = STRATEGIES[chance.choice(["summary", "summary", "prune"])]
            policy = compaction.Policy(keep_last=4, tail_only=basis.tail_only, handoff="hermes")
            try:
                plan = strategy.plan(list(map(message_of, basis.sent)), policy, compaction.counter_for(""))
            except compaction.NothingToCompact as refused:
                return refused.code
            edits = candidate.edits_of(basis, strategy.apply(plan, "## Goal\nFinish."))
            made = self.writer.apply(
                self.session_id, basis.token, edits, mode="in_place", holder=HOLDER, now=time.time()
            )
            self.made.append(made.receipt)
        return "done"

    def undo(self, _: random.Random) -> str:
        with self._locked():
            with open_store(self.store) as reader:
                boundaries = history(reader, self.session_id).boundaries
                if not boundaries:
                    return "nothing there"
                plan = reader.undo_plan(self.session_id, boundaries[-1])
            if plan.refusal:
                return "refused"
            self.writer.undo(plan, holder=HOLDER)
        return "done"

    def redo(self, chance: random.Random) -> str:
        if not self.made:
            return self.compact(chance)
        with self._locked():
            self.writer.redo(self.session_id, self.made[-1], holder=HOLDER)
        return "done"

    def branch(self, _: random.Random) -> str:
        with open_store(self.store) as reader:
            ids = [row.id for row in reader.live(self.session_id)]
        self.writer.branch(self.session_id, ids, now=time.time())
        return "done"


def history(reader: Reader, session_id: str) -> Any:
    return reader.index(session_id, Recorded(), reader.change_token(session_id))


# -- rounds ------------------------------------------------------------------------------------------------------------


class Round:
    """One session with its client and with us."""

    def __init__(self, kind: str, place: Path, seed: int) -> None:
        self.kind, self.chance, self.counts = kind, random.Random(seed), Counter[str]()
        self.agent = KINDS[kind](place / f"home{seed}")
        self.agent.write("s", talk(TURNS))
        self.session_id = self.agent.id_of("s")
        root = Path(self.agent.url.split("://", 1)[1])
        [self.path] = [each for each in root.rglob("*.jsonl") if self.session_id in each.name]
        self.before = self.path.read_bytes()

    def run(self) -> list[str]:
        """Its faults."""
        client, of_client = self._started(write_beside, self.kind, self.path, self._end())
        us, of_us = self._started(change, self.agent.url, self.session_id)
        if self.chance.random() < 0.7:
            of_us.poll(PATIENCE)  # the first change takes longest
            time.sleep(self.chance.uniform(0, SECONDS))
            us.kill()
            self._count(of_us)
            us.join()
            self.counts["kills"] += 1
            us, of_us = self._started(change, self.agent.url, self.session_id)
        of_us.poll(PATIENCE)
        time.sleep(self.chance.uniform(0, SECONDS))
        of_us.send("end")
        of_client.send("end")
        written = int(of_client.recv())
        client.join()
        us.join()
        self._count(of_us)
        self.counts["lines of the client"] += written
        return [*self._lost(written), *self._unreadable(written)]

    def _started(self, what: Callable[..., None], *given: Any) -> tuple[Any, Connection]:
        ours, theirs = _FORKING.Pipe()
        process = _FORKING.Process(target=what, args=(theirs, *given, self.chance.randrange(1 << 30)))
        process.start()
        theirs.close()
        return process, ours

    def _count(self, of_us: Connection) -> None:
        try:
            while of_us.poll(PATIENCE):
                self.counts[str(of_us.recv())] += 1
        except (EOFError, ConnectionError):
            pass

    def _end(self) -> str:
        """The record that the client goes on from."""
        if self.kind == "codex":
            return ""
        lines = objects(self.before)
        return str(resumed(lines)[-1]["uuid"] if self.kind == "claude-code" else lines[-1]["id"])

    def _lost(self, written: int) -> list[str]:
        data = self.path.read_bytes()
        found = [line["serial"] for line in objects(data) if "serial" in line]
        faults = (
            [] if found == [*range(written)] else [f"{written} lines, of which {len(found)} are there: {found[:9]}"]
        )
        return faults if data.startswith(self.before) else [*faults, "what was there before is another"]

    def _unreadable(self, written: int) -> list[str]:
        pi_presence.QUIET_SECONDS = 0.0
        told, ours = [f"serial {each}." for each in range(written)], Ours(self.agent.url, self.session_id)
        faults = []
        if told and said_in(self._context())[-1:] != told[-1:]:
            faults.append("the newest line is not in context")
        while (ended := ours.undo(self.chance)) == "done":
            self.counts["undone at the end"] += 1
        if ended != "nothing there":
            faults.append(f"an undo is {ended}")
        context = self._context()
        if said_in(context) != told or context[: len(talk(TURNS))] != heard(talk(TURNS)):
            faults.append(f"{len(context)} messages in context, of {written} and {len(talk(TURNS))}")
        return faults

    def _context(self) -> list[tuple[str, Any]]:
        with open_store(Store("agent", self.agent.url, "configured")) as reader:
            return [(row.role, row.content) for row in reader.live(self.session_id)]


def said_in(context: list[tuple[str, Any]]) -> list[str]:
    """What the client wrote beside us, of what is in context."""
    texts = [content if isinstance(content, str) else json.dumps(content) for _, content in context]
    return [text for text in texts if text.startswith("serial ")]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults beside")
    parser.add_argument("--kind", choices=[*KINDS], default="claude-code")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    options = parser.parse_args(arguments)
    counts, wrong, started = Counter[str](), 0, time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        for seed in range(options.seed, options.seed + options.rounds):
            made = Round(options.kind, Path(home), seed)
            faults = made.run()
            counts += made.counts
            wrong += bool(faults)
            for fault in faults:
                print(f"seed {seed}: {fault}", flush=True)
    print(f"{options.kind}: {options.rounds} rounds, {wrong} with faults, {time.monotonic() - started:.0f} s")
    for what, count in counts.most_common():
        print(f"  {count:8,} {what}")
    return 1 if wrong else 0
