"""How much a summary made without a model keeps of a transcript that went on: measured for the bench and the tests."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import compaction
from compaction import Message, NothingToCompact, Policy, Survival, offline
from compaction import messages as m
from compaction.anchors import Anchor, anchors_in, hindsight, survival
from compaction.folders import spelled_out
from compaction.handoff import FLAG, is_handoff
from compaction.llm.digest import request_of
from compaction.redaction import redact_all
from compaction.tokens import Counter

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
DATABASES = sorted(DATA.glob("hermes-v*.db"))
BUDGET = 2_000  # tokens of the summaries measured
CUTS = (0.35, 0.5, 0.65, 0.8, 0.9)  # where in a transcript it is compacted; what follows is hindsight
WINDOWS = (200_000, 40_000)  # context windows: what is kept beside the summary is a share of them
LONG = 200  # messages; of a shorter transcript a summary of 2,000 tokens holds nearly everything


@dataclass(frozen=True)
class Measured:
    """One compaction of a part of a transcript.

    `hindsight` are the anchors that were used later, `spoken` those in the words of people and replies, `constraints`
    the sentences of people that bind: which of them stand in summary + kept messages.
    """

    title: str
    cut: float
    window: int
    messages: int
    tokens: int
    seconds: float
    hindsight: Survival
    spoken: Survival
    constraints: Survival


def measure(title: str, messages: list[Message], cut: float, window: int, count: Counter) -> Measured | None:
    """Compact the transcript's first part; None if the rules leave nothing to compact there."""
    split = int(len(messages) * cut)
    try:
        plan = compaction.plan(messages[:split], Policy(context_window=window), count)
    except NothingToCompact:
        return None
    request = replace(request_of(plan), budget_tokens=BUDGET)
    started = time.perf_counter()
    summary = offline.summarize(request)
    seconds = time.perf_counter() - started
    left = f"{spelled_out(summary)}\n{visible_text(plan.messages[i] for i in (*plan.head, *plan.tail))}"
    middle = [plan.messages[i] for i in plan.middle]
    spoken = anchors_in(middle, spoken=True)
    return Measured(
        title, cut, window, len(middle), count(summary), seconds,
        hindsight(middle, left, messages[split:]),
        survival((anchor for anchor in spoken if not _binds(anchor)), left),
        survival(filter(_binds, spoken), left),
    )  # fmt: skip


def visible_text(messages: Iterable[Message]) -> str:
    """All that a model reads of messages but credentials: text, results and the arguments of calls, a line each."""
    pieces = ((m.text(m.body(row)), *(call.arguments for call in m.calls(row))) for row in messages)
    return "\n".join(redact_all([piece for row in pieces for piece in row if piece]))


def _binds(anchor: Anchor) -> bool:
    return anchor.kind == "constraint"


def long_transcripts(paths: Iterable[Path]) -> Iterator[tuple[str, list[Message]]]:
    """Title and messages of the long sessions in databases of Hermes, each message once, without handoffs."""
    for path in paths:
        with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as con:
            con.row_factory = sqlite3.Row
            for session_id, title in con.execute("SELECT id, title FROM sessions").fetchall():
                rows = con.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY id", [session_id]).fetchall()
                messages = list({_identity(row): message(row) for row in reversed(rows)}.values())[::-1]
                messages = [row for row in messages if not is_handoff(row)]
                if len(messages) >= LONG:
                    yield f"{path.stem.removeprefix('hermes-')} {title}", messages


def _identity(row: sqlite3.Row) -> tuple[object, ...]:
    """Equal for a message and the copies a compaction made of it."""
    return tuple(row[key] for key in ("role", "content", "tool_calls", "tool_call_id", "timestamp"))


def message(row: sqlite3.Row) -> Message:
    """A row of Hermes' `messages` as the engine reads it."""
    found: Message = {"role": row["role"], "content": row["content"]}
    if isinstance(row["content"], str) and row["content"].startswith("\0json:"):
        found["content"] = json.loads(row["content"][6:])
    if row["tool_calls"]:
        found["tool_calls"] = json.loads(row["tool_calls"])
    if row["tool_call_id"]:
        found["tool_call_id"] = row["tool_call_id"]
    if FLAG in row.keys() and row[FLAG]:  # noqa: SIM118  (a sqlite3.Row iterates over values)
        found[FLAG] = True
    return found
