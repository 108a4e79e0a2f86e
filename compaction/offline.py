"""The summariser that needs no model: fixed sections of lines taken from the transcript, within a budget of tokens.

Each section has lines ranked by what a continuation needs and a share of the budget; what one section leaves over, the
others get in order. An earlier summary is read back by its headings: its lines stand behind the new ones, so they last
as long as there is room and the summary never grows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from . import facts as f
from . import protocol
from .digest import SummaryRequest
from .facts import Facts, clip, distinct
from .secrets import redact
from .tokens import Counter

# Title, share of the budget, words by which the headings of other summarisers (Hermes', models') are recognised.
SECTIONS = (
    ("Active task", 0.12, ("active task", "task snapshot", "in progress")),
    ("Goal", 0.12, ("goal", "request", "user messages", "user asks")),
    ("Constraints", 0.14, ("constraint", "preference", "rule")),
    ("Actions done", 0.24, ("action", "completed", "session log", "done")),
    ("Current state", 0.10, ("state", "context", "decision", "remaining", "next")),
    ("Errors and blockers", 0.08, ("error", "block", "failure")),
    ("Open questions", 0.05, ("question", "pending")),
    ("Files and identifiers", 0.15, ("identifier", "file", "anchor")),
)
NOTHING = "(none)"
_TALLY = "Extracted without a model"  # first words of the counts above the sections
_STALE = (_TALLY, protocol.FRAMING)  # what a later summary leaves out (Hermes keeps the framing line in the body)
_HEADING = re.compile(r"^#{1,4}\s+(.*)$")
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+|^>\s?")


@dataclass(slots=True)
class _Section:
    """One section: lines in the order they are wanted, each with its place in the text."""

    title: str
    share: float
    lines: list[tuple[int, str]] = field(default_factory=list)
    taken: list[tuple[int, str]] = field(default_factory=list)

    def offer(self, lines: Iterable[str]) -> None:
        """Lines oldest first; the newest are wanted most."""
        self.lines = list(enumerate(lines))[::-1]

    def text(self) -> str:
        body = "\n".join(line for _, line in sorted(self.taken)) or NOTHING
        return f"## {self.title}\n{body}"


def summarize(request: SummaryRequest) -> str:
    """A structured summary of the request's turns and previous summary, at most `budget_tokens` long by its counter.

    Deterministic; sections in English, everything else in the words of the transcript; secrets are redacted.
    """
    found, earlier = f.gather(request.sources), read_back(redact(request.previous_summary))
    sections = _sections(found, earlier)
    words = [word for word in request.focus.casefold().split() if len(word) > 2]
    for section in sections:
        section.lines.sort(key=lambda line: not any(word in line[1].casefold() for word in words))
    head = _tally(found, request)
    _fill(sections, head, request)
    text = _text(head, sections)
    over = request.count(text) - request.budget_tokens
    while over > 0 and any(section.taken for section in sections):
        _shrink(sections, over, request.count)
        text = _text(head, sections)
        over = request.count(text) - request.budget_tokens
    if over <= 0:
        return text
    task = redact(" ".join(found.requests[-1:] or earlier["Active task"])) or NOTHING
    heading = "## Active task\n" if request.budget_tokens >= protocol.SMALLEST_BODY_TOKENS else ""
    return _fitting(f"{heading}> {task}", request.budget_tokens, request.count).rstrip(" ,([")


def read_back(summary: str) -> dict[str, list[str]]:
    """The lines of an earlier summary by the section they belong to; headings of other summarisers are understood."""
    found: dict[str, list[str]] = {title: [] for title, _, _ in SECTIONS}
    title = "Current state"
    for line in summary.splitlines():
        heading = _HEADING.match(line.strip())
        if heading:
            title = _section_of(heading[1])
        elif (words := _BULLET.sub("", line.strip())) and words != NOTHING and not words.startswith(_STALE):
            found[title].append(clip(words, f.QUOTE))
    return found


def _section_of(heading: str) -> str:
    heading = heading.casefold()
    known = (title for title, _, words in SECTIONS if any(word in heading for word in words))
    return next(known, "Current state")


def _sections(found: Facts, earlier: dict[str, list[str]]) -> list[_Section]:
    sections = {title: _Section(title, share) for title, share, _ in SECTIONS}
    task = found.requests[-1:] or [" ".join(earlier["Active task"])]
    before = [*earlier["Goal"], *(earlier["Active task"] if found.requests else []), *found.requests[:-1]]
    before = [line for line in before if line not in task]
    actions = [
        f"{a.call}{f' ({a.times} times)' if a.times > 1 else ''}{' -> ' + a.outcome if a.outcome else ''}"
        for a in found.actions.values()
    ]
    sections["Active task"].offer(f"> {line}" for line in task if line)
    sections["Goal"].offer(_bullets(clip(line, f.LINE) for line in before))
    sections["Constraints"].offer(_bullets([*earlier["Constraints"], *found.constraints]))
    sections["Actions done"].offer(_bullets([*earlier["Actions done"], *actions]))
    sections["Current state"].offer(_bullets(found.replies[-3:] or earlier["Current state"]))
    sections["Errors and blockers"].offer(_bullets([*earlier["Errors and blockers"], *found.errors]))
    sections["Open questions"].offer(_bullets(found.questions or earlier["Open questions"]))
    known = _identifiers(
        found, [line.rstrip(" ,([") for line in earlier["Files and identifiers"] if line.strip(" ,([")]
    )
    sections["Files and identifiers"].offer(_bullets(known))
    return list(sections.values())


def _bullets(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in distinct(lines)]


def _identifiers(found: Facts, earlier: list[str]) -> list[str]:
    """One identifier a line, the most needed last; those of an earlier summary weigh as if met once."""
    weights: dict[str, float] = dict.fromkeys(earlier, 1.0)
    for name, weight in found.identifiers.items():
        weights[name] = weights.get(name, 0.0) + weight
    return sorted(weights, key=lambda name: (weights[name], name))


def _tally(found: Facts, request: SummaryRequest) -> str:
    roles = ", ".join(f"{n:,} {role or 'other'}" for role, n in found.roles.most_common())
    tools = ", ".join(f"{name or '?'} {n:,}" for name, n in found.tools.most_common(8))
    when = f" on {request.today.isoformat()}" if request.today else ""
    focus = f" Focus: {redact(clip(request.focus, f.LINE))}." if request.focus.strip() else ""
    calls = f" Tool calls: {tools}." if tools else ""
    read = f"{_TALLY}{when} from {len(request.sources):,} messages ({roles})."
    return f"{read}{calls}{focus} Newer messages outrank all of it."


def _fill(sections: list[_Section], head: str, request: SummaryRequest) -> None:
    """The active task comes first, cut if need be; each section takes lines up to its share; then what is left."""
    left = total = request.budget_tokens - request.count(_text(head, sections))
    task = sections[0]
    if task.lines and total > 0:
        at, line = task.lines.pop()
        task.taken = [(at, _fitting(redact(line), total // 2, request.count))]
        left -= request.count(task.taken[0][1]) + 1
    for share in (True, False):
        for section in sections:
            room = min(int(total * section.share), left) if share else left
            left -= _take(section, room, request.count)


def _take(section: _Section, room: int, count: Counter) -> int:
    """Move lines that fit into the room to `taken`, in the order they are wanted; the tokens used."""
    used = misses = 0
    waiting: list[tuple[int, str]] = []
    for at, line in enumerate(section.lines):
        if misses == 3 or used >= room:
            waiting += section.lines[at:]
            break
        line = line[0], redact(line[1])
        cost = count(line[1]) + 1
        if used + cost <= room:
            used += cost
            section.taken.append(line)
        else:
            misses += 1
            waiting.append(line)
    section.lines = waiting
    return used


def _shrink(sections: list[_Section], over: int, count: Counter) -> None:
    """Give back the least wanted lines of the last sections until about `over` tokens are saved."""
    for section in reversed(sections):
        while over > 0 and section.taken:
            over -= count(section.taken.pop()[1])


def _text(head: str, sections: list[_Section]) -> str:
    return "\n\n".join([head, *(section.text() for section in sections)])


def _fitting(text: str, budget: int, count: Counter) -> str:
    """The longest start of the text that is within the budget, never less than one character."""
    if count(text) <= budget:
        return text
    least, most = 1, len(text)
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if count(text[:middle]) <= budget else (least, middle - 1)
    return text[:least]
