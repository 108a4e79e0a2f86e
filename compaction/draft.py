"""A summary without a model while its sections fill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from . import facts as f
from .actions import Work, in_short, times
from .code import code_in
from .deeds import LONG_COMMAND, path_of, raw_command
from .earlier import is_mergeable, merged, mixed
from .folders import MORE
from .listed import ends_of, parts_of
from .material import NEWEST, Material
from .names import names_of, words_of
from .ranking import Ranked
from .redaction import redact
from .requests import Request, asks_or_thanks, gist, is_assent, is_brief, is_closing, question_in, says_little
from .sections import (
    ALL_TITLES,
    ANSWERED,
    FROM,
    IN_ANSWER,
    PLAN,
    TASK,
    DatedLine,
    Lines,
    NameSection,
    distinct_lines,
    fitting,
    flat,
    newest_first,
)
from .sentences import is_binding, sentences
from .text.clip import clip

CONSTRAINTS_SHARE, PLAN_SHARE = 0.5, 0.3  # of the budget: the most they take, whatever else there is
DONE_SHARE = 0.08  # of the budget: set aside for what was done, before any names
DONE_ALONE = 0.2  # the same where nobody is served, but something was changed: ids that people name need less room
AT_LEAST = ("Errors and blockers", "Current state")  # kept anyway where one task is worked at
LEAST_SHARE = 0.04  # of the budget for each of them
# Of what these leave: the most that is set aside for names said or called, and of the rest for those merely printed.
NEEDED_SHARE, PRINTED_SHARE = 0.88, 0.85
SHARES = {  # of what is then left for lines; what one leaves over the next one has
    "Goal": 0.10,
    "Current state": 0.16,
    "Errors and blockers": 0.14,
    "Actions done": 0.48,
    "Decisions": 0.08,
    "Questions": 0.04,
}
ANSWERED_SHARE = 0.04  # of what is then left: requests with their answers, before names that were merely printed
ANSWERS_ALONE = 0.8  # the same where nothing was changed or run: the answers are the work then
EARLIER_STATES = 3  # lines of an earlier summary's state that are carried on, if there is news
MOST_FILES = 12  # written without anything to tell of them that have a line of their own
EARLIER_SHARE = 0.1  # of the budget: the most for what an earlier summary tells, in short
COUNTS = 60  # characters of what such a command counted
COMMANDS_SHARE = 0.25  # of what is left behind the lines: commands listed by their names alone
ALSO_RAN = "Also ran: "
MOST_KINDS = 1_000  # of changes: merged lines stand before all others
BATCH = 16  # names of each kind taken by turns
_OPEN, _ANSWERED = "Open: ", "Answered: "


class SummaryDraft:
    """One attempt: `wide` says how many times longer than usual a line may be."""

    def __init__(self, material: Material, wide: int = 1) -> None:
        self.material = material
        self.wide = wide
        self.shortly: set[float] = set()  # places of the work that is listed in short
        budget = material.request.budget_tokens
        self.detail = min(max(budget // 40, f.DETAIL // 2), f.DETAIL) * wide
        self.line, self.quote = f.LINE * wide, f.QUOTE * wide
        offers = {
            TASK: self._task(),
            "Goal": self._goal(),
            PLAN: self._plan(),
            "Constraints": newest_first(chain(material.constraints, reversed(material.earlier["Constraints"]))),
            "Actions done": self._actions(),
            "Current state": self._state(),
            "Errors and blockers": self._errors(),
            "Decisions": newest_first(chain(material.found.decisions(), reversed(material.earlier["Decisions"]))),
            "Questions": self._questions(),
        }
        self.lines = {title: Lines(title, self._first(offer)) for title, offer in offers.items()}
        self.ranked = Ranked(material)
        self.names = self.ranked.sections()

    # --- what each section offers, the most wanted first -------------------------------------------------------------
    def _first(self, lines: Iterable[DatedLine]) -> Iterator[DatedLine]:
        """The lines, those about the focus first."""
        if not self.material.focus:
            return iter(lines)
        return iter(sorted(lines, key=lambda line: not self.material.is_in_focus(line.text)))

    def _task(self) -> Iterator[DatedLine]:
        """The newest request; one that is kept in full beside the summary is only named."""
        latest = self.material.latest
        if latest is None:
            return
        kept = latest.last_place in self.material.kept_places
        text = latest.newest if latest.place >= 0 or latest.answers else latest.opening
        yield DatedLine(f"> {flat(clip(text, f.LINE if kept else self.quote))}", 0)
        if person := self.material.whose.get(latest.last_place, ""):
            yield DatedLine(f"{FROM}{person})", 1)
        if latest.answers and not kept:
            yield DatedLine(f'{IN_ANSWER}"{flat(clip(latest.answers[-1][1], self.line))}")', 1)
        if not latest.open:
            yield DatedLine(ANSWERED, 2)

    def _goal(self) -> Iterator[DatedLine]:
        """What is open beside the newest message, the newest first."""
        latest, kept_places = self.material.latest, self.material.kept_places
        for request in reversed(self.material.requests):
            shown = request is latest and not request.answers
            if request.open and not shown and request.place not in kept_places and not is_brief(request.opening):
                yield DatedLine(f"- {flat(clip(request.opening, self.line))}", request.place)

    def _plan(self) -> Iterator[DatedLine]:
        """The steps still to do first, in case there is no room for all."""
        steps = self.material.plan
        if steps:
            todo = [(at, step) for at, step in enumerate(steps) if not step.line().startswith("[x]")]
            done = [(at, step) for at, step in enumerate(steps) if step.line().startswith("[x]")]
            yield from (DatedLine(f"- {flat(redact(step.line()))}", at) for at, step in chain(todo, done))
        elif not self.material.kept.plan:
            yield from (DatedLine(f"- {text}", at) for at, text in enumerate(self.material.earlier[PLAN]))

    def _actions(self) -> Iterator[DatedLine]:
        """The newest, then what changed something, then the rest; between them what an earlier summary tells."""
        work = self.material.work[0]
        plain = {back for back, one in enumerate(work) if back >= NEWEST and one.is_plain}
        wanted = sorted(range(len(work)), key=lambda back: (back >= NEWEST, back in plain, -work[back].weight, back))
        if len(plain) > MOST_FILES:  # the list of files tells as much
            wanted = [back for back in wanted if back not in plain]
        told = (self._told(work[at]) for at in wanted if work[at].weight and work[at].last.at not in self.shortly)
        earlier = self.material.earlier["Actions done"]
        numbered = [(at - len(earlier), text) for at, text in enumerate(earlier) if not asks_or_thanks(text)]
        before = (DatedLine(f"- {text}", at) for at, text in reversed(numbered) if at not in self.shortly)
        yield from distinct_lines(mixed(told, before))

    def _told(self, work: Work, detail: int = 0) -> DatedLine:
        return DatedLine(f"- {flat(work.done(detail or self.detail, self.material.found.dated))}", work.last.at)

    def _besides(self) -> Iterator[DatedLine]:
        """What is listed where room is left: requests that were answered, and what was only looked at."""
        looks = (work for work in self.material.work[0] if not work.weight and work.kind != "read")
        yield from distinct_lines(
            chain(self._finished(), (self._told(work, f.DETAIL // 2 * self.wide) for work in looks))
        )

    def _finished(self) -> Iterator[DatedLine]:
        """Requests that were answered, the newest first."""
        latest, kept_places = self.material.latest, self.material.kept_places
        for request in reversed(self.material.requests):
            skipped = request.open or request is latest or request.place in kept_places or _is_question(request)
            skipped = skipped or all(map(is_binding, sentences(request.opening)))  # listed among the constraints
            answer = gist(request.reply, self.line)
            if not skipped and not (is_closing(request.opening) if answer else is_brief(request.opening)):
                person = self.material.whose.get(request.place, "")
                whose = f"{person}'s " if person else ""
                asked = flat(clip(request.opening, self.line // 2))
                told = f'"{asked}" -> {flat(answer)}' if answer else f'"{asked}"'
                yield DatedLine(f"- Answered {whose}request: {told}", request.place - 0.5)

    def _state(self) -> Iterator[DatedLine]:
        telling = (words for words in self.material.found.replies() if not says_little(words))
        newest = [clip(words, 2 * self.line) for words in islice(telling, 3)]
        earlier = self.material.earlier["Current state"][::-1][: EARLIER_STATES if newest else None]
        return newest_first(chain(newest, earlier))

    def _errors(self) -> Iterator[DatedLine]:
        """What is still wrong; the same message once."""
        dated, seen = self.material.found.dated, set[str]()
        for work in self.material.work[1]:
            if (said := work.failed()) not in seen:
                seen.add(said)
                yield DatedLine(f"- {flat(work.error(self.detail, dated))}", work.last.at)
        earlier = [text for text in self.material.earlier["Errors and blockers"] if not self._went_well(text)]
        yield from (DatedLine(f"- {text}", at - len(earlier)) for at, text in reversed(list(enumerate(earlier))))

    def _went_well(self, error: str) -> bool:
        """Whether the command that an earlier error is about was run again since, and did not fail."""
        return error.startswith("`") and " ".join(error[1:].split()[:2]).rstrip("`:") in self.material.went_well

    def _questions(self) -> Iterator[DatedLine]:
        """The open one, those answered, those of an earlier summary; what was open then may have been answered."""
        lines = chain(self._open_question(), self._answered())
        earlier = self.material.earlier["Questions"][::-1]
        news = any(request.place >= 0 for request in self.material.requests)
        return newest_first(chain(lines, (line for line in earlier if not (news and line.startswith(_OPEN)))))

    def _open_question(self) -> Iterator[str]:
        said = [turn for turn in self.material.turns if turn.words.strip() and (turn.typed or not turn.results)]
        if said and not said[-1].typed and not said[-1].calls and said[-1].place not in self.material.kept_places:
            question = question_in(said[-1].words)
            yield from [f"{_OPEN}{clip(question, self.line)}"] if question else []

    def _answered(self) -> Iterator[str]:
        for request in reversed(self.material.requests):
            answers = request.answers[: -1 if request is self.material.latest else None]
            for place, question, answer in reversed(answers):
                if place in self.material.kept_places or is_assent(question, self._without_people(answer)):
                    continue
                yield f"{_ANSWERED}{clip(question, self.line)} -> {clip(answer, self.detail)}"
            if _is_question(request) and not request.open and request.place not in self.material.kept_places:
                answer = next(sentences(request.reply), "")
                yield f"{_ANSWERED}{clip(request.opening, self.line)} -> {clip(answer, 2 * self.detail)}"

    def _without_people(self, text: str) -> str:
        """The text without the ids of those who are served: other lines name them."""
        for person in self.material.found.people:
            text = text.replace(person, "")
        return text

    # --- filling -----------------------------------------------------------------------------------------------------
    def fill(self) -> None:
        """The request, constraints and plan first; room for names set aside; then each its share; then the rest."""
        count, total = self.material.request.count, self.material.request.budget_tokens
        left = total - count(self.material.head)
        left -= self._take_task(total)
        left -= self.lines["Constraints"].take(min(int(total * CONSTRAINTS_SHARE), left), count)
        actions, changed = self.lines["Actions done"], any(work.weight > 1 for work in self.material.work[0])
        if not changed:
            actions.offered = chain(actions.offered, self._first(self._besides()))
        done = DONE_ALONE if changed and not self.material.found.people else DONE_SHARE
        left -= actions.take(min(int(total * done), left), count, whole=not changed)
        left -= self.lines[PLAN].take(min(int(total * PLAN_SHARE), left), count)
        for title in () if self.material.found.people else AT_LEAST:
            left -= self.lines[title].take(min(int(total * LEAST_SHARE), left), count)
        needed, printed = self._set_aside(left)
        prose, room = left - needed - printed, 0.0
        for title, share in SHARES.items():
            room += prose * share
            used = self.lines[title].take(min(int(room), left), count)
            room, left = room - used, left - used
        left -= self._take_earlier(min(int(total * EARLIER_SHARE), left))
        left -= self._take_in_short(left - printed)
        left -= self._take_commands(int((left - printed) * COMMANDS_SHARE))
        left -= self._take_names(left - printed, self.ranked.spoken)
        left -= self._take_names(left - printed, self.ranked.needed)
        left -= actions.take(left - printed, count) if changed else 0
        left += self._give_back_names()
        if changed:
            actions.offered = chain(actions.offered, self._first(self._besides()))
        left -= actions.take(int(left * (ANSWERED_SHARE if changed else ANSWERS_ALONE)), count)
        left -= self._take_names(left, self.ranked.likely)
        left -= self._take_names(left, self.ranked.known)
        for section in self.lines.values():
            left -= section.take(left, count)
        self._give_back_names()
        self._say_what_is_left_out()

    def _take_in_short(self, room: int) -> int:
        """Changes that there was no room to tell one by one, in a line for each kind; the tokens used."""
        actions, count = self.lines["Actions done"], self.material.request.count
        told = {line.at for line in actions.taken}
        works = [w for w in self.material.work[0] if w.kind == "change" and w.last.at not in told]
        if not works:
            return 0
        lines = [DatedLine(f"- {flat(text)}", works[-1].last.at - 0.25) for text in in_short(reversed(works))]
        cost = sum(count(line.text) + 1 for line in lines)
        if cost > room:
            return 0
        self._tell_shortly(lines, works)
        return cost

    def _take_earlier(self, room: int) -> int:
        """What an earlier summary tells as done and there was no room for, merged; the tokens used."""
        actions, count = self.lines["Actions done"], self.material.request.count
        earlier, told = self.material.earlier["Actions done"], {line.at for line in actions.taken}
        left = {at - len(earlier): text for at, text in enumerate(earlier) if at - len(earlier) not in told}
        lines, used = list[DatedLine](), 0
        for n, text in enumerate(merged(left.values())):
            line = DatedLine(f"- {flat(text)}", n - len(earlier) - MOST_KINDS)
            cost = count(line.text) + 1
            if used + cost <= room:
                used += cost
                lines.append(line)
        if lines:
            self.shortly |= {at for at, text in left.items() if is_mergeable(text)}
            actions.taken = [*lines, *actions.taken]
            actions.waiting = [line for line in actions.waiting if line.at not in self.shortly]
        return used

    def _take_commands(self, room: int) -> int:
        """Commands that there was no room to tell one by one, in one line, the most repeated first; the tokens used."""
        actions, count = self.lines["Actions done"], self.material.request.count
        told = {line.at for line in actions.taken}
        works = [w for w in self.material.work[0] if w.kind == "run" and w.weight > 1 and w.last.at not in told]
        works = [w for w in works if len(raw_command(w.last)) <= LONG_COMMAND]
        cost, pieces = count(f"- {ALSO_RAN}.") + 2, list[str]()
        fitting = []
        for work in sorted(works, key=lambda work: -len(work.deeds)):
            piece = f"`{raw_command(work.last)}`{times(len(work.deeds))}{work.counts(COUNTS)}"
            if (more := count(f"; {piece}")) <= room - cost:
                cost += more
                pieces.append(flat(piece))
                fitting.append(work)
        if not pieces:
            return 0
        self._tell_shortly([DatedLine(f"- {ALSO_RAN}{'; '.join(pieces)}", fitting[0].last.at - 0.25)], fitting)
        return cost

    def _tell_shortly(self, lines: list[DatedLine], works: list[Work]) -> None:
        """Note lines that tell several pieces of work."""
        actions = self.lines["Actions done"]
        self.shortly |= {work.last.at for work in works}
        actions.taken = [*lines, *actions.taken]
        actions.waiting = [line for line in actions.waiting if line.at not in self.shortly]

    def _take_names(self, room: int, wanted: set[str]) -> int:
        used, standing = 0, self._standing()
        wanted = wanted - standing
        for some in _batches([name for name in self.ranked.order if name in wanted]):
            for names in self.names.values():
                used += names.take(room - used, self.material.request.count, some)
        for names in self.names.values():  # what stands elsewhere is not left out
            names.offered = [name for name in names.offered if not (name in standing and name in self.ranked.needed)]
        return used

    def _give_back_names(self) -> int:
        """Names that stand in lines taken since; the tokens saved."""
        standing, saved = self._standing(), 0
        for names in self.names.values():
            doubled = [name for name in names.taken if name in standing]
            names.taken = [name for name in names.taken if name not in standing]
            saved += sum(self.material.request.count(f" {name}") for name in doubled)
        return saved

    def _take_task(self, total: int) -> int:
        """The newest request is always there, cut if need be."""
        section, count = self.lines[TASK], self.material.request.count
        section.taken = [line._replace(text=fitting(line.text, total // 2, count)) for line in section.offered]
        return sum(count(line.text) + 1 for line in section.taken) + count(f"\n\n## {TASK}\n") * bool(section.taken)

    def _set_aside(self, left: int) -> tuple[int, int]:
        """Tokens for names: for those needed up to a share, for those merely printed up to a share of the rest."""
        standing = self._standing()
        names = [name for section in self.names.values() for name in section.offered if name not in standing]
        needed, printed = (
            self.material.request.count(" ".join(name for name in names if (name in self.ranked.needed) is said))
            for said in (True, False)
        )
        needed = min(needed, int(left * NEEDED_SHARE))
        return needed, min(printed, int((left - needed) * PRINTED_SHARE))

    def _standing(self) -> set[str]:
        """Names that need no list: they stand in the lines taken so far, or in the messages that are kept."""
        lines = "\n".join(section.text() for section in self.lines.values())
        standing = {name for word in words_of(lines) for _, name in names_of(word)} | set(self.material.kept.names)
        standing |= {*code_in(lines), *self.material.kept_code} if self.ranked.code else set()
        ends = {end for name in standing if "/" in name for end in ends_of(name)}
        parts = {part for name in (*standing, *self.names["Identifiers"].taken) for part in parts_of(name)}
        return standing | ((ends | parts) & self.ranked.known)

    def _say_what_is_left_out(self) -> None:
        told = {line.at for line in self.lines["Actions done"].taken} | self.shortly
        listed = {path for path in self.names["Files"].taken if self.ranked.files.get(path) == "written"}
        left = sum(
            work.weight > 1 and work.last.at not in told and path_of(work.last) not in listed
            for work in self.material.work[0]
        )
        self.lines["Actions done"].more = f"- {MORE}{left:,} more that changed or ran something)" if left else ""

    def text(self) -> str:
        """The summary as it stands."""
        sections: dict[str, Lines | NameSection] = {**self.lines, **self.names}
        return "\n\n".join(filter(None, [self.material.head, *(sections[title].text() for title in ALL_TITLES)]))

    def over(self) -> int:
        """Tokens beyond the budget."""
        return self.material.request.count(self.text()) - self.material.request.budget_tokens

    def shrink(self, over: int) -> bool:
        """Give back the least wanted of the last sections until about `over` tokens are saved; whether that was any."""
        left = over
        sections: Sequence[Lines | NameSection] = (*self.names.values(), *reversed(self.lines.values()))
        for section in sections:
            while left > 0 and section.taken:
                left -= self.material.request.count(section.drop())
        return left < over


def _is_question(request: Request) -> bool:
    return bool(request.reply) and request.opening.endswith(("?", "？"))


def _batches(names: list[str]) -> Iterator[set[str]]:
    return (set(names[at : at + BATCH]) for at in range(0, len(names), BATCH))
