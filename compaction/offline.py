"""The summariser that needs no model: fixed sections of lines taken from the transcript, within a budget of tokens.

Theory: the active task and what people laid down come first, word for word. Then room is set aside for exact names,
up to a share; the other sections share the rest, and what one leaves over the others get. Names that stand in a line
already, or in the messages kept beside the summary, are not listed. An earlier summary is read back by its headings:
its lines stand behind the new ones, so they last as long as there is room and the summary never grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from . import facts as f
from . import protocol
from .answer import OPEN_ENDS
from .digest import SummaryRequest
from .facts import Facts, Name
from .lines import clip, distinct, legible_name
from .names import Kind, names_of, words_of
from .secrets import redact
from .sections import (
    LISTS,
    NOTHING,
    QUANTITIES,
    SECTIONS,
    TALLY,
    TASK,
    TITLES,
    Lines,
    Names,
    fitting,
    listed,
    read_back,
)

CONSTRAINTS_SHARE = 0.5  # of the budget: the most they take, whatever else there is
MOST_HEADINGS = 0.6  # of the budget: where empty sections alone would take more, only task and constraints are written
# Of what the task and the constraints leave: the most that is set aside for names said or called, and of the rest for
# names that tools merely printed.
NEEDED_SHARE, PRINTED_SHARE = 0.8, 0.7
_EARLIER_WEIGHT = 4  # of a name in an earlier summary: as if a call had used it
_OPEN, _ANSWERED = "Open: ", "Answered: "
EARLIER_REQUESTS, EARLIER_STATES = (
    7,
    3,
)  # lines of an earlier summary that are carried on; of its state, if there is news
_SHORT = 30  # bytes of a request that says little by itself ("yes, go on"); a script may say a word in one character


def summarize(request: SummaryRequest) -> str:
    """A structured summary of the request's messages and previous summary, at most `budget_tokens` by its counter.

    Deterministic; sections in English, everything else in the words of the transcript; secrets are redacted.
    """
    draft = _Draft(request)
    if request.count(draft.text()) > request.budget_tokens * MOST_HEADINGS:
        return draft.brief()
    draft.fill()
    while (over := draft.over()) > 0 and draft.shrink(over):
        pass
    return draft.text()


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
        self.focus = [
            word for word in request.focus.casefold().split() if len(word.encode("utf-8", "surrogatepass")) > 2
        ]
        wanted = self._offers()
        self.lines = {t: Lines(t, share, self._first(wanted[t])) for t, share, _ in SECTIONS if t in wanted}
        self.names = self._names()

    # --- what each section offers, the most wanted first -------------------------------------------------------------
    def _task(self) -> str:
        """The newest request, "" if there is none; one that is kept in full beside the summary is only named."""
        if not self.requests:
            return clip(" ".join(self.earlier[TASK]), f.QUOTE)
        return clip(self.requests[-1], f.LINE if self.kept.requests() else f.QUOTE)

    def _offers(self) -> dict[str, Iterable[str]]:
        found, earlier = self.found, {title: lines[::-1] for title, lines in self.earlier.items()}
        asked = (clip(request, f.LINE) for request in reversed(self.requests[:-1]) if not _is_short(request))
        states = earlier["Current state"][: EARLIER_STATES if any(True for _ in found.replies()) else None]
        before = chain(earlier[TASK] if self.requests else (), earlier["Goal"])
        goal = chain(asked, islice(before, EARLIER_REQUESTS))  # not all: what was asked first is not asked for ever
        return {
            TASK: [f"> {self.task}"] * bool(self.task),
            "Goal": _bullets(line for line in goal if line != clip(self.task, f.LINE)),
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

    def _names(self) -> dict[str, Names]:
        """Names by weight; those of an earlier summary weigh as if a call had used them."""
        known, labels = dict(self.found.names), self.found.labels()
        before: dict[str, str] = {}
        for title in TITLES:
            labelled = title in LISTS
            before |= {name: label * labelled for name, label in listed(self.earlier[title]).items()}
        for name in before:
            known.setdefault(name, Name(_kind(name)))
        focused = self._focused_names()

        def rank(name: str) -> tuple[bool, int, int]:
            """Of those that tools merely printed, any may be needed: the short ones first, as more of them fit."""
            found, earlier = known[name], name in before
            printed = not (found.said or found.called or earlier)
            return name in focused, found.weight + _EARLIER_WEIGHT * earlier, -len(name) if printed else 0

        order = sorted(known, key=rank, reverse=True)
        self.needed = {name for name in order if known[name].said or known[name].called or name in before}
        self.known = set(order)

        def label(name: str) -> str:
            tool = known[name].tool if known[name].kind == "path" else ""
            return tool or labels.get(name) or before.get(name) or _label(name, known[name].kind)

        paths = [name for name in order if known[name].kind == "path"]
        others = [name for name in order if known[name].kind != "path"]
        return {"Files": Names("Files", paths, label), "Identifiers": Names("Identifiers", others, label)}

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
        left -= constraints.take(min(int(total * CONSTRAINTS_SHARE), left), count)
        prose = left - self._set_aside(left)
        room = 0.0  # what a section leaves over the next one has, and in the end all of them once more
        for share in (True, False):
            for section in self.lines.values():
                room += prose * section.share * share
                used = section.take(min(int(room), left), count)
                room, left = room - used, left - used
        for wanted in (self.needed, self.known):
            wanted = wanted - self._standing()
            for names in self.names.values():
                left -= names.take(left, count, wanted)
        constraints.offered = chain(constraints.offered, self._first(_bullets(reversed(self.wishes))))
        for section in self.lines.values():
            left -= section.take(left, count)

    def _take_task(self, total: int) -> int:
        """The newest request is always there, cut if need be."""
        section, count = self.lines[TASK], self.request.count
        section.taken = [fitting(line, total // 2, count) for line in section.offered]
        return sum(count(line) + 1 for line in section.taken)

    def _set_aside(self, left: int) -> int:
        """Tokens for names: for those needed up to a share, for those merely printed up to a share of the rest."""
        standing, names = self._standing(), [name for names in self.names.values() for name in names.offered]
        needed, printed = (
            self.request.count(
                " ".join(name for name in names if name not in standing and (name in self.needed) is said)
            )
            for said in (True, False)
        )
        needed = min(needed, int(left * NEEDED_SHARE))
        return needed + min(printed, int((left - needed) * PRINTED_SHARE))

    def _standing(self) -> set[str]:
        """Names that need no list: they stand in the lines taken so far, or in the messages that are kept."""
        lines = "\n".join(section.text() for section in self.lines.values())
        return {name for word in words_of(lines) for _, name in names_of(word)} | set(self.kept.names)

    def brief(self) -> str:
        """The task and the constraints alone, for a budget that holds little more than headings."""
        count, budget = self.request.count, self.request.budget_tokens
        heading = f"## {TASK}\n" if budget >= protocol.SMALLEST_BODY_TOKENS else ""
        text = fitting(f"{heading}> {self.task or NOTHING}", budget, count)
        for n, line in enumerate(self.lines["Constraints"].offered):
            longer = text + ("\n" if n else "\n\n## Constraints\n") + line
            if count(longer) > budget:
                break
            text = longer
        return text.rstrip(" >\n#" + "".join(OPEN_ENDS)) or NOTHING[1]  # what ends so counts as cut off

    def text(self) -> str:
        """The summary as it stands."""
        sections: dict[str, Lines | Names] = {**self.lines, **self.names}
        return "\n\n".join([self.head, *(sections[title].text() for title in TITLES)])

    def over(self) -> int:
        """Tokens beyond the budget."""
        return self.request.count(self.text()) - self.request.budget_tokens

    def shrink(self, over: int) -> bool:
        """Give back the least wanted of the last sections until about `over` tokens are saved; whether that was any."""
        left = over
        sections: tuple[Lines | Names, ...] = (*self.names.values(), *reversed(self.lines.values()))
        for section in sections:
            while left > 0 and section.taken:
                left -= self.request.count(section.drop())
        return left < over


def _kind(name: str) -> Kind:
    return next((kind for kind, _ in names_of(name)), "number")


def _errors(found: Facts) -> Iterator[str]:
    """What the last try of each action reports, newest first; failures that a later try got over, after those."""
    over: list[str] = []
    for action in reversed(found.actions.values()):
        if trouble := action.trouble():
            yield f"{legible_name(action.call.name)}: {clip(trouble, f.LINE)}"
        elif action.failed:
            over.append(f"{legible_name(action.call.name)}: {clip(action.failed, f.LINE)} (a later try did not fail)")
    yield from over


def _bullets(lines: Iterable[str]) -> Iterator[str]:
    """A bullet for each line. A line break of any kind inside one would begin a line, or a heading, of its own."""
    return (f"- {' '.join(line.split())}" for line in distinct(lines))


def _is_short(request: str) -> bool:
    return len(request.encode("utf-8", "surrogatepass")) < _SHORT


def _label(name: str, kind: Kind) -> str:
    if kind == "number":
        return QUANTITIES if " " in name else "amounts and dates"
    return {"path": "mentioned", "url": "urls"}.get(kind, "ids")


def _tally(found: Facts, request: SummaryRequest) -> str:
    roles = ", ".join(f"{n:,} {role or 'other'}" for role, n in found.roles.most_common())
    tools = ", ".join(f"{name or '?'} {n:,}" for name, n in found.tools.most_common(6))
    when = f" on {request.today.isoformat()}" if request.today else ""
    focus = f" Focus: {redact(clip(request.focus, f.LINE))}." if request.focus.strip() else ""
    calls = f" Tool calls: {tools}." if tools else ""
    read = f"{TALLY}{when} from {len(request.sources):,} messages ({roles})."
    unread = f" Of the oldest {found.unread:,} nothing was read." if found.unread else ""
    return f"{read}{unread}{calls}{focus} Newer messages outrank all of it."
