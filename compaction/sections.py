"""The sections of a summary: their titles, filling them with lines or lists of names, and reading them back.

Lines are made one by one as they are taken, the most wanted first. Exact names (ids, paths, amounts) cost least in
lists: a label and the names behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from . import facts as f
from . import protocol
from .lines import clip
from .names import measures, names_of, words_of
from .tokens import Counter

# A heading that reads as an order makes models start the task again (hermes-agent #41607, #38364, #42812).
TASK = "Latest request (already being worked on)"
# Title, share of what task, constraints and names leave, and words by which the headings of other summarisers
# (Hermes', models') are recognised.
SECTIONS = (
    (TASK, 0.0, ("latest request", "active task", "task snapshot", "in progress", "in-progress")),
    ("Goal", 0.16, ("goal", "request", "user messages")),
    ("Constraints", 0.0, ("constraint", "preference", "rule")),
    ("Actions done", 0.30, ("action", "completed", "session log", "done", "dropped turns")),
    ("Current state", 0.22, ("state", "context", "remaining", "next", "progress")),
    ("Errors and blockers", 0.12, ("error", "block", "failure")),
    ("Decisions", 0.10, ("decision", "agreed")),
    ("Questions", 0.10, ("question", "pending", "user asks")),
    ("Files", 0.0, ("file",)),
    ("Identifiers", 0.0, ("identifier", "anchor")),
)
TITLES = tuple(title for title, _, _ in SECTIONS)
LISTS = ("Files", "Identifiers")
NOTHING = "(none)"
TALLY = "Extracted without a model"  # first words of the counts above the sections
QUANTITIES = "quantities"  # the list of names with a space in them, which commas part
_HEADING = re.compile(r"^#{1,4}\s+(.*)$")
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+|^>\s?")
_WORTH_A_CUT = 24  # tokens of room for which a line is worth being cut


@dataclass(slots=True)
class Lines:
    """Lines in the order they are wanted, made one by one, and those taken, which are shown in the opposite order."""

    title: str
    share: float
    offered: Iterator[str]
    waiting: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)

    def take(self, room: int, count: Counter) -> int:
        """Take lines while they fit into the room; the tokens used. Three that do not fit end it.

        Where nothing fits at all, the first is cut.
        """
        used = 0
        misses: list[str] = []
        for line in chain(self.waiting, self.offered):
            cost = count(line) + 1
            if used + cost <= room:
                used += cost
                self.taken.append(line)
            else:
                misses.append(line)
            if len(misses) == 3 or used >= room:
                break
        if misses and not self.taken and room >= _WORTH_A_CUT:
            self.taken.append(fitting(misses.pop(0), room - 2, count) + " …")
            used = count(self.taken[0]) + 1
        self.waiting = misses
        return used

    def drop(self) -> str:
        return self.taken.pop()

    def text(self) -> str:
        return f"## {self.title}\n" + ("\n".join(reversed(self.taken)) or NOTHING)


@dataclass(slots=True)
class Names:
    """A section of names, the most wanted first, shown in lists by label."""

    title: str
    offered: list[str]
    label: Callable[[str], str]
    taken: list[str] = field(default_factory=list)

    def take(self, room: int, count: Counter, wanted: set[str]) -> int:
        """Take the wanted names while they fit into the room; the tokens used."""
        used, left = 0, []
        labels = {self.label(name) for name in self.taken}
        for name in self.offered:
            label = self.label(name)
            cost = (
                count(f" {name}") + (0 if label in labels else count(f"- {label}:\n")) if name in wanted else room + 1
            )
            if used + cost <= room:
                used += cost
                labels.add(label)
                self.taken.append(name)
            else:
                left.append(name)
        self.offered = left
        return used

    def drop(self) -> str:
        return self.taken.pop()

    def text(self) -> str:
        lists: dict[str, list[str]] = {}
        for name in self.taken:
            lists.setdefault(self.label(name), []).append(name)
        lines = (f"- {label}: {(', ' if label == QUANTITIES else ' ').join(names)}" for label, names in lists.items())
        return f"## {self.title}\n" + ("\n".join(lines) or NOTHING)


def read_back(summary: str) -> dict[str, list[str]]:
    """The lines of an earlier summary by the section they belong to; headings of other summarisers are understood.

    What only says how it was made is left out.
    """
    found: dict[str, list[str]] = {title: [] for title in TITLES}
    title = "Current state"
    for line in summary.splitlines():
        heading = _HEADING.match(line.strip())
        if heading:
            title = _section_of(heading[1])
        elif (words := _BULLET.sub("", line.strip())) and not _is_stale(words):
            found[title].append(clip(words, f.QUOTE))
    return found


def _is_stale(line: str) -> bool:
    return (
        line.rstrip(".").lower() in ("none", NOTHING)
        or line.startswith((TALLY, protocol.FRAMING, protocol.EARLIER_FRAMING))
        or any(phrase in line for phrase in protocol.FALLBACK_PHRASES)
    )


def _section_of(heading: str) -> str:
    heading = heading.casefold()
    known = (title for title, _, words in SECTIONS if any(word in heading for word in words))
    return next(known, "Current state")


def listed(lines: Iterable[str]) -> dict[str, str]:
    """The names in the lists of an earlier summary, each with its label."""
    found: dict[str, str] = {}
    for line in lines:
        label, colon, rest = line.partition(": ")
        names = measures(rest if colon else line)
        names += [name for word in words_of(rest if colon else line) for _, name in names_of(word)]
        found.update(dict.fromkeys(names, label if colon else ""))
    return found


def fitting(text: str, budget: int, count: Counter) -> str:
    """The longest start of the text that is within the budget, never less than one character."""
    if count(text) <= budget:
        return text
    least, most = 1, len(text)
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if count(text[:middle]) <= budget else (least, middle - 1)
    return text[:least]
