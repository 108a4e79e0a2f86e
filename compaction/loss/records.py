"""The content of a loss report: lost things, and how many survived."""

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
    """One thing that was said, or used as an argument of a call. `message` is the index of its message.

    `line` is the line or sentence that contains it, "" if that was not looked for; `source` is who said it; `category`
    is the category of a statement, "" if it has none. Texts have no credentials, as lost things are shown and stored.
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
    values = [value.get(key) for key in COMMAND_KEYS] if isinstance(value, dict) else []
    return [line.strip() for line in values if isinstance(line, str) and line.strip()]


Counts = dict[Kind, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Survival:
    """How many of a set of anchors survived: by kind (survived, all), and the lost ones.

    `by_kind` and `lost` cover what people and the agent said and the arguments of calls; `printed` and `lost_printed`
    cover what tools only printed. `statements` counts informative lines and sentences (survived, all).
    `lost_statements` are the lost ones by category (instructions first), in each category the newest first.
    `lost_printed` has at most the first two thousand. See `report.survival_of`.
    """

    by_kind: Counts
    lost: tuple[Anchor, ...]
    printed: Counts = field(default_factory=dict)
    lost_printed: tuple[Anchor, ...] = ()
    statements: tuple[int, int] = (0, 0)
    lost_statements: tuple[Anchor, ...] = ()

    @property
    def total(self) -> int:
        """The number of anchors."""
        return sum(total for _, total in self.by_kind.values())

    @property
    def share(self) -> float:
        """The share that survived, 0.0 to 1.0; 1.0 if there are no anchors."""
        return 1 - len(self.lost) / self.total if self.total else 1.0
