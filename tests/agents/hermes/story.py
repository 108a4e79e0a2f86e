"""One story: a session of the real agent class, told step by step and judged after each.

The agent is its own `AIAgent`: its memory, persistence, compressor, commit, rewind; only its model and its clock are
the story's. We compact and undo in between as a run does.
"""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import compaction
from compaction import messages as engine
from tests.agents.hermes import ours
from tests.agents.hermes.author import Author
from tests.agents.hermes.real import Hermes, HermesError
from tests.agents.hermes.told import (
    Fault,
    Ledger,
    Row,
    Said,
    carried,
    carried_by_time,
    history_faults,
    live_text,
    lost_by_the_agent,
    row_of,
    undo_faults,
)
from tests.factories.histories import boundary_of
from viewer.stores.errors import StoreError
from viewer.stores.hermes import messages as hermes_messages
from viewer.stores.hermes import undo
from viewer.stores.hermes.codec import decode_content
from viewer.stores.hermes.known import KnownBlock, KnownUndone
from viewer.stores.hermes.reader import open_store
from viewer.stores.hermes.repeats import AT_ONCE
from viewer.stores.hermes.undo import Undoing, check_undo, undoing_of_boundary
from viewer.stores.message import HistoryMessage, message_of, parted
from viewer.stores.transcript import TranscriptIndex

SESSION = "story"
SHAPES = (
    "## Goal\nGo on with {0}.\n\n## Completed Actions\n1. RAN the steps so far.",
    "## Progress {0}\nAll of it.",
    "- {0} first\n- then the rest",
    "So far everything about {0} went well and nothing is open.",
    "```\n{0}\n```",
)
Step = tuple[int, str]  # its number, by which it draws lots, and its name


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
    noted: KnownUndone = KnownUndone()  # when it was undone


class Story:
    """A session being told; `ledger` is what was said in it."""

    def __init__(self, hermes: Hermes, path: Path, seed: int, session_id: str = SESSION) -> None:
        self.hermes, self.path, self.seed, self.session_id = hermes, path, seed, session_id
        self.random = random.Random(seed)
        self.author = Author(seed)
        self.fast = self.random.random() < 0.3  # everything within seconds, as a scripted agent does it
        self.ahead = -80_000.0
        self.ledger = Ledger()
        self.compacted: list[Compacted] = []
        self.told: list[Step] = []
        self.refusals: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.wanted: list[int] = []  # rows that should be live after the last undo
        self.before_undo = b""  # the file before it
        self.undone = 0  # the handoff that it took back

    # -- telling

    def plan(self, limit: int) -> list[Step]:
        """So many steps, drawn by the seed."""
        talk = 0.1 if self.author.silent else 1
        rewrite = 0 if self.author.alike else 0.4  # of words that are alike none can be told from a merged row
        weights = {
            "talk": 3 * talk, "work": 4 * talk, "work_on": 3, "double": 3 * talk, "loose": talk, "agent_compacts": 7,
            "we_compact": 2, "undo": 4, "take_back": 2 * talk, "load": 2, "elsewhere": 0.6 * talk, "rewrite": rewrite,
        }  # fmt: skip
        return list(enumerate(self.random.choices(list(weights), list(weights.values()), k=limit)))

    def tell(self, steps: Iterable[Step], *, judge_history: bool = True) -> list[Fault]:
        """Tell these steps, each drawing by its own number; the faults of the first that has any."""
        self._draw(-1)
        self._wait()
        self.hermes.create_session(self.session_id, model="test-model")
        with closing(sqlite3.connect(self.path)) as con:
            self.named = "message_uid" in [column[1] for column in con.execute("PRAGMA table_info(messages)")]
        self.hermes.db("set_session_title", self.session_id, self.session_id)
        self._hold()
        self.work_on() if self.author.silent else self.work()
        for number, name in steps:
            self._draw(number)
            self.told.append((number, name))
            faults = getattr(self, name)() or (self.history_faults() if judge_history else [])
            if faults:
                return list(faults)
        return []

    def _draw(self, number: int) -> None:
        self.random = self.author.random = random.Random(f"{self.seed}.{number}")

    def _wait(self) -> None:
        self.ahead += self.random.uniform(AT_ONCE, 0.5) if self.fast else self.random.uniform(1, 400)
        self.now: float = self.hermes.ask("clock", ahead=self.ahead)

    def _hold(self) -> None:
        budget = self.random.choice((100, 300, 800, 2000))
        protected = self.random.choice((3, 8, 20))
        self.hermes.ask("hold", session_id=self.session_id, tail_tokens=budget, protect_last=protected)

    # -- saying

    def talk(self) -> None:
        for _ in range(self.random.randint(1, 4)):
            self._say([self.author.user(), self.author.reply()])

    def work(self) -> None:
        """A request and its steps, finished or not."""
        self._say([self.author.user()])
        self.work_on()
        if self.random.random() < 0.5:
            self._say([self.author.reply()])

    def work_on(self) -> None:
        for _ in range(self.random.choice((1, 2, 4, 8, 20))):
            self._say(self.author.step())

    def double(self) -> None:
        """Several messages of the user in a row, mostly answered."""
        for _ in range(self.random.randint(2, 3)):
            self._say([self.author.user()])
        if self.random.random() < 0.3:
            self.hermes.ask("repair")
        if self.random.random() < 0.7:
            self._say(self.author.step() if self.random.random() < 0.5 else [self.author.reply()])

    def loose(self) -> None:
        self._say([self.author.user()])

    def elsewhere(self) -> None:
        """Another program appends a message; the agent hears of it now, or not."""
        told = [self.author.user(), *([self.author.reply()] if self.random.random() < 0.5 else [])]
        self._persist("say_elsewhere", told)
        if self.random.random() < 0.5:
            self.load()

    def _say(self, told: list[Said]) -> None:
        self._persist("say", told)

    def _persist(self, how: str, told: list[Said]) -> None:
        self._wait()
        before = {row.id for row in self.rows()} if any(not each.has_token for each in told) else None
        self.hermes.ask(how, messages=list(map(self.author.wire, told)))
        self.ledger.said += told
        if before is not None:
            written = [row for row in self.rows() if row.id not in before]
            places = range(len(self.ledger.said) - len(told), len(self.ledger.said))
            alike = [
                (place, row)
                for place, row in zip(places, written, strict=True)
                if not self.ledger.said[place].has_token
            ]
            self.ledger.names |= {row.names[0]: place for place, row in alike if row.names}
            self.ledger.times |= {f"{row.role} {row.time}": place for place, row in alike}

    # -- compacting

    def agent_compacts(self) -> list[Fault]:
        self._wait()
        if self.random.random() < 0.6:
            self.load()
        late = [self.author.user(told_apart=True)] if self.random.random() < 0.08 else []
        mark = f"m{len(self.compacted):05d}z"
        summary = self.random.choice(SHAPES).format(mark) if self.random.random() < 0.5 else None
        stored = {row.id for row in self.rows()}
        asked = {"summary": summary, "late": list(map(self.author.wire, late))}
        before = self._asked_to_compact(asked)
        if late and set(before) - stored:
            self.ledger.said += late
        by_id = {row.id: row for row in self.rows()}
        live = self.rows(live=True)
        if {row.id for row in live} == set(before):
            self.counts["the agent did not compact"] += 1
            return []
        summaries = {row.text.strip() for row in live if live_text(row.text) != row.text}
        if summaries <= {by_id[row_id].text.strip() for row_id in before}:
            self.counts["the agent wrote its rows anew, without a summary"] += 1
            return []
        self.counts["the agent compacted"] += 1
        made = self._compacted("agent", [by_id[row_id] for row_id in before])
        self.ledger.lost |= lost_by_the_agent(made.before, list(by_id.values()), self.ledger)
        return self._told_as_boundary(made, mark)

    def _asked_to_compact(self, asked: dict[str, Any]) -> list[int]:
        """Let the agent compact; the rows that were live when its summary came."""
        ids: list[int] = self.hermes.ask("compact_with", **asked)
        return ids

    def _told_as_boundary(self, made: Compacted, mark: str) -> list[Fault]:
        """The newest boundary is the compaction just made, and shows its summary."""
        live = self.rows(live=True)
        ids = {row.id for row in live}
        newest = [handoff_id for handoff_id in self.boundaries() if handoff_id in ids]
        if not newest:
            return [Fault("no boundary", "the agent compacted and History does not say so")]
        with open_store(ours.store_of(self.path)) as reader:
            rows = hermes_messages.read_rows(reader, newest)
        telling = [row_id for row_id in newest if mark in parted(rows[row_id]).summary]
        made.handoff_id = [*newest, *telling][-1]
        if telling or not any(mark in row.text for row in live):  # the model failed, or its summary was refused
            return []
        return [Fault("summary not told", f"{mark} is in none of {len(newest)} boundaries")]

    def we_compact(self) -> None:
        self._wait()
        strategy = self.random.choice(("summary", "summary", "prune"))
        before = self.rows(live=True)
        try:
            done = ours.compact_at(self.path, self.session_id, self.now, strategy, self.random.choice((2_000, 8_000)))
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
        return replace(ours.known_of(done), run=len(self.compacted))

    # -- taking back

    def undo(self) -> list[Fault]:
        """Take back a compaction as the page does."""
        made = self._standing()
        if made is None:
            return []
        self._wait()
        history, store = self.history(), ours.store_of(self.path)
        if made.undoing is None and made.handoff_id not in [each.handoff_id for each in history.boundaries]:
            return self._refused(made, "no boundary any more")
        undoing = made.undoing or undoing_of_boundary(self.session_id, boundary_of(history, made.handoff_id))
        with open_store(store) as reader:
            refusal = check_undo(reader, undoing).refusal
        if refusal:
            return self._refused(made, refusal)
        expected = self._expected(made)
        self.wanted, self.undone = [row.id for row in expected], made.handoff_id
        with closing(sqlite3.connect(self.path)) as con:
            self.before_undo = con.serialize()
        try:
            outlook = ours.undo(store, undoing)
        except StoreError as refused:
            return self._refused(made, f"{type(refused).__name__}: {refused}")
        made.undone, made.noted = True, KnownUndone(**undo.undo_receipt(undoing, outlook))
        self.ledger.undone |= set(undoing.block_ids)
        made.known = replace(made.known, undone=True) if made.known else None
        self.ledger.back -= self._summarised_again()
        self.counts[f"undone ({made.by})"] += 1
        faults = undo_faults(expected, self.rows(live=True), self.ledger)
        self.load()
        return faults

    def _standing(self) -> Compacted | None:
        """A compaction that was not taken back, mostly the newest."""
        standing = [each for each in self.compacted if not each.undone]
        if not standing:
            return None
        return standing[-1] if self.random.random() < 0.8 else self.random.choice(standing)

    def _expected(self, made: Compacted) -> list[Row]:
        """The rows before the compaction without those taken back since, and the live ones of what was said since."""
        kept = [
            row
            for row, places in zip(made.before, made.carried, strict=True)
            if not places or not set(places) <= self.ledger.back
        ]
        live = self.rows(live=True)
        since = [
            row
            for row, places in zip(live, carried(live, self.ledger), strict=True)
            if places and max(places) >= made.said
        ]
        return [*kept, *since]

    def _summarised_again(self) -> set[int]:
        """What our compactions summarised that are in context. It was taken back at most out of a block of an agent
        that did not know of them; with that block undone, the summary in context stands for it again.
        """
        live = {row.id for row in self.rows(live=True)}
        return {
            at
            for each in self.compacted
            if each.known and each.handoff_id in live
            for row, places in zip(each.before, each.carried, strict=True)
            if row.id not in each.known.copies.values()
            for at in places
        }

    def _refused(self, made: Compacted, why: str) -> list[Fault]:
        newest = made is [each for each in self.compacted if not each.undone][-1]
        self.refusals[f"{made.by}{'' if newest else ', older'}: {why}"] += 1
        return []

    def take_back(self) -> None:
        """`/undo` in the agent."""
        self._wait()
        live = self.rows(live=True)
        carries = carried_by_time(live, self.rows(), self.ledger)
        try:
            self.hermes.ask("rewind", turns=self.random.choice((1, 1, 2, 3)))
        except HermesError as refused:
            self.counts[f"not taken back: {str(refused)[:40]}"] += 1
            return
        after = self.rows(live=True)
        new = [row for row in after if row.id not in carries]
        left = {at for row in after for at in carries.get(row.id, ())}
        left |= {at for places in carried(new, self.ledger) for at in places}
        back = {at for places in carries.values() for at in places} - left
        self.ledger.back |= back
        in_steps = not self.named and not after and any(not each.undone for each in self.compacted)
        at_once = self.named and not left and any(live_text(row.text) != row.text for row in live)
        if (in_steps or at_once) and not self._tells_a_take_back():
            self.ledger.untold |= self.ledger.back

    def _tells_a_take_back(self) -> bool:
        """Whether rows tell that a compaction was taken back with all that was in context, and not undone: it marked
        some as superseded, which an undo makes live again, and they do not begin where a take-back may.
        """
        made = [each for each in self.compacted if not each.undone][-1:]
        if any(each.by == "we" for each in made):
            return True
        out = {row.id for row in self.rows() if row.state == "out"}
        marked = [row for each in made for row in each.before if row.id in out]
        return self.named and bool(marked) and marked[0].role != "user"

    def load(self) -> None:
        """The agent reads its transcript: a new one, or the same before a turn."""
        if self.random.random() < 0.4:
            self._hold()
        else:
            self.hermes.reload()

    def rewrite(self) -> None:
        """Live rows are deleted and written anew: what the agent's memory lacks is gone, if nothing else carries it."""
        self._wait()
        before = self._alive()
        self.hermes.ask("rewrite")
        self.ledger.lost |= before - self._alive()
        self.load()

    # -- reading

    def rows(self, *, live: bool = False) -> list[Row]:
        """The stored rows, or those in context."""
        sql = f"SELECT * FROM messages WHERE session_id = ? {'AND active = 1' if live else ''} ORDER BY id"
        with closing(sqlite3.connect(self.path)) as con:
            con.row_factory = sqlite3.Row
            stored = [dict(row) for row in con.execute(sql, [self.session_id])]
        return [row_of({**row, "content": decode_content(row["content"])}) for row in stored]

    def _alive(self) -> set[int]:
        """What some row carries that is live or under a boundary."""
        rows = [row for row in self.rows() if row.state != "out"]
        return {at for places in carried(rows, self.ledger) for at in places}

    def history(self) -> TranscriptIndex:
        known = [each.known for each in self.compacted if each.known]
        undone = {each.handoff_id: each.noted for each in self.compacted if each.undone}
        with open_store(ours.store_of(self.path)) as reader:
            return hermes_messages.read_history(reader, self.session_id, known, undone)

    def boundaries(self) -> list[int]:
        """The handoffs of the compactions that History shows, oldest first."""
        return [each.handoff_id for each in self.history().boundaries]

    def history_faults(self) -> list[Fault]:
        history = self.history()
        with open_store(ours.store_of(self.path)) as reader:
            shown = hermes_messages.history_messages(reader, history.items)
        messages = [each for each in shown if isinstance(each, HistoryMessage)]
        rows = list(map(_shown_row, messages))
        faults = history_faults(rows, self.rows(), self.ledger)
        for each, places in zip(messages, carried(rows, self.ledger), strict=True):
            if each.row.role == "user" and places and not _is_typed(each):
                faults.append(Fault("typed words told as the agent's", f"row {each.row.id} {str(each.content)[:60]!r}"))
        return faults


def _is_typed(shown: HistoryMessage) -> bool:
    """As a page tells it, of a row's own words."""
    kind = "" if shown.row.flagged else str(shown.row.extra.get("display_kind") or "")
    return engine.is_typed(
        {**message_of(replace(shown.row, flagged=False, content=shown.content)), "display_kind": kind}
    )


def _shown_row(shown: HistoryMessage) -> Row:
    row = shown.row
    told = {"id": row.id, "role": row.role, "content": shown.content, "timestamp": row.timestamp, **row.extra}
    return row_of(told | {"tool_calls": row.tool_calls, "tool_call_id": row.tool_call_id})
