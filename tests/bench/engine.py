"""`make bench`, the engine's part: how much a summary without a model keeps, and how long the engine takes.

The long transcripts are sample data, and the large one is the session of 20,000 messages that `fill_store.py` makes
(CONTRIBUTING.md says where both are). Where they are absent, that part is left out, and the output says so. Nothing is
asserted.
"""

from __future__ import annotations

import gc
import json
import random
import sqlite3
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import compaction
from compaction import Message, Policy, counter_for, offline, pruning
from compaction.llm.digest import request_of
from compaction.loss.report import survival_of
from compaction.tokens import Counter
from tests.compaction.shared_data import message
from tests.compaction.transcripts import compacted_by, tool_turn

REPEATS = 3
LENGTHS = (25_000, 50_000, 100_000, 200_000)  # messages, each twice as many as before


def main(large: Path | None) -> None:
    """Print all of it; `large` is the store with a session of 20,000 messages, if there is one."""
    count = counter_for("gpt-5")
    count("load the rank file")
    _counting(count)
    if large is not None:
        _large(list(_largest_session(large)), count)
        _memory(large)
    _doubling()
    _losses()


def _losses() -> None:
    """The loss report of 20 MB: listings and JSON that tools printed, and talk about them."""
    messages = large_talk()
    size = sum(len(str(row["content"])) for row in messages)
    kept = messages[-40:]
    print(f"\nwhat became of the details, {len(messages):,} messages, {size / 1e6:.1f} MB")
    _time("  of all of them", lambda: survival_of(messages, range(len(messages) - 40), kept))


def large_talk(turns: int = 2_000) -> list[Message]:
    """About 20 MB, the same each time: a question, a call with 10 kB of output, an answer."""
    dice = random.Random(20)
    names = [f"{a}_{b}" for a in ("load", "save", "find", "parse", "send") for b in ("row", "page", "order", "user")]
    code = [f"{n}:    def {dice.choice(names)}_{n % 97}(self, value):  # line {n % 300}" for n in range(2_000)]
    messages: list[Message] = []
    for i in range(turns):
        order = f"B-{dice.randint(10_000, 99_999)}"
        if i % 2:
            start = dice.randrange(1_800)
            output = "\n".join(code[start : start + 190])
        else:
            rows = [{"order": f"B-{dice.randint(10_000, 99_999)}", "pieces": n, "state": "sent"} for n in range(200)]
            output = json.dumps(rows)
        call = {"id": f"c{i}", "function": {"name": "find", "arguments": json.dumps({"order": order})}}
        messages += [
            {"role": "user", "content": f"Where is {order}? It was to reach Ghent on {i % 28 + 1} May."},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{i}", "content": output},
            {"role": "assistant", "content": f"Order {order} left with {i % 90} pieces; see src/orders_{i % 50}.py."},
        ]
    return messages


def _counting(count: Counter) -> None:
    from compaction import tokens

    text = "\n".join(f"def f_{i}(x):\n    return x + {i}  # a tool printed this line" for i in range(20_000))
    plain = tokens.load("o200k_base")
    print(f"\ntoken counting, {len(text) / 1e6:.1f} MB")
    _time("  tiktoken itself", lambda: len(plain.encode_ordinary(text)))
    _time("  ours", lambda: count(text))


def _large(messages: list[Message], count: Counter) -> None:
    size = sum(len(str(row.get("content") or "")) for row in messages)
    print(f"\nengine on {len(messages):,} messages, {size / 1e6:.1f} MB of text")
    policy, made = Policy(), {}

    def step(name: str, do: Callable[[], Any]) -> None:
        made[name] = do()

    _time("  plan", lambda: step("plan", lambda: compaction.plan(messages, policy, count)))
    _time("  request", lambda: step("request", lambda: request_of(made["plan"])))
    _time("  offline summary", lambda: step("summary", lambda: offline.summarize(made["request"])))
    _time("  apply", lambda: step("result", lambda: compaction.apply(made["plan"], made["summary"])))
    _time("  plan + request + offline + apply", lambda: compacted_by(messages, policy, offline.summarize, count))
    _time("  mask", lambda: pruning.compact(messages, policy, count))
    _time("  digest for a model", lambda: len(request_of(made["plan"]).digest))
    _time("  report: anchors that survived", lambda: made["result"].report.plan and _survived(made["result"]))
    print(f"    summary of {count(made['summary']):,} tokens")


def _survived(result: compaction.Result) -> float:
    return compaction.loss_report(result).share


def _memory(large: Path) -> None:
    """Peak of what Python allocates beyond the input, in a process of its own: tracing makes everything slower."""
    program = f"from pathlib import Path; from tests.bench import engine as b; b.print_peak(Path({str(large)!r}))"
    subprocess.run([sys.executable, "-c", program], check=True)


def print_peak(large: Path) -> None:
    """Print the memory that a compaction without a model takes beyond its input."""
    messages, count = list(_largest_session(large)), counter_for("gpt-5")
    count("load the rank file")
    gc.collect()
    tracemalloc.start()
    compacted_by(messages, Policy(), offline.summarize, count)
    print(f"  peak memory over the input: {tracemalloc.get_traced_memory()[1] / 1e6:.0f} MB", flush=True)


def _largest_session(path: Path) -> Iterator[Message]:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as con:
        con.row_factory = sqlite3.Row
        largest = "SELECT session_id FROM messages GROUP BY session_id ORDER BY COUNT(*) DESC LIMIT 1"
        rows = con.execute(f"SELECT * FROM messages WHERE session_id = ({largest}) AND active = 1 ORDER BY id")
        yield from map(message, rows)


def _doubling() -> None:
    print("\ndouble the messages: seconds, and times what half as many took")
    print(f"{'messages':>12} {'plan':>15} {'offline':>15} {'apply':>15} {'mask':>15}")

    def count(text: str) -> int:
        return (len(text) + 3) // 4

    before: list[float] = []
    for length in LENGTHS:
        messages = [row for i in range(length // 5) for row in tool_turn(i, size=200, parallel=2)]
        taken = _steps(messages, count)
        ratios = [f"x{now / was:4.2f}" for now, was in zip(taken, before, strict=True)] if before else [""] * len(taken)
        print(
            f"{len(messages):12,} " + " ".join(f"{t:8.3f}s {r:>5}" for t, r in zip(taken, ratios, strict=True)),
            flush=True,
        )
        before = taken


def _steps(messages: list[Message], count: Counter) -> list[float]:
    """Seconds of plan, offline summary, apply and mask."""
    times = [time.perf_counter()]

    def done() -> None:
        times.append(time.perf_counter())

    plan = compaction.plan(messages, Policy(), count)
    done()
    summary = compaction.summarize(plan, offline.summarize)
    done()
    compaction.apply(plan, summary)
    done()
    pruning.compact(messages, Policy(), count)
    done()
    return [end - start for start, end in pairwise(times)]


def _time(what: str, do: Callable[[], object]) -> None:
    taken: list[float] = []
    for _ in range(REPEATS):
        gc.collect()
        started = time.perf_counter()
        do()
        taken.append(time.perf_counter() - started)
    print(f"{what:58} {median(taken) * 1000:7.1f}ms {max(taken) * 1000:7.1f}ms", flush=True)
