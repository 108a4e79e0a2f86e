"""Five compactions in a row, further messages between them: is the task there, are the standing instructions?

The goal is the first thing that a person asks for; where a transcript is the work of a day or begins in its middle, a
goal of ours is put in front. Two standing instructions of ours are said at a tenth and a third of the way. Statements
are compared with one compaction at the place of the fifth: those of all messages up to there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.bench.quality.constraints import stands
from tests.bench.quality.engine import Engine, tokens
from tests.bench.quality.figures import Figure, total
from tests.bench.quality.messages import Message, whole_until
from tests.bench.quality.rows import TIMES, in_a_row, stages
from tests.bench.quality.spoken import Left, content_words, statements
from tests.bench.quality.transcripts import Transcript
from tests.bench.quality.ways import OWN, Way, all_ways

GOAL = {
    "chat": "Work through the requests of this desk today, and list all refunds over 200 dollars for my report.",
    "coding": "Bring these repositories to the point where I can show them on Thursday, one task after another.",
}
INSTRUCTIONS = ("Never give out a booking code by mail.", "Always tell me the price before you change anything.")
_FIRST = 0.4


@dataclass(frozen=True)
class Told:
    """A transcript with its goal and its standing instructions."""

    messages: list[Message]
    goal: str


def figures(transcripts: Sequence[Transcript], engine: Engine, *, others: bool = True) -> Iterator[Figure]:
    """Goals and instructions that are there after five, and statements after five and after one, for each way."""
    goals: dict[str, list[tuple[int, int]]] = defaultdict(list)
    instructions: dict[str, list[tuple[int, int]]] = defaultdict(list)
    five: dict[str, list[tuple[int, int]]] = defaultdict(list)
    sizes: dict[str, int] = defaultdict(int)
    one: list[tuple[int, int]] = []
    with all_ways(engine, others) as ways:
        for told in map(with_goal, transcripts):
            steps = stages(told.messages, _FIRST)
            until = [row for step in steps for row in step]
            said = statements(until)
            one.append(Left.of(engine.compact(until).left).share(said))
            sizes_of_engine = [0] * TIMES
            for name, way in ways.items():
                lefts = _lefts(steps, way(), sizes_of_engine)
                if name == OWN:
                    sizes_of_engine = [tokens(left) for left in lefts]
                left = lefts[-1]
                goals[name].append((has_goal(told.goal, left), 1))
                instructions[name] += [(stands(each, left), 1) for each in INSTRUCTIONS]
                five[name].append(Left.of(left).share(said))
                sizes[name] += tokens(left)
    yield total("statements after one, engine", one)
    for name, counted in five.items():
        yield total(f"goal there after five, {name}", goals[name])
        yield total(f"  instructions there, {name}", instructions[name])
        yield total(f"  statements there, {name}", counted)
        if name == OWN:
            yield Figure("  against one compaction", sum(kept for kept, _ in counted), _kept(one))
        yield Figure(f"  tokens left, {name}", sizes[name])


def with_goal(transcript: Transcript) -> Told:
    """The transcript with a goal in front, unless it has one of its own, and the instructions in it."""
    rows = list(transcript.messages)
    for share, instruction in reversed(list(zip((0.1, 0.33), INSTRUCTIONS, strict=True))):
        at = whole_until(rows, share)
        rows[at:at] = [{"role": "user", "content": instruction}, {"role": "assistant", "content": "Understood."}]
    if transcript.goal:
        return Told(rows, transcript.goal)
    goal = GOAL[transcript.kind]
    system = bool(rows) and rows[0]["role"] == "system"
    rows[system:system] = [{"role": "user", "content": goal}, {"role": "assistant", "content": "Will do."}]
    return Told(rows, goal)


def has_goal(goal: str, left: list[Message]) -> bool:
    """Whether the goal's content words, 80 % of them, stand in one line of what is left."""
    return bool(content_words(goal)) and Left.of(left).has(goal)


def _lefts(steps: list[list[Message]], way: Way, sizes: list[int]) -> list[list[Message]]:
    size = iter(sizes)
    return list(in_a_row(steps, lambda context: way(context, next(size))))


def _kept(counted: list[tuple[int, int]]) -> int:
    return max(sum(kept for kept, _ in counted), 1)
