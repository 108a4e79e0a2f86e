"""`make bench-quality`, or `python -m tests.bench.quality --only statements --half tuning`: one table, printed."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

from tests.bench.quality import (
    conformance_kit,
    constraints,
    five_compactions,
    lost_in_compaction,
    recall,
    second_compaction,
    size,
    statements,
    verdicts,
)
from tests.bench.quality.engine import Engine, Palimpsest
from tests.bench.quality.figures import Figure
from tests.bench.quality.transcripts import HALVES, SHARED, Half, parts, whole

YARDSTICKS: dict[str, Callable[[Half, Engine, bool], Iterator[Figure]]] = {
    "statements": lambda half, engine, others: statements.figures(whole(half), engine, others=others),
    "constraints": lambda half, engine, _: constraints.figures(parts(half)[:5], engine),
    "kit": lambda half, engine, _: conformance_kit.figures(half, engine),
    "lost": lambda half, engine, _: lost_in_compaction.figures(half, engine),
    "second": lambda half, engine, _: second_compaction.figures(whole(half), engine),
    "five": lambda half, engine, others: five_compactions.figures(parts(half), engine, others=others),
    "verdicts": lambda half, engine, _: verdicts.figures(list(verdicts.verdicts(half)), engine),
    "recall": lambda half, *_: recall.figures(half),
    "size": lambda half, engine, _: size.figures(whole(half), engine),
}


def main() -> None:
    """Print the table of the yardsticks and halves asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.quality", description=__doc__)
    parser.add_argument("--only", action="append", choices=YARDSTICKS, help="a yardstick; may be given several times")
    parser.add_argument("--half", choices=[half.replace(" ", "-") for half in HALVES], help="default: both")
    parser.add_argument("--engine-only", action="store_true", help="leave out the other ways to compact")
    asked = parser.parse_args()
    halves = [half for half in HALVES if asked.half in (None, half.replace(" ", "-"))]
    if not SHARED.exists():
        print("There is no sample data beside the checkout: measured on the sessions of the demo.")
    print(f"{'yardstick':52}" + "".join(f" {half:>26}" for half in halves) + f" {'seconds':>8}")
    for name in asked.only or YARDSTICKS:
        _print(name, halves, others=not asked.engine_only)


def _print(name: str, halves: list[Half], *, others: bool) -> None:
    began = time.monotonic()
    figures = {half: YARDSTICKS[name](half, Palimpsest(), others) for half in halves}
    found = {half: {figure.what: str(figure) for figure in figures[half]} for half in halves}
    print(f"{name.upper():52}" + " " * 27 * len(halves) + f" {time.monotonic() - began:8.0f}")
    for what in dict.fromkeys(what for half in halves for what in found[half]):
        print(f"  {what:50}" + "".join(f" {found[half].get(what, '-'):>26}" for half in halves), flush=True)


if __name__ == "__main__":
    main()
