"""Lines of transcripts whose exact details were marked by hand, and how well the recogniser finds them.

`tests/data/details` tells where the lines come from. A detail that may or may not be called one is marked `either`: it
counts neither as missed nor as wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compaction.details.recognise import details_of

DATA = Path(__file__).resolve().parents[1] / "data" / "details"
HALVES = ("development", "held_out")
STRANGE = ("strange", "strange_held_out")  # kinds of text that the rules were not made for
EASTERN = ("eastern", "eastern_held_out")  # people in Korean, Japanese and Chinese, and words that look like them
_DIGITS = re.compile(r"\d+")


@dataclass
class Measure:
    """How many marked details were found, and how many of those found were marked."""

    marked: int = 0
    met: int = 0
    found: int = 0
    right: int = 0
    missed: list[tuple[str, str]] = field(default_factory=list)
    wrong: list[tuple[str, str]] = field(default_factory=list)

    @property
    def recall(self) -> float:
        return self.met / self.marked

    @property
    def precision(self) -> float:
        return self.right / self.found


def measured(half: str) -> Measure:
    """The recogniser's result on one half of the lines."""
    all_ = Measure()
    for line in lines(half):
        text = line["text"]
        found = list(dict.fromkeys(detail for _, detail, _ in details_of(text, line["from"])))
        must = list(dict.fromkeys(detail for _, detail in line["details"]))
        may = [detail for _, detail in line.get("either", ())]
        missed = [detail for detail in must if not any(_same(one, detail) for one in found)]
        either = [one for one in found if not any(_same(one, d) for d in must) and any(_same(one, d) for d in may)]
        wrong = [one for one in found if one not in either and not any(_same(one, d) for d in must)]
        all_.marked += len(must)
        all_.met += len(must) - len(missed)
        all_.found += len(found) - len(either)
        all_.right += len(found) - len(either) - len(wrong)
        all_.missed += [(detail, text) for detail in missed]
        all_.wrong += [(one, text) for one in wrong]
    return all_


def lines(half: str) -> Iterator[dict[str, Any]]:
    """The lines of one half."""
    for line in (DATA / f"{half}.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _same(found: str, marked: str) -> bool:
    """Whether both are the same detail: one may have a unit, a label or a time more than the other."""
    if found == marked:
        return True
    short, long = sorted((found, marked), key=len)
    if short not in long:
        return False
    return _DIGITS.findall(short) == _DIGITS.findall(long) != [] or 2 * len(short) >= len(long)
