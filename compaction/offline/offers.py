"""The lines that each section of a summary without a model can have, from the transcript and an earlier summary."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain

from ..constraints import instructions, is_binding
from ..folders import BELOW, shared_folders
from ..lines import distinct, unwrapped
from ..llm.digest import SummaryRequest
from ..messages import is_system
from ..policy import MIN_SUMMARY_TOKENS
from ..polite import is_closing, plain, says_little
from ..redaction import redact
from ..replacing import replaced
from ..sections import (
    ANSWERED,
    ASKED,
    CLOSED,
    DONE,
    DROPPED,
    EARLIER,
    FAILED,
    FOUND,
    INTENT,
    LEFT,
    OPEN,
    REFERENCES,
    SAID,
    STANDING,
    UNCOMMITTED,
    SummaryLine,
    as_earlier,
    bullet,
    flat,
    read_back,
    said,
    speaker,
    start,
    unmarked,
)
from ..sentences import sentences
from ..stems import stems_of
from ..text.clip import clip
from ..tokens import Counter
from .asks import (
    Request,
    alike,
    answer_in_short,
    before_all,
    in_short,
    is_assent,
    names_in,
    question_in,
    requests_in,
    said_over_and_over,
    without_paste,
)
from .findings import announces, findings_in, is_diagnosis, names_something, open_tasks_in
from .people import spoken
from .reading import Turn, blocks_in, ends_of, read
from .tables import Tables
from .tool_calls import COMMIT, command_of, path_of
from .work import Work, settled

_OLDER = 10_000_000  # messages in front of an earlier summary have places further back than any of its lines
RECENT_CALLS = 40  # in which a failure may still be unfixed
NEW_SHARE = 0.3  # of the room for what was said: the least for what is new
# Characters to which words are cut if they do not fit completely.
SIZES = tuple(int(4_000 * 0.86**step) for step in range(22))
GOAL, LINE = 300, 300  # characters of a line of intent, of what was done
MOST_COMPARED = 200  # instructions that an older one is compared with: the newest
MOST_REQUESTS, MOST_FINDINGS, MOST_OPEN, MOST_REFERRED = 12, 15, 10, 4  # lines
REFERRED, SHORTEST = 5_000, 60  # characters of what was printed about a name in a request: the most, the fewest
# Replies searched for open tasks, and those that ended a turn: tasks in older ones may be done by now.
RECENT_REPLIES = 6
UNKNOWN = "unknown"  # whom a message is about, where several people are served and nothing names one
USER, AGENT, WORKING = "User", "Agent", "Agent, working"  # who says a line, and when
_BOXES = (OPEN, CLOSED, ASKED, ANSWERED, DROPPED)  # in summaries of models, boxes of plans are used for requests
_WISH = re.compile(r"(?i)\b(?:I|we)(?:['’](?:d|m|re)| would| want| need| prefer| am| are| (?:don['’]t|do not) want)\b")
_ROLE = re.compile(  # what an agent is there for: "You answer our customers here."
    r"(?i)you (?:are|act|work|help|serve|answer|handle|review|translate|moderate|manage|assist)\b[^?？]*$"
)


class Offers:
    """The lines that each section can have, the most important first. `cut`: words were cut to a size; `findings_shown`
    are the findings already taken, which the agent's words need not repeat.
    """

    def __init__(self, request: SummaryRequest) -> None:
        self.request, self.count = request, request.count
        size = len(request.sources)
        places = [
            place if place >= request.since else place - _OLDER
            for place in request.places or range(size + len(request.kept))
        ]
        rows = list(zip(places, (*request.sources, *request.kept), strict=True))
        in_order = sorted((row for row in rows if not is_system(row[1])), key=lambda row: row[0])
        blocks = blocks_in(in_order, goes_on=bool(request.previous_summary))
        self.transcript, self.kept = read(rows[:size], blocks), read(rows[size:], blocks)
        self.earlier = read_back(redact(request.previous_summary))
        self.turns = sorted([*self.transcript.turns, *self.kept.turns], key=lambda turn: turn.place)
        self.kept_places = {turn.place for turn in self.kept.turns}
        self.several, self.dated = len(self.transcript.people) > 1, len(self.transcript.days) > 1
        self.ends = ends_of(self.turns)
        self.focus = [word for word in request.focus.casefold().split() if len(word) > 2]
        self.requests_before = self._requests_before()
        self.harness = said_over_and_over(turn.words for turn in self.turns if turn.typed and turn.words.strip())
        older = requests_in([turn for turn in self.turns if is_older(turn)], self.harness)
        newer = [turn for turn in self.turns if not is_older(turn)]
        self.requests = requests_in(newer, self.harness, before_all(older, self.requests_before))
        self.findings_shown: frozenset[str] = frozenset()
        self.cut = False

    @cached_property
    def _settled(self) -> tuple[list[Work], list[Work]]:
        """`work` and `failed`."""
        done, failed = settled([*self.transcript.work(), *self.kept.work()])
        leaving = [[work for work in works if work.last.at not in self.kept_places] for works in (done, failed)]
        return leaving[0], leaving[1]

    @property
    def work(self) -> list[Work]:
        """What was done, the newest first."""
        return self._settled[0]

    @property
    def failed(self) -> list[Work]:
        """What failed to the end, the newest first."""
        return self._settled[1]

    def _focused(self, lines: Iterable[SummaryLine]) -> Iterator[SummaryLine]:
        """The lines, with those about the focus first."""
        if not self.focus:
            return iter(lines)
        return iter(sorted(lines, key=lambda line: not self._is_in_focus(line.text)))

    def _is_in_focus(self, text: str) -> bool:
        lowered = text.casefold()
        return any(word in lowered for word in self.focus)

    # --- intent ------------------------------------------------------------------------------------------------------
    def _requests_before(self) -> list[Request]:
        """The requests in an earlier summary: the box shows whether one is open, and the first line is the session's
        first request.
        """
        boxed = [line for line in self.earlier[INTENT] if line.startswith(_BOXES)]
        size = len(boxed)
        requests: list[Request] = []
        for at, line in enumerate(boxed):
            box, _, rest = line.partition("] ")
            text, _, below = rest.rpartition("\n")
            who, _, answer = speaker(below)
            if who != AGENT:
                text, answer = rest, ""
            is_open, dropped = f"{box}] " in (OPEN, ASKED), f"{box}] " == DROPPED
            requests.append(Request(at - size, text, "", answer, is_open, first=not at, dropped=dropped))
        return requests

    @cached_property
    def newest(self) -> Request | None:
        """The newest open request; if none is open, the newest request."""
        requests = [each for each in self.requests if not self._only_binds(each)] or self.requests
        return next((each for each in reversed(requests) if each.open), requests[-1] if requests else None)

    def _only_binds(self, request: Request) -> bool:
        """Whether a request consists only of standing instructions, which have their own section."""
        return not request.later and only_instructs(request.opening, self.laid_down.get(request.place))

    def intent(self) -> Iterator[SummaryLine]:
        """The newest request, the first one of the session, and the open ones; each with a box."""
        first = next((each for each in self.requests if each.first and not self._only_binds(each)), None)
        others = [each for each in reversed(self.requests) if each.open and not self._only_binds(each)][:MOST_REQUESTS]
        seen: set[int] = set()
        roomy = self.request.budget_tokens >= MIN_SUMMARY_TOKENS
        for each in filter(None, (self.newest, first, *others)):
            if id(each) in seen or (each is not self.newest and each.place in self.kept_places):
                continue
            seen.add(id(each))
            whose = f"{person}: " if (person := self.person_at.get(each.place)) else ""
            text = in_short(each.opening, GOAL)
            if each is self.newest and each.later and not is_assent(each.later):
                text += f" -> {in_short(each.later, GOAL)}"
            answer = ""
            if each.open and each.answer and roomy and each.place not in self.kept_places:
                answer = f"\n  {AGENT}: {flat(redact(answer_in_short(each.answer, GOAL // 2)))}"
            at = -float("inf") if each.first else each.place
            box = ASKED if each.open else DROPPED if each.dropped else ANSWERED
            yield SummaryLine(f"- {box}{flat(whose + redact(text))}{answer}", at)
        unboxed = (line for line in self.earlier[INTENT] if not line.startswith(_BOXES))
        yield from (SummaryLine(bullet(line), 1e8 + at) for at, line in enumerate(unboxed))

    # --- standing instructions ---------------------------------------------------------------------------------------
    def standing(self) -> Iterator[SummaryLine]:
        """The standing instructions of people, word for word, the newest first."""
        newer: list[str] = []
        older: list[str] = []
        for turn in reversed(self.transcript.turns):
            given = reversed(self.laid_down.get(turn.place, []))
            (older if is_older(turn) else newer).extend(self._labelled(turn, each) for each in given)
        lines = self._unreplaced(distinct(chain(newer, reversed(self.earlier[STANDING]), older)))
        return self._focused(SummaryLine(f"- {flat(line)}", -at) for at, line in enumerate(lines))

    @cached_property
    def laid_down(self) -> dict[int, list[str]]:
        """The standing instructions in typed messages, by the message's place. Wishes of a person who is no longer
        served are left out.
        """
        served = next((turn.person for turn in reversed(self.turns) if turn.person), "")
        first = next((turn.place for turn in self.turns if turn.person), 0)
        by_place: dict[int, list[str]] = {}
        for turn in self.turns:
            if not (turn.typed and turn.words) or alike(turn.words) in self.harness:
                continue
            pieces = list(sentences(plain(turn.words)))
            given = list(instructions(pieces))
            if not (by_place or self.requests_before) and all(_ROLE.match(each) or each in given for each in pieces):
                given = pieces  # it says what the agent is there for
            gone = self.several and turn.person != served and turn.place >= first
            by_place[turn.place] = [each for each in given if not (gone and _WISH.search(each))]
        return by_place

    def _unreplaced(self, lines: Iterable[str]) -> Iterator[str]:
        """Instructions, the newest first, without those that a newer one of the same person replaces or repeats."""
        newer: list[tuple[str, str]] = []
        for line in lines:
            whose, _, text = line.partition(": ") if self.several or self.dated else ("", "", line)
            person = whose.partition(",")[0] if self.several else ""
            same = (other for who, other in newer[:MOST_COMPARED] if who == person)
            if not any(text.casefold() == other.casefold() or replaced(text, other) for other in same):
                newer.append((person, text))
                yield line

    def _whose(self, turn: Turn) -> str:
        """Person and day of a message, as in "mia_li_3668, 15 July 2026", each only if known and if the transcript has
        several.
        """
        parts = [(turn.person or UNKNOWN) if self.several else "", spoken(turn.day) if self.dated and turn.day else ""]
        return ", ".join(filter(None, parts))

    def _labelled(self, turn: Turn, text: str) -> str:
        whose = self._whose(turn)
        return f"{whose}: {flat(text)}" if whose else flat(text)

    @cached_property
    def person_at(self) -> dict[int, str]:
        """The person that the message at a place is about, if there are several persons."""
        return {turn.place: turn.person for turn in self.transcript.turns if self.several and turn.person}

    # --- what was said -----------------------------------------------------------------------------------------------
    @cached_property
    def words_of_people(self) -> list[tuple[Turn, str]]:
        """What people said, in order, with pastes cut. Repetitions count once; thanks and instructions are left out."""
        often: dict[str, list[Turn]] = {}
        for turn in self.transcript.turns:
            if turn.typed and not is_closing(turn.words):
                often.setdefault(alike(turn.words), []).append(turn)
        once = [
            (same[-1], len(same))
            for same in often.values()
            if not only_instructs(same[-1].words, self.laid_down.get(same[-1].place))
        ]
        return [(turn, f"{without_paste(plain(turn.words))}{f' ({n} times)' if n > 1 else ''}") for turn, n in once]

    @cached_property
    def answer_to(self) -> dict[int, int]:
        """For the place of a message that began a turn, the place of the reply that ended it, if it is one of
        `replies`.
        """
        answers: dict[int, int] = {}
        replies = {turn.place for turn, _ in self.replies[AGENT]}
        question: int | None = None
        for turn in self.turns:
            if turn.typed:
                question = turn.place
            elif turn.place in replies and question is not None:
                answers[question] = turn.place
        return answers

    def said_by_people(self, room: int) -> Iterator[SummaryLine]:
        """What people said, complete if it fits; else only the first, open and newest requests are complete, and others
        are cut.
        """
        earlier = [line for line in self.earlier[SAID] if speaker(line)[0] == USER]
        size = self._size([text for _, text in self.words_of_people], earlier, room)
        important = {each.place for each in self.requests if each.open or each.first}
        lines = [
            self._line(turn, USER, text if turn.place in important or len(text) <= size else in_short(text, size))
            for turn, text in self.words_of_people
        ]
        lines.sort(key=lambda line: (line.at not in important, -line.at))
        return self._focused([*lines, *self._carried(earlier)])

    @cached_property
    def replies(self) -> dict[str, list[tuple[Turn, str]]]:
        """What the agent said, by when it said it, the newest first. Repetitions count once; replies such as "Noted."
        are left out.

        Read it after the findings are taken, which it does not repeat.
        """
        replies = [turn for turn in self.transcript.turns if turn.is_reply and not says_little(turn.words)]
        once = {alike(turn.words): turn for turn in replies}
        texts: dict[str, list[tuple[Turn, str]]] = {AGENT: [], WORKING: []}
        remarked: set[str] = set()
        for turn in sorted(once.values(), key=lambda turn: -turn.place):
            if turn.place in self.ends:
                texts[AGENT].append((turn, turn.words))
            elif remarks := [each for each in self._remarks(turn) if alike(each) not in remarked]:
                remarked.update(map(alike, remarks))
                texts[WORKING].append((turn, " ".join(remarks)))
        tables = Tables()
        texts[AGENT] = [(turn, tables.shorter(text)) for turn, text in reversed(texts[AGENT])][::-1]
        return texts

    def said_by_agent(self, room: int) -> Iterator[SummaryLine]:
        """The agent's answers at the end of its turns, then its words during work; the newest first."""
        earlier = [line for line in self.earlier[SAID] if speaker(line)[0] != USER]
        texts = self.replies
        size = self._size([text for pairs in texts.values() for _, text in pairs], earlier, room)
        carried = list(self._carried(earlier))
        asked = frozenset(stems_of(self.newest.words) if self.newest and self.newest.open else ())
        lines: list[SummaryLine] = []
        for who, said_by in texts.items():
            lines += (
                self._line(turn, who, text if len(text) <= size else answer_in_short(text, size, asked))
                for turn, text in said_by
            )
            lines += (line for line in carried if speaker(line.text[2:])[0] == who)
        lines += (line for line in carried if not speaker(line.text[2:])[0])
        return self._focused(lines)

    def _remarks(self, turn: Turn) -> Iterator[str]:
        """The agent's words during work, without findings already taken and announcements of the next step."""
        for each in sentences(turn.words.replace("```", "")):
            first = f"- {self._labelled(turn, each)}" in self.findings_shown
            if not (first or announces(each)) and (len(each.split()) > 2 or names_something(each)):
                yield each

    def _line(self, turn: Turn, who: str, text: str) -> SummaryLine:
        return SummaryLine(bullet(said(who, self._whose(turn), text)), turn.place)

    def _size(self, texts: Sequence[str], earlier: Sequence[str], room: int) -> int:
        """Characters to which new text is cut so that it fits next to the lines of an earlier summary."""
        carried = sum(self.count(line) + 1 for line in earlier)
        size = longest(texts, max(room - carried, int(room * NEW_SHARE)), self.count)
        self.cut = self.cut or any(len(text) > size for text in texts)
        return size

    def _carried(self, lines: Sequence[str]) -> Iterator[SummaryLine]:
        """Lines of an earlier summary, the newest first, placed before the new ones."""
        places = {line: at - len(self.earlier[SAID]) - 1 for at, line in enumerate(self.earlier[SAID])}
        return (SummaryLine(bullet(line), places[line]) for line in reversed(lines))

    # --- findings, what is left --------------------------------------------------------------------------------------
    @cached_property
    def findings(self) -> list[SummaryLine]:
        """Findings and decisions, the newest first."""
        turns = [turn for turn in reversed(self.transcript.turns) if turn.words and (turn.is_reply or turn.typed)]
        # Words at the end of a turn count more than words during work.
        turns.sort(key=lambda turn: turn.is_reply and turn.place not in self.ends)
        question_places = [turn.place for turn in self.transcript.turns if turn.typed]
        diagnosed: set[int] = set()
        new: list[tuple[str, int]] = []
        for turn in turns:
            for each in reversed(list(findings_in(turn.words, turn.typed, ended=turn.place in self.ends))):
                if turn.typed and is_binding(each):
                    continue
                if is_diagnosis(each):  # of the causes that are named while one thing is looked for, the last
                    if (since := bisect(question_places, turn.place)) in diagnosed:
                        continue
                    diagnosed.add(since)
                new.append((self._labelled(turn, each), turn.place))
        size = len(self.earlier[FOUND])
        earlier = ((line, at - size) for at, line in reversed(list(enumerate(self.earlier[FOUND]))))
        lines = chain(new[:MOST_FINDINGS], earlier)
        return list(self._focused(distinct_lines(SummaryLine(bullet(text), place) for text, place in lines)))

    def referred(self) -> Iterator[SummaryLine]:
        """Tool output about the things that requests name: a ticket, a plan, a page.

        First output about the exact name, then about a name that contains it ("SHOP-12.3"); in each group the newest
        first.
        """
        requests = [each for each in self.requests if each.open or each.first or each is self.newest]
        names = sorted({name for each in requests for name in names_in(each.opening)})
        printing = [call for call in self.transcript.calls if call.prints_text]
        parts, very = _naming(names, r"(?![\w/-])"), _naming(names, r"(?![\w/-]|\.\w)")
        matching = [call for call in printing if parts.search(call.call.arguments)]
        matching.sort(key=lambda call: bool(very.search(call.call.arguments)))
        seen: set[str] = set()
        for call in reversed(matching):
            text, name = unwrapped(call.outcome or "").strip(), Work(call.kind, [call]).name(80)
            is_text = len(text) > SHORTEST and text.count(" ") > len(text) / 20
            if is_text and len(seen) < MOST_REFERRED and name not in seen:
                seen.add(name)
                yield SummaryLine(bullet(f"{name}: {redact(start(text, REFERRED))}"), call.at)
        size = len(self.earlier[REFERENCES])
        for at, each in reversed(list(enumerate(self.earlier[REFERENCES]))):
            if not any(each.startswith(f"{name}: ") for name in seen):
                yield SummaryLine(bullet(each), at - size)

    def next_steps(self) -> Iterator[SummaryLine]:
        """The plan's open steps, work that failed to the end, open tasks, the open question, then completed steps."""
        steps = [] if self.kept.plan else self.transcript.plan
        boxes = [(at, flat(redact(step.line()))) for at, step in enumerate(steps)]
        yield from (SummaryLine(f"- {text}", at) for at, text in boxes if not text.startswith(CLOSED))
        yield from self._still_failing()
        yield from (SummaryLine(f"- {clip(text, 2 * LINE)}", 5e4 + at) for at, text in enumerate(self._uncommitted()))
        open_tasks = list(distinct(self._open_tasks()))[:MOST_OPEN]
        yield from (SummaryLine(f"- {each}", 1e5 - at) for at, each in enumerate(open_tasks))
        if question := self._open_question():
            yield SummaryLine(f"- Asked the user: {flat(question)}", 1e6)
        yield from (SummaryLine(f"- {text}", at) for at, text in boxes if text.startswith(CLOSED))
        had_plan = bool(self.transcript.plan or self.kept.plan)
        gone = ((OPEN, CLOSED) if had_plan else ()) + ((FAILED, UNCOMMITTED) if self.work else ())
        earlier = [each for each in self.earlier[LEFT] if not each.removeprefix(EARLIER).startswith(gone)]
        yield from (SummaryLine(bullet(as_earlier(each)), at - 1e6) for at, each in reversed(list(enumerate(earlier))))

    def _open_tasks(self) -> Iterator[str]:
        """Open tasks in the newest replies, the newest first. From older replies that ended a turn only tasks about
        which nothing was said or done since.
        """
        replies = [turn for turn in self.transcript.turns if turn.is_reply]
        recent = {turn.place for turn in replies[-RECENT_REPLIES:]}
        ended = {turn.place for turn in [turn for turn in replies if turn.place in self.ends][-RECENT_REPLIES:]}
        for turn in reversed(replies):
            if turn.place not in recent | ended:
                continue
            for each in reversed([*open_tasks_in(turn.words)]):
                if turn.place in recent or (names := names_in(each)) and not self._named_since(names, turn.place):
                    yield flat(each)

    def _named_since(self, names: set[str], place: int) -> bool:
        """Whether the agent mentioned one of these names after this place, or called a tool with it."""
        later = self.turns[bisect(self.turns, place, key=lambda turn: turn.place) :]
        texts = chain.from_iterable([turn.words, *(call.arguments for call in turn.calls)] for turn in later)
        return any(name in text for text in texts for name in names)

    def _uncommitted(self) -> list[str]:
        """The files that were edited after the newest commit, by folder, if the agent commits at all."""
        commits = [work.last.at for work in self.work if work.kind == "run" and COMMIT.search(command_of(work.last))]
        if not commits or any(COMMIT.search(command_of(call)) for call in self.kept.calls if call.kind == "run"):
            return []
        edits = (
            work.last for work in reversed(self.work) if work.kind in ("edit", "write") and work.last.at > max(commits)
        )
        files = [flat(path_of(call)) for call in edits]
        shared = shared_folders(files)
        below: dict[str, list[str]] = {}
        for file in files:
            below.setdefault(shared.get(file, ""), []).append(file)
        return [
            f"{UNCOMMITTED}edited{BELOW}{folder}: {' '.join(file[len(folder) + 1 :] for file in listed)}"
            if folder
            else f"{UNCOMMITTED}edited: {' '.join(listed)}"
            for folder, listed in below.items()
        ]

    def _still_failing(self) -> Iterator[SummaryLine]:
        """Recent failures that were not fixed later; for older ones that is not known."""
        seen: set[str] = set()
        recent = {id(call) for call in self.transcript.calls[-RECENT_CALLS:]}
        for at, work in enumerate(self.failed):
            if id(work.last) in recent and (message := work.failed()) not in seen:
                seen.add(message)
                yield SummaryLine(f"- {FAILED}{flat(clip(work.error(LINE // 2, self.dated), LINE))}", 1e4 - at)

    def _open_question(self) -> str:
        turns = [turn for turn in self.turns if turn.words.strip() and (turn.typed or turn.is_reply)]
        if not turns or turns[-1].typed or turns[-1].calls or turns[-1].place in self.kept_places:
            return ""
        return clip(question_in(turns[-1].words), LINE)

    # --- what was done -----------------------------------------------------------------------------------------------
    def done(self) -> Iterator[SummaryLine]:
        """Work that changed or ran something, the newest first, mixed with lines of an earlier summary."""
        lines = self._focused(self.work_line(work) for work in sorted(self.work, key=_work_order) if work.weight)
        return distinct_lines(mixed(lines, iter(self.done_before)))

    @cached_property
    def done_before(self) -> list[SummaryLine]:
        """The work done according to an earlier summary, the newest first, one line each."""
        pieces = [piece for text in self.earlier[DONE] for piece in text.split("\n") if not piece.startswith("```")]
        texts = [f"- {clip(flat(unmarked(piece)), LINE)}" for piece in pieces]
        return [SummaryLine(text, at - len(texts)) for at, text in reversed(list(enumerate(texts)))]

    def looked(self) -> Iterator[SummaryLine]:
        """What was only looked up for the newest request. Contents of files and shell commands are left out, unless
        there was no other work.
        """
        idle = not any(work.weight for work in self.work)
        since = self.newest.place if self.newest else -1
        looks = (work for work in self.work if not work.weight and work.kind != "read" and work.last.at > since)
        return distinct_lines(self.work_line(work, 2 * LINE) for work in looks if idle or work.looks_up)

    def work_line(self, work: Work, most: int = LINE) -> SummaryLine:
        """One line about a piece of work; its parts are shortened if the line would be too long."""
        for detail in (most // 2, most // 3, most // 4):
            text = flat(work.done(detail, self.dated))
            if len(text) <= most:
                break
        return SummaryLine(f"- {clip(text, most)}", work.last.at)


def is_older(turn: Turn) -> bool:
    """Whether a message is older than the earlier summary."""
    return turn.place < 0


def longest(texts: Sequence[str], room: int, count: Counter) -> int:
    """The largest number of characters per text at which all texts fit into the room."""
    sizes = [(len(text), count(text) + 8) for text in texts]
    for most in (max((length for length, _ in sizes), default=0), *SIZES):
        if sum(tokens if length <= most else tokens * most // length for length, tokens in sizes) <= room:
            return most
    return SIZES[-1]


def distinct_lines(lines: Iterable[SummaryLine]) -> Iterator[SummaryLine]:
    """The lines without repetitions, ignoring case."""
    seen: set[str] = set()
    for line in lines:
        if (key := line.text.casefold()) not in seen:
            seen.add(key)
            yield line


def mixed(new: Iterator[SummaryLine], earlier: Iterator[SummaryLine]) -> Iterator[SummaryLine]:
    """The new lines, with one earlier line after every three, so that old work is not dropped all at once."""
    for at, line in enumerate(new, 1):
        yield line
        if at % 3 == 0:
            yield from (each for each in [next(earlier, None)] if each)
    yield from earlier


def _naming(names: Sequence[str], end: str) -> re.Pattern[str]:
    """A pattern for any of the names as a whole word, not as a directory of a path, unless the name is a path."""
    whole = (rf"(?<![\w.{'' if '/' in name else '/'}-]){re.escape(name)}{end}" for name in names)
    return re.compile("|".join(whole) or r"(?!)")


def only_instructs(text: str, laid_down: Sequence[str] | None) -> bool:
    """Whether a message consists only of standing instructions, which have their own section."""
    pieces = list(sentences(plain(text)))
    return len(list(instructions(pieces)) if laid_down is None else laid_down) == len(pieces)


def _work_order(work: Work) -> tuple[bool, int, int]:
    """Sort key for work: the most changing first, then the newest; files without further details last."""
    return (work.is_plain, -work.weight, -work.last.at)
