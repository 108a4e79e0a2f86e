"""Filling a summary without a model: which of the offered lines of each section fit into the budget.

Theory: the room is given in this order: to the people's requests and instructions, to open work and findings, to what
people said (complete while it takes no more than `PEOPLE` of the room), to the agent's answers, to the work done, and
to names that no other line has. Words are complete while they fit; then long ones are cut to the largest size at which
all fit, and then the oldest are left out. Lines of an earlier summary are carried one by one, after the new lines of
their kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from ..llm.digest import SummaryRequest
from ..policy import MIN_SUMMARY_TOKENS, SMALLEST_BODY_TOKENS
from ..redaction import redact
from ..sections import (
    DONE,
    FOUND,
    INTENT,
    LEFT,
    NAMES,
    NEWER_COUNTS,
    REFERENCES,
    SAID,
    STANDING,
    TALLY,
    TITLES,
    SummaryLine,
    flat,
    said,
    section,
    speaker,
)
from ..text.clip import clip, start_of
from ..tokens import Counter
from .name_lists import NameLists
from .offers import LINE, USER, WORKING, Offers
from .people import spoken
from .reading import Transcript

STANDING_SHARE, INTENT_SHARE = 0.5, 0.15  # of the budget: the most that each takes at once
LEFT_SHARE, FOUND_SHARE, DONE_SHARE = 0.1, 0.08, 0.12  # taken before words of people; more of them if room is left
LOOKED_SHARE, REFERRED_SHARE = 0.12, 0.15  # for what was looked up lately, and for what requests name
PEOPLE, NAMES_SHARE = 0.4, 0.15
LATER_DONE_SHARE = 0.4  # of the remaining room: the most for work done, before the agent's words
TRIES, SPARE = 2, 0.04  # attempts; the share of the budget that may stay free where something was cut
MISSES = 3  # lines that do not fit, after which no further one is tried
AT_LEAST = 40  # tokens: what a section may take however small the budget is
WORTH_A_CUT = 12  # tokens of room for which a line is worth being cut
LEFT_OUT = " (answered)"  # after a person's words if there was no room for the answer
PARAGRAPH = 600  # characters of a line of the agent's words during work


class Offer:
    """Lines that a section may take, the most important first; those that did not fit can be tried again later."""

    def __init__(self, lines: Iterable[SummaryLine]) -> None:
        self.lines, self.waiting = iter(lines), list[SummaryLine]()

    def __iter__(self) -> Iterator[SummaryLine]:
        while self.waiting:
            yield self.waiting.pop(0)
        while (line := next(self.lines, None)) is not None:  # `yield from` would end them with the reader's `break`
            yield line


class Draft:
    """One summary. `taken` are its lines with their sections, in the order in which they were given room."""

    def __init__(self, request: SummaryRequest) -> None:
        self.request, self.count = request, request.count
        self.offers = Offers(request)
        self.taken: list[tuple[str, SummaryLine]] = []
        self.titles: set[str] = set()
        self.left = request.budget_tokens
        self.head = tally(self.offers.transcript, request)
        if self.count(self.head) > request.budget_tokens * 0.2:
            self.head = ""

    def fill(self) -> None:
        """Give each section its share, then the rest to the most important lines. Tries once more if room is left
        although words were cut.
        """
        budget, spare = self.request.budget_tokens, 0
        for _ in range(TRIES):
            self.taken, self.titles, self.offers.cut = [], set(), False
            self.left = budget - self.count(self.head) - 2 + spare
            self._fill()
            free = budget - self.count(self.text())
            if not self.offers.cut or free <= budget * SPARE:
                break
            spare += free

    def _fill(self) -> None:
        """One attempt to fill the room `left`. Brackets before a line cost less than counted, as repeated ones are left
        out later.
        """
        total = self.request.budget_tokens
        self.take(INTENT, Offer(self.offers.intent()), int(total * INTENT_SHARE), cut=True)
        self.take(STANDING, Offer(self.offers.standing()), int(total * STANDING_SHARE), cut=True)
        steps, done = Offer(self.offers.next_steps()), Offer(self.offers.done())
        referred = Offer(self.offers.referred())
        self.take(LEFT, steps, int(total * LEFT_SHARE))
        self.take(FOUND, Offer(self.offers.findings), int(total * FOUND_SHARE))
        self.offers.findings_shown = frozenset(line.text for title, line in self.taken if title == FOUND)
        self.take(DONE, done, int(total * DONE_SHARE))
        self.take(DONE, Offer(self.offers.looked()), int(total * LOOKED_SHARE))
        self.take(REFERENCES, referred, int(total * REFERRED_SHARE))
        people = Offer(self.offers.said_by_people(min(int(total * PEOPLE), self.left)))
        self.take(SAID, people, int(total * PEOPLE))
        names = min(int(total * NAMES_SHARE), self.left // 4)
        work = self._cost_of_work(int(self.left * LATER_DONE_SHARE))
        answers = Offer(self.offers.said_by_agent(self.left - names - work))
        self.take(SAID, answers, self.left - names - work)
        for title, offer in ((LEFT, steps), (DONE, done)):
            self.take(title, offer, self.left - names)
        for title, offer in ((SAID, answers), (REFERENCES, referred)):
            self.take(title, offer, self.left - names)
        self._take_names(min(int(total * NAMES_SHARE), self.left))
        for offer in (answers, people):
            self.take(SAID, offer, self.left)

    def take(self, title: str, offer: Offer, room: int, cut: bool = False) -> None:
        """Take lines while they fit into the room. If none fits, the first may be `cut`."""
        room, missed = min(max(room, AT_LEAST), self.left), list[SummaryLine]()
        for line in offer:
            cost = self._cost(title, line.text)
            if cost > room and cut and title not in self.titles and room >= WORTH_A_CUT:
                heading = self._cost(title, "")
                line = line._replace(text=fitting(line.text, room - heading, self.count))
                cost = heading + self.count(line.text)
            if cost <= room:
                room, self.left = room - cost, self.left - cost
                self.titles.add(title)
                self.taken.append((title, line))
            else:
                missed.append(line)
            if len(missed) == MISSES or room <= 0:
                break
        offer.waiting = missed + offer.waiting

    def _cost(self, title: str, text: str) -> int:
        heading = 0 if title in self.titles else self.count(f"\n\n## {title}\n")
        return self.count(text) + 1 + heading if text else heading

    def text(self) -> str:
        """The summary within its budget: the least important lines are removed while it is too long."""
        budget, lines = self.request.budget_tokens, list(self.taken)
        while (over := self.count(text := self._written(lines)) - budget) > 0 and len(lines) > 1:
            while over > 0 and len(lines) > 1:
                over -= max(self.count(lines.pop()[1].text) // 2, 1)
        if over <= 0 or not lines:
            return text
        [(title, line)] = lines
        room = budget - self.count(f"## {title}\n") - 1
        if room >= SMALLEST_BODY_TOKENS:
            return f"## {title}\n{fitting(line.text, room, self.count)}"
        return fitting(line.text, budget, self.count)

    def _written(self, chosen: Sequence[tuple[str, SummaryLine]]) -> str:
        lines: dict[str, list[SummaryLine]] = {title: [] for title in TITLES}
        for title, line in chosen:
            lines[title].append(line)
        lines[SAID] = joined(self._marked(lines[SAID]))
        return "\n\n".join(filter(None, [self.head, *(section(title, lines[title]) for title in TITLES)]))

    def _marked(self, lines: Sequence[SummaryLine]) -> Iterator[SummaryLine]:
        """The lines of what was said, with a note if there was no room for a line's answer, unless the budget is too
        small for that.
        """
        if self.request.budget_tokens < MIN_SUMMARY_TOKENS:
            yield from lines
            return
        there = {line.at for line in lines} | self.offers.kept_places
        for line in lines:
            answer = self.offers.answer_to.get(int(line.at), None)
            is_asked = speaker(line.text[2:])[0] == USER and answer is not None
            yield line._replace(text=f"{line.text}{LEFT_OUT}") if is_asked and answer not in there else line

    def _cost_of_work(self, most: int) -> int:
        """Tokens of the lines about work done, new and from an earlier summary, that are not taken
        yet; at most `most`.
        """
        chosen = {line.text for title, line in self.taken if title == DONE}
        new = (self.offers.work_line(work).text for work in self.offers.work if work.weight)
        cost = 0
        for text in chain(new, (line.text for line in self.offers.done_before)):
            cost += self.count(text) + 1 if text not in chosen else 0
            if cost >= most:
                return most
        return cost

    def _take_names(self, room: int) -> None:
        standing = "\n".join(line.text for _, line in self.taken)
        names = NameLists(self.offers.transcript, self.offers.kept, self.offers.earlier[NAMES], standing)
        self.take(NAMES, Offer(names.lines(room - self._cost(NAMES, ""), self.count)), room)


def tally(transcript: Transcript, request: SummaryRequest) -> str:
    """One line about the material of the summary."""
    when = f" on {request.today.isoformat()}" if request.today else ""
    days = transcript.days
    written = f" of {spoken(days[0])}" + (f" to {spoken(days[-1])}" if len(days) > 1 else "") if days else ""
    focus = f" Focus: {flat(redact(clip(request.focus, LINE)))}." if request.focus.strip() else ""
    tools = ", ".join(f"{name or '?'} {n:,}" for name, n in transcript.tools.most_common(6))
    calls = f", tool calls: {tools}" if tools else ""
    unread = f" Of the oldest {transcript.unread:,} nothing was read." if transcript.unread else ""
    return f"{TALLY}{when} from {len(request.sources):,} messages{written}{calls}.{unread}{focus} {NEWER_COUNTS}"


def joined(lines: Iterable[SummaryLine]) -> list[SummaryLine]:
    """What was said, in order, with brackets only when they change; consecutive remarks of the working agent are joined
    into one line.
    """
    result: list[SummaryLine] = []
    last, last_who = "", ""
    for line in sorted(lines, key=lambda line: line.at):
        who, about, words = speaker(line.text[2:])
        if who == last_who == WORKING and about == last:
            text = result[-1].text
            space = " " if len(text) - text.rfind("\n") < PARAGRAPH else "\n  "
            result[-1] = result[-1]._replace(text=f"{text}{space}{words}")
            continue
        text = f"- {said(who, about if about != last else '', words)}" if who else line.text
        result.append(SummaryLine(text, len(result)))
        last, last_who = about or last, who
    return result


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
