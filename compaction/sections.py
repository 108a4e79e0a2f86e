"""The sections of a summary: their titles, filling them with lines or lists of names, and reading them back.

Lines are made one by one as they are taken, the most wanted first. Exact names (ids, paths, amounts) cost least in
lists: a label and the names behind it.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from . import facts as f
from .folders import BELOW, MORE, spelled_out
from .handoff import EARLIER_FRAMING, FRAMING
from .lines import distinct
from .names import measures, names_of, words_of
from .text.clip import clip, start_of
from .tokens import Counter

# A heading that reads as an order makes models start the task again (hermes-agent #41607, #38364, #42812).
TASK = "Latest request (already being worked on)"
PLAN = "Plan"
# Title, and words by which the headings of other summarisers (Hermes', models') are recognised.
SECTIONS = (
    (TASK, ("latest request", "active task", "task snapshot", "in progress", "in-progress")),
    ("Goal", ("goal", "request", "user messages")),
    (PLAN, ("plan", "todo", "to-do", "task list")),
    ("Constraints", ("constraint", "preference", "rule")),
    ("Actions done", ("action", "completed", "session log", "done", "dropped turns")),
    ("Current state", ("state", "context", "remaining", "next", "progress")),
    ("Errors and blockers", ("error", "block", "failure")),
    ("Decisions", ("decision", "agreed")),
    ("Questions", ("question", "pending", "user asks")),
    ("Files", ("file",)),
    ("Identifiers", ("identifier", "anchor")),
)
ALL_TITLES = tuple(title for title, _ in SECTIONS)
TITLES = tuple(title for title in ALL_TITLES if title != PLAN)  # those a model is asked for
LISTS = ("Files", "Identifiers")
NOTHING = "(none)"
TALLY = "Extracted without a model"  # first words of the counts above the sections
ANSWERED = "(Answered; no request is open.)"  # beside the newest request, where that is so
IN_ANSWER = "(in answer to: "  # begins the question that the newest message answers
FROM = "(from "  # begins whom the newest message is from
ALONE = "people"  # the list of those of whom nothing else is listed
BORN = "born"  # the list of people with their birth dates
CODE = "code"  # the list of names of code
QUANTITIES = "quantities"  # the list of names with a space in them, which commas part
_HEADING = re.compile(r"^#{1,4}\s+(.*)$")
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+|^>\s?")
_WORTH_A_CUT = 24  # tokens of room for which a line is worth being cut
# Lines of Hermes' own model-free summaries that say how they were made, not what happened (docs/hermes.md section 4);
# those of 0.19, then what 0.22 words anew and puts behind any summary.
FALLBACK_PHRASES = (
    "deterministic fallback",
    "This fallback was generated",
    "Secrets and credentials were redacted",
    "The summary may be incomplete",
    "Previous compaction summary was present",
    "Summary generation was unavailable",
    "protected tail messages",
    "protected recent messages",
    "as historical context only",
    "unfulfilled instruction to re-answer",
    'under "## Historical Task Snapshot"',
    "[fallback summary truncated]",
    "outstanding.)",
    "None recoverable from compacted turns",
    "Called tool(s): ",  # without what for
    "remains background continuity context",
    "This session contains no user-authored turns",
    "Exact identifiers from the compacted region",
    "Every real user message from the compacted region",
    "remain fully preserved in session history",
    "instructions were pruned during context compression",
)
# What begins a call that they quote, without what came of it.
_QUOTED_CALLS = ("ASSISTANT: tool calls: ", "TOOL: [")


class DatedLine(NamedTuple):
    """A line, and where it stands among those of its section."""

    text: str
    at: float


def newest_first(lines: Iterable[str]) -> Iterator[DatedLine]:
    """A bullet for each line, shown in the opposite order."""
    return (DatedLine(f"- {flat(line)}", -at) for at, line in enumerate(distinct(lines)))


def distinct_lines(lines: Iterable[DatedLine]) -> Iterator[DatedLine]:
    """The lines without repetitions, compared regardless of case."""
    seen: set[str] = set()
    for line in lines:
        if (key := line.text.casefold()) not in seen:
            seen.add(key)
            yield line


def flat(text: str) -> str:
    """On one line: a line break of any kind inside would begin a line, or a heading, of its own."""
    return " ".join(text.split())


@dataclass(slots=True)
class Lines:
    """Lines in the order they are wanted, made one by one, and those taken, which are shown by their places."""

    title: str
    offered: Iterator[DatedLine]
    waiting: list[DatedLine] = field(default_factory=list)
    taken: list[DatedLine] = field(default_factory=list)
    more: str = ""  # what is said of those there was no room for

    def take(self, room: int, count: Counter, whole: bool = False) -> int:
        """Take lines while they fit into the room; the tokens used. Three that do not fit end it.

        Where nothing fits at all, the first is cut, if it need not stay `whole`.
        """
        used, heading = 0, 0 if self.taken else count(f"\n\n## {self.title}\n")
        misses: list[DatedLine] = []
        for line in chain(self.waiting, self.offered):
            cost = count(line.text) + 1 + heading
            if used + cost <= room:
                used, heading = used + cost, 0
                self.taken.append(line)
            else:
                misses.append(line)
            if len(misses) == 3 or used >= room:
                break
        if misses and not (self.taken or whole) and room - heading >= _WORTH_A_CUT:
            first = misses.pop(0)
            self.taken.append(first._replace(text=fitting(first.text, room - heading - 2, count) + " …"))
            used = count(self.taken[0].text) + 1 + heading
        self.waiting = misses
        return used

    def drop(self) -> str:
        """Give back the least wanted line; its text."""
        return self.taken.pop().text

    def text(self) -> str:
        """The section, "" if nothing was taken."""
        if not self.taken:
            return ""
        lines = [line.text for line in sorted(self.taken, key=lambda line: line.at)]
        return "\n".join([f"## {self.title}", *([self.more] if self.more else []), *lines])


@dataclass(slots=True)
class NameSection:
    """A section of names, the most wanted first, shown in lists by label.

    Of the labels in `whole` it is said how many more there are; those with a folder in `folders` are listed below it,
    those in `births` behind a person.
    """

    title: str
    offered: list[str]
    label: Callable[[str], str]
    whole: tuple[str, ...] = ()
    folders: Mapping[str, str] = field(default_factory=dict)
    births: Mapping[str, str] = field(default_factory=dict)
    taken: list[str] = field(default_factory=list)

    def _list(self, name: str) -> str:
        """What the list is called that the name stands in."""
        folder = self.folders.get(name)
        return self.label(name) + (f"{BELOW}{folder}" if folder else "")

    def _shown(self, name: str) -> str:
        folder, person = self.folders.get(name), self.births.get(name)
        return name[len(folder) + 1 :] if folder else f"{person} {name}" if person else name

    def take(self, room: int, count: Counter, wanted: set[str]) -> int:
        """Take the wanted names while they fit into the room; the tokens used."""
        used, left = 0, []
        labels = {self._list(name) for name in self.taken}
        heading = 0 if self.taken else count(f"\n\n## {self.title}\n")
        for name in self.offered:
            if used >= room or name not in wanted:
                left.append(name)
                continue
            label = self._list(name)
            cost = (
                count(f" {self._shown(name)}") * (name != label)
                + (0 if label in labels else count(f"- {label}:\n"))
                + heading
            )
            if used + cost <= room:
                used, heading = used + cost, 0
                labels.add(label)
                self.taken.append(name)
            else:
                left.append(name)
        self.offered = left
        return used

    def drop(self) -> str:
        """Give back the least wanted name."""
        name = self.taken.pop()
        self.offered.append(name)
        return name

    def text(self) -> str:
        """The section, "" if nothing was taken."""
        lists: dict[str, list[str]] = {}
        for name in self.taken:
            lists.setdefault(self._list(name), []).append(self._shown(name))
        lists = dict(sorted(lists.items(), key=lambda pair: pair[0].partition(BELOW)[0] not in self.whole))
        left = Tally(self._list(name) for name in self.offered if self.label(name) in self.whole)
        alone = [label for label, names in lists.items() if names == [label]]  # people of whom nothing else is listed
        if alone:
            lists = {ALONE: alone} | {label: names for label, names in lists.items() if names != [label]}
        lines = [f"- {label}: {_row(label, names)}{_left(left[label])}" for label, names in lists.items()]
        return "\n".join([f"## {self.title}", *lines]) if lines else ""


def _row(label: str, names: list[str]) -> str:
    return (", " if label in (QUANTITIES, BORN) else " ").join(name for name in names if name != label)


def _left(n: int) -> str:
    return f" {MORE}{n:,} more)" if n else ""


def read_back(summary: str) -> dict[str, list[str]]:
    """The lines of an earlier summary by the section they belong to; headings of other summarisers are understood.

    What only says how it was made is left out.
    """
    found: dict[str, list[str]] = {title: [] for title in ALL_TITLES}
    title = "Current state"
    for line in summary.splitlines():
        heading = _HEADING.match(line.strip())
        if heading:
            title = _section_of(heading[1])
        elif (words := _BULLET.sub("", line.strip())) and not _is_stale(words):
            found[title].append(clip(words, f.SCANNED if title in LISTS else f.QUOTE))
    return found


def _is_stale(line: str) -> bool:
    return (
        line.rstrip(".").lower() in ("none", NOTHING)
        or line.startswith((TALLY, FRAMING, EARLIER_FRAMING, MORE, IN_ANSWER, FROM, *_QUOTED_CALLS))
        or any(phrase in line for phrase in FALLBACK_PHRASES)
    )


def _section_of(heading: str) -> str:
    heading = heading.casefold()
    known = (title for title, words in SECTIONS if any(word in heading for word in words))
    return next(known, "Current state")


def listed(lines: Iterable[str]) -> dict[str, str]:
    """The names in the lists of an earlier summary, each with its label."""
    found: dict[str, str] = {}
    for line in lines:
        label, colon, rest = spelled_out(line).partition(": ")
        label = label.partition(BELOW)[0]
        names = [*measures(rest if colon else line), *(rest.split() if label == CODE else ())]
        names += [name for word in words_of(rest if colon else line) for _, name in names_of(word)]
        found.update(dict.fromkeys(names, label if colon else ""))
    return found


def births_listed(lines: Iterable[str]) -> dict[str, str]:
    """Whose each birth date in the lists of an earlier summary is."""
    rows = (line.removeprefix(f"{BORN}: ") for line in lines if line.startswith(f"{BORN}: "))
    pairs = (pair.rpartition(" ") for row in rows for pair in row.split(", "))
    return {date: person for person, _, date in pairs if person}


def fitting(text: str, budget: int, count: Counter) -> str:
    """The longest start of the text that is within the budget, of whole words, never less than one character."""
    if count(text) <= budget:
        return text
    least, most = 1, len(text)
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if count(text[:middle]) <= budget else (least, middle - 1)
    words = start_of(text, least).rstrip()
    return words if words and count(words) <= budget else text[:least]
