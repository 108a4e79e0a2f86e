"""The content of a loss report: lost things, and how many survived."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Literal

from ..details.names import Kind
from .categories import Category
from .statements import Source

LONGEST_LINE = 600  # characters of an anchor that is a line or a sentence
# Why somebody would miss a lost thing, the most serious first: it is a standing instruction of a person, the last
# request or what that asks for, something that a later message uses, or a person said it.
Matters = Literal["instruction", "request", "used", "person", ""]
MATTERS: tuple[Matters, ...] = ("instruction", "request", "used", "person", "")
SERIOUS: tuple[Matters, ...] = ("instruction", "request")  # the next turn fails without them
COMMAND_KEYS = ("command", "cmd", "script")  # arguments under which tools take a command line


@dataclass(frozen=True, slots=True)
class Anchor:
    """One thing that was said, or used as an argument of a call. `message` is the index of its message.

    `line` is the line or sentence that contains it, "" if that was not looked for; `source` is who said it; `category`
    is the category of a statement, "" if it has none; `above` is the heading or label that it is under, "" for none.
    Texts have no credentials, as lost things are shown and stored.
    """

    kind: Kind
    text: str
    message: int = field(default=0, compare=False)
    line: str = field(default="", compare=False)
    source: Source = field(default="agent", compare=False)
    category: Category = field(default="", compare=False)
    matters: Matters = field(default="", compare=False)
    above: str = field(default="", compare=False)


def commands_of(arguments: str) -> list[str]:
    """The command lines in a call's arguments (JSON text)."""
    if not any(key in arguments for key in COMMAND_KEYS):
        return []
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return []
    values = [value.get(key) for key in COMMAND_KEYS] if isinstance(value, dict) else []
    return [line.strip() for line in values if isinstance(line, str) and line.strip()]


Counts = dict[Kind, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class LastRequest:
    """The newest request of people that may be unfinished, else the newest one. `message` is its index, -1 if only an
    earlier summary has it; `open`: the agent has not answered it; `kept`: its words are still in the context. `needs`
    counts the lines that leave the context and have what it asks for (survived, all).
    """

    text: str
    message: int
    open: bool
    kept: bool
    needs: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Survival:
    """How many of a set of anchors survived: by kind (survived, all), and the lost ones.

    `by_kind` and `lost` cover what people and the agent said and the arguments of calls; `printed` and `lost_printed`
    cover what tools only printed. `statements` counts informative lines and sentences (survived, all).
    `lost_statements` are the lost ones by category (instructions first), in each category the newest first; what the
    last request asks for comes before all but instructions.
    `lost_printed` has at most the first two thousand. `request` is None if nobody asked for anything; `instructions`
    counts the standing instructions of people, in the whole context (survived, all). See `report.survival_of`.
    """

    by_kind: Counts
    lost: tuple[Anchor, ...]
    printed: Counts = field(default_factory=dict)
    lost_printed: tuple[Anchor, ...] = ()
    statements: tuple[int, int] = (0, 0)
    lost_statements: tuple[Anchor, ...] = ()
    request: LastRequest | None = None
    instructions: tuple[int, int] = (0, 0)

    @property
    def things(self) -> list[Anchor]:
        """All that is lost, each line once, the most serious first: statements, then details that are in none of
        them.
        """
        places = {(one.message, one.text) for one in self.lost_statements}
        others: list[Anchor] = []
        for one in self.lost:
            place = (one.message, one.line or one.text)
            if place not in places:
                places.add(place)
                others.append(one)
        return sorted([*self.lost_statements, *others], key=lambda one: MATTERS.index(one.matters))

    @property
    def total(self) -> int:
        """The number of anchors."""
        return sum(total for _, total in self.by_kind.values())

    @property
    def share(self) -> float:
        """The share that survived, 0.0 to 1.0; 1.0 if there are no anchors."""
        return 1 - len(self.lost) / self.total if self.total else 1.0
