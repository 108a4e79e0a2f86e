"""What a loss report holds: lost things, and how many survived."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from ..details.names import Kind
from .categories import Category
from .statements import Source

LONGEST_LINE = 600  # characters of an anchor that is a line or a sentence
COMMAND_KEYS = ("command", "cmd", "script")  # arguments under which tools take a command line


@dataclass(frozen=True, slots=True)
class Anchor:
    """One thing that was said or called with. `message` is the index of the message it stands in.

    `line` is the line or sentence it stands in, "" if that was not looked for, `source` who said it, `category` what a
    statement is, "" for none of the categories. Texts are without credentials: what is lost is shown and kept.
    """

    kind: Kind
    text: str
    message: int = field(default=0, compare=False)
    line: str = field(default="", compare=False)
    source: Source = field(default="agent", compare=False)
    category: Category = field(default="", compare=False)


def commands_of(arguments: str) -> list[str]:
    """The command lines in a call's arguments (JSON text)."""
    if not any(key in arguments for key in COMMAND_KEYS):
        return []
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return []
    found = [value.get(key) for key in COMMAND_KEYS] if isinstance(value, dict) else []
    return [line.strip() for line in found if isinstance(line, str) and line.strip()]


Counts = dict[Kind, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Survival:
    """The survival of a set of anchors: by kind (survived, all), and those that are lost.

    `by_kind` and `lost` are of what people and the agent said and calls were made with, `printed` and `lost_printed` of
    what tools merely printed; `statements` counts lines and sentences that say something (survived, all), and
    `lost_statements` are those of them that are lost, by category (instructions first), of each the newest first.
    `lost_printed` names no more than the first two thousand. See `report.survival_of`.
    """

    by_kind: Counts
    lost: tuple[Anchor, ...]
    printed: Counts = field(default_factory=dict)
    lost_printed: tuple[Anchor, ...] = ()
    statements: tuple[int, int] = (0, 0)
    lost_statements: tuple[Anchor, ...] = ()

    @property
    def total(self) -> int:
        """How many anchors there were."""
        return sum(total for _, total in self.by_kind.values())

    @property
    def share(self) -> float:
        """The share that survived, 0.0 to 1.0; 1.0 where there were none."""
        return 1 - len(self.lost) / self.total if self.total else 1.0
