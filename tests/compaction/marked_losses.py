"""What a reader would miss of transcripts, marked by reading, and how much of it a loss report tells.

`tests/data/losses/marked.tsv` names for each thing the message it stands in and the words that stand together where it
is still said. It is lost where no sentence that is left has all of them, and reported where an entry of the report has.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import compaction
from compaction import Message, Policy, Survival, offline
from compaction import messages as m
from compaction.loss.report import survival_of
from tests.compaction.coding import SESSIONS, session
from tests.compaction.shared_data import DATA, message
from tests.compaction.transcripts import count, handoff

MARKED = Path(__file__).resolve().parents[1] / "data" / "losses"
INVENTED = ("parser", "month")
_ROWS = {  # of hermes-v31.db
    "airline-416": "20260714_065627_8ed879",
    "airline-1558": "20260714_043320_a80629",
    "babyencryption": "20260714_205701_82846a",
    "i-got-id": "20260715_010311_44169a",
    "timedelta": "20260715_051133_0a1b5d",
}
POOR = "The work went on."  # a summary that keeps nothing
_WORD = re.compile(r"[^\W_]+")
_STEM = 5


class Mark(NamedTuple):
    """One thing a reader would miss."""

    half: str
    transcript: str
    message: int
    kind: str
    words: frozenset[str]


@dataclass(frozen=True)
class Told:
    """Of the marked things that are lost: those that a report tells, and those it does not."""

    survival: Survival
    reported: tuple[Mark, ...]
    silent: tuple[Mark, ...]


@cache
def marks() -> tuple[Mark, ...]:
    """All that were marked."""
    lines = (MARKED / "marked.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return tuple(Mark(half, name, int(at), kind, stems(words)) for half, name, at, kind, words in rows)


@cache
def transcript(name: str) -> list[Message]:
    """The messages of a transcript; none where it is not here."""
    if name in INVENTED:
        return [json.loads(line) for line in (MARKED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    if name not in _ROWS:
        path = next(SESSIONS.glob(f"{name}*.jsonl"), None)
        return session(path) if path else []
    path = DATA / "hermes-v31.db"
    if not path.exists():
        return []
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as con:
        con.row_factory = sqlite3.Row
        query = "SELECT * FROM messages WHERE session_id = ? AND active = 1 ORDER BY id"
        return [message(row) for row in con.execute(query, [_ROWS[name]])]


def poorly(messages: Sequence[Message]) -> tuple[Survival, set[int], list[Message]]:
    """Survival where next to nothing is kept, what was summarised, and what is left."""
    middle = set(range(1, len(messages) - 4))
    left = [messages[0], handoff(POOR), *messages[-4:]]
    return survival_of(messages, middle, left), middle, left


def summarised(messages: Sequence[Message], window: int) -> tuple[Survival, set[int], list[Message]]:
    """The same of a summary made without a model."""
    plan = compaction.plan(messages, Policy(context_window=window), count)
    result = compaction.apply(plan, compaction.summarize(plan, offline.summarize))
    return compaction.loss_report(result), {*result.report.summarised, *result.report.shortened}, result.messages


def told(name: str, found: tuple[Survival, set[int], list[Message]]) -> Told:
    """What a report tells of the marked things of a transcript."""
    survival, middle, left = found
    kept = [stems(line) for row in left for line in _lines(row)]
    entries = [(one.message, stems(f"{one.text} {one.line}")) for one in (*survival.lost_statements, *survival.lost)]
    lost = [
        mark
        for mark in marks()
        if mark.transcript == name and mark.message in middle and not any(mark.words <= each for each in kept)
    ]
    reported = [mark for mark in lost if any(mark.words <= words for _, words in entries)]
    return Told(survival, tuple(reported), tuple(mark for mark in lost if mark not in reported))


def stems(text: str) -> frozenset[str]:
    """The beginnings of its words."""
    return frozenset(word[:_STEM] for word in _WORD.findall(text.casefold()))


def _lines(row: Message) -> Iterator[str]:
    texts: Iterable[str] = (m.text(m.body(row)), *(call.arguments for call in m.calls(row)))
    return (line for text in texts for line in text.splitlines())
