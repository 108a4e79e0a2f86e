"""The summariser that needs no model: fixed sections of lines taken from the transcript, within a budget of tokens.

Theory: each section offers lines, the most wanted first, and has a share of the budget; what one leaves over the others
get. Exact names (ids, paths, amounts) cost least in lists, a label and the names behind it. Room is set aside for those
that people said or calls were made with, up to a share of the whole; names that stand in a line already, or in the
messages kept after the summary, are not listed. An earlier summary is read back by its headings: its lines stand behind
the new ones, so they last as long as there is room and the summary never grows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

from . import facts as f
from . import protocol
from .anchors import WORD, Kind, measures, names_of
from .digest import SummaryRequest
from .facts import Facts, Name, clip, distinct
from .secrets import redact
from .tokens import Counter

# Title, share of the budget, words by which the headings of other summarisers (Hermes', models') are recognised.
SECTIONS = (
    ("Active task", 0.12, ("active task", "task snapshot", "in progress", "in-progress")),
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
NAMES_SHARE = 0.82  # of what the task and the constraints leave: the most that is set aside for names
_EARLIER_WEIGHT = 4  # of a name an earlier summary lists: as if a call had used it
_TALLY = "Extracted without a model"  # first words of the counts above the sections
_OPEN, _ANSWERED = "Open: ", "Answered: "
_HEADING = re.compile(r"^#{1,4}\s+(.*)$")
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+|^>\s?")
_SHORT = 30  # bytes of a request that says little by itself ("yes, go on"); a script may say a word in one character
_WORTH_A_CUT = 24  # tokens of room for which a line is worth being cut
_QUANTITIES = "quantities"  # the list of names with a space in them, which commas part


@dataclass(slots=True)
class _Section:
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
            self.taken.append(_fitting(misses.pop(0), room - 2, count) + " …")
            used = count(self.taken[0]) + 1
        self.waiting = misses
        return used

    def drop(self) -> str:
        return self.taken.pop()

    def text(self) -> str:
        return f"## {self.title}\n" + ("\n".join(reversed(self.taken)) or NOTHING)


@dataclass(slots=True)
class _Names:
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
        lines = (f"- {label}: {(', ' if label == _QUANTITIES else ' ').join(names)}" for label, names in lists.items())
        return f"## {self.title}\n" + ("\n".join(lines) or NOTHING)


def summarize(request: SummaryRequest) -> str:
    """A structured summary of the request's messages and previous summary, at most `budget_tokens` by its counter.

    Deterministic; sections in English, everything else in the words of the transcript; secrets are redacted.
    """
    draft = _Draft(request)
    draft.fill()
    text, over = draft.text(), draft.over()
    while over > 0 and draft.shrink(over):
        text, over = draft.text(), draft.over()
    if over <= 0:
        return text
    task = " ".join(draft.task) or NOTHING
    heading = "## Active task\n" if request.budget_tokens >= protocol.SMALLEST_BODY_TOKENS else ""
    return _fitting(f"{heading}> {task}", request.budget_tokens, request.count).rstrip(" ,([")


class _Draft:
    """A summary while its sections fill."""

    def __init__(self, request: SummaryRequest) -> None:
        self.request = request
        self.found, self.kept = f.gather(request.sources), f.gather(request.kept)
        self.earlier = read_back(redact(request.previous_summary))
        self.requests = [*self.found.requests(), *self.kept.requests()]
        self.task = self._task()
        self.binding, self.wishes = self.found.constraints()
        self.head = _tally(self.found, request)
        self.detail = min(max(request.budget_tokens // 40, f.DETAIL // 2), f.DETAIL)
        self.focus = [word for word in request.focus.casefold().split() if len(word.encode()) > 2]
        wanted = self._offers()
        self.lines = {t: _Section(t, share, self._first(wanted[t])) for t, share, _ in SECTIONS if t in wanted}
        self.names = self._names()

    # --- what each section offers, the most wanted first -------------------------------------------------------------
    def _task(self) -> list[str]:
        """The newest request and, where it says too little by itself, those before it; the newest last."""
        found: list[str] = []
        for request in reversed(self.requests):
            found.insert(0, clip(request, f.QUOTE))
            if not _is_short(request) or len(found) == 3:
                break
        return found or [clip(" ".join(self.earlier["Active task"]), f.QUOTE)] * bool(self.earlier["Active task"])

    def _offers(self) -> dict[str, Iterable[str]]:
        found, earlier = self.found, {title: lines[::-1] for title, lines in self.earlier.items()}
        asked = (clip(request, f.LINE) for request in reversed(self.requests) if not _is_short(request))
        tasks = {clip(line, f.LINE) for line in self.task}
        states = earlier["Current state"]
        goal = chain(asked, earlier["Active task"] if self.requests else (), earlier["Goal"])
        return {
            "Active task": (f"> {line}" for line in reversed(self.task)),
            "Goal": _bullets(line for line in goal if line not in tasks),
            "Constraints": _bullets(chain(reversed(self.binding), earlier["Constraints"])),
            "Actions done": _bullets(
                chain(
                    (action.line(self.detail) for action in reversed(found.actions.values())), earlier["Actions done"]
                )
            ),
            "Current state": _bullets(chain([clip(said, 2 * f.LINE) for said in islice(found.replies(), 3)], states)),
            "Errors and blockers": _bullets(chain(_errors(found), earlier["Errors and blockers"])),
            "Decisions": _bullets(chain(found.decisions(), earlier["Decisions"])),
            "Questions": _bullets(chain(self._questions(), self._earlier_questions())),
        }

    def _questions(self) -> Iterator[str]:
        pairs = list(islice(self.found.questions(self.kept.turns), 40))
        yield from (f"{_OPEN}{question}" for question, answer in pairs if not answer)
        yield from (f"{_ANSWERED}{question} -> {answer}" for question, answer in pairs if answer)

    def _earlier_questions(self) -> list[str]:
        """Those of an earlier summary; what was open then may have been answered since."""
        return [line for line in self.earlier["Questions"][::-1] if not (self.requests and line.startswith(_OPEN))]

    def _first(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines, those about the focus first."""
        if not self.focus:
            return iter(lines)
        return iter(sorted(lines, key=lambda line: not self._is_in_focus(line)))

    def _is_in_focus(self, text: str) -> bool:
        lowered = text.casefold()
        return any(word in lowered for word in self.focus)

    def _names(self) -> dict[str, _Names]:
        """Names by weight; those an earlier summary lists weigh as if a call had used them."""
        known, labels = dict(self.found.names), self.found.labels()
        before: dict[str, str] = {}
        for title in LISTS:
            before |= _listed(self.earlier[title])
        for name in before:
            known.setdefault(name, Name(_kind(name)))
        focused = self._focused_names()
        weight = {name: (name in focused, k.weight + _EARLIER_WEIGHT * (name in before)) for name, k in known.items()}
        order = sorted(known, key=lambda name: weight[name], reverse=True)
        self.needed = {name for name in order if known[name].said or known[name].called or name in before}
        self.known = set(order)

        def label(name: str) -> str:
            tool = known[name].tool if known[name].kind == "path" else ""
            return tool or labels.get(name) or before.get(name) or _label(name, known[name].kind)

        paths = [name for name in order if known[name].kind == "path"]
        others = [name for name in order if known[name].kind != "path"]
        return {"Files": _Names("Files", paths, label), "Identifiers": _Names("Identifiers", others, label)}

    def _focused_names(self) -> set[str]:
        if not self.focus:
            return set()
        about = [t.message for t in self.found.turns if self._is_in_focus(f"{t.words} {t.calls} {t.results}")]
        return set(f.gather(about).names)

    # --- filling -----------------------------------------------------------------------------------------------------
    def fill(self) -> None:
        """The active task and constraints first; room for names set aside; then each its share; then the rest."""
        count, total = self.request.count, self.request.budget_tokens - self.request.count(self.text())
        left = total - self._take_task(total)
        constraints = self.lines["Constraints"]
        left -= constraints.take(min(int(total * 0.5), left), count)
        prose = left - min(self._names_tokens(), int(left * NAMES_SHARE))
        for section in self.lines.values():
            left -= section.take(min(int(prose * section.share), left), count)
        for wanted in (self.needed, self.known):
            wanted = wanted - self._standing()
            for names in self.names.values():
                left -= names.take(left, count, wanted)
        constraints.offered = chain(constraints.offered, self._first(_bullets(reversed(self.wishes))))
        for section in self.lines.values():
            left -= section.take(left, count)

    def _take_task(self, total: int) -> int:
        """The newest request is always there, cut if need be."""
        section, count = self.lines["Active task"], self.request.count
        newest = next(section.offered, None)
        if newest is None or total <= 0:
            return 0
        section.taken = [_fitting(newest, total // 2, count)]
        return count(section.taken[0]) + 1 + section.take(int(total * section.share), count)

    def _names_tokens(self) -> int:
        standing = self._standing()
        return self.request.count(
            " ".join(name for names in self.names.values() for name in names.offered if name not in standing)
        )

    def _standing(self) -> set[str]:
        """Names that need no list: they stand in the lines taken so far, or in the messages that are kept."""
        lines = "\n".join(section.text() for section in self.lines.values())
        return {name for word in set(WORD.findall(lines)) for _, name in names_of(word)} | set(self.kept.names)

    def text(self) -> str:
        """The summary as it stands."""
        sections: dict[str, _Section | _Names] = {**self.lines, **self.names}
        return "\n\n".join([self.head, *(sections[title].text() for title in TITLES)])

    def over(self) -> int:
        """Tokens beyond the budget."""
        return self.request.count(self.text()) - self.request.budget_tokens

    def shrink(self, over: int) -> bool:
        """Give back the least wanted of the last sections until about `over` tokens are saved; whether that was any."""
        left = over
        sections: tuple[_Section | _Names, ...] = (*self.names.values(), *reversed(self.lines.values()))
        for section in sections:
            while left > 0 and section.taken:
                left -= self.request.count(section.drop())
        return left < over


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
        or line.startswith((_TALLY, protocol.FRAMING))
        or any(phrase in line for phrase in protocol.FALLBACK_PHRASES)
    )


def _section_of(heading: str) -> str:
    heading = heading.casefold()
    known = (title for title, _, words in SECTIONS if any(word in heading for word in words))
    return next(known, "Current state")


def _listed(lines: Iterable[str]) -> dict[str, str]:
    """The names in the lists of an earlier summary, each with its label."""
    found: dict[str, str] = {}
    for line in lines:
        label, colon, rest = line.partition(": ")
        names = measures(rest if colon else line)
        names += [name for word in WORD.findall(rest if colon else line) for _, name in names_of(word)]
        found.update(dict.fromkeys(names, label if colon else ""))
    return found


def _kind(name: str) -> Kind:
    return next((kind for kind, _ in names_of(name)), "number")


def _label(name: str, kind: Kind) -> str:
    if kind == "number":
        return _QUANTITIES if " " in name else "amounts and dates"
    return {"path": "mentioned", "url": "urls"}.get(kind, "ids")


def _errors(found: Facts) -> Iterator[str]:
    """What the last try of each action reports, newest first; failures that a later try got over, after those."""
    over: list[str] = []
    for action in reversed(found.actions.values()):
        if trouble := action.trouble():
            yield f"{action.call.name}: {clip(trouble, f.LINE)}"
        elif action.failed:
            over.append(f"{action.call.name}: {clip(action.failed, f.LINE)} (a later try did not fail)")
    yield from over


def _bullets(lines: Iterable[str]) -> Iterator[str]:
    return (f"- {line}" for line in distinct(lines))


def _is_short(request: str) -> bool:
    return len(request.encode("utf-8", "surrogatepass")) < _SHORT


def _tally(found: Facts, request: SummaryRequest) -> str:
    roles = ", ".join(f"{n:,} {role or 'other'}" for role, n in found.roles.most_common())
    tools = ", ".join(f"{name or '?'} {n:,}" for name, n in found.tools.most_common(6))
    when = f" on {request.today.isoformat()}" if request.today else ""
    focus = f" Focus: {redact(clip(request.focus, f.LINE))}." if request.focus.strip() else ""
    calls = f" Tool calls: {tools}." if tools else ""
    read = f"{_TALLY}{when} from {len(request.sources):,} messages ({roles})."
    return f"{read}{calls}{focus} Newer messages outrank all of it."


def _fitting(text: str, budget: int, count: Counter) -> str:
    """The longest start of the text that is within the budget, never less than one character."""
    if count(text) <= budget:
        return text
    least, most = 1, len(text)
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if count(text[:middle]) <= budget else (least, middle - 1)
    return text[:least]
