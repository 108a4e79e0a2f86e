"""What the transcript gives for a summary without a model, read once."""

from __future__ import annotations

from collections import Counter as Tally
from functools import cached_property

from . import facts as f
from .actions import Work
from .deeds import command_of, path_of
from .facts import TranscriptFacts
from .llm.digest import SummaryRequest
from .names import names_of, words_of
from .people import births_in, spoken
from .redaction import redact
from .requests import Request
from .sections import ANSWERED, TALLY, TASK, births_listed, read_back
from .text.clip import clip

NEWEST = 3  # pieces of work that are listed first, whatever they are
MOST_PEOPLE = 12  # for whom names are listed apart: each costs a label
SOON = 12  # pieces of work within which one that went well can be the fix of one that did not


class Material:
    """What the transcript gives for a summary; read once, whatever becomes of it."""

    def __init__(self, request: SummaryRequest) -> None:
        self.request = request
        size = len(request.sources)
        places = request.places or range(size + len(request.kept))
        self.found = f.gather(request.sources, tuple(places[:size]))
        self.kept = f.gather(request.kept, tuple(places[size:]))
        self.is_coding = self._is_coding()
        self.code, self.kept_code = (f.code_of(facts) if self.is_coding else {} for facts in (self.found, self.kept))
        self.earlier = read_back(redact(request.previous_summary))
        turns = sorted([*self.found.turns, *self.kept.turns], key=lambda turn: turn.place)
        open_before = () if ANSWERED in self.earlier[TASK] else (*self.earlier["Goal"], *self.earlier[TASK])
        self.requests = f.requests_of(turns, open_before)
        self.turns = turns
        self.kept_places = {turn.place for turn in self.kept.turns}
        self.head = tally(self.found, request)
        self.focus = [
            word for word in request.focus.casefold().split() if len(word.encode("utf-8", "surrogatepass")) > 2
        ]
        self.labels = self.found.labels()
        self.plan = self.kept.plan and [] or self.found.plan

    def _is_coding(self) -> bool:
        """Whether files are written here, not less often than other things are changed, and nobody is served."""
        kinds = Tally(work.kind for facts in (self.found, self.kept) for work in facts.work)
        return 0 < kinds["edit"] + kinds["write"] >= kinds["change"] and not self.found.people

    def is_in_focus(self, text: str) -> bool:
        """Whether one of the focus' words stands in the text."""
        lowered = text.casefold()
        return any(word in lowered for word in self.focus)

    @cached_property
    def latest(self) -> Request | None:
        """The newest request that is open; if none is, the newest."""
        asked = [request for request in self.requests if len(request.newest) > 0]
        return next((request for request in reversed(asked) if request.open), asked[-1] if asked else None)

    @cached_property
    def constraints(self) -> list[str]:
        """What people laid down, newest first."""
        return list(self.found.constraints())

    @cached_property
    def work(self) -> tuple[list[Work], list[Work]]:
        """What was done, and what failed to the end; one that something later got over is listed as done."""
        done: list[Work] = []
        failed: list[Work] = []
        fixes: dict[str, tuple[int, Work]] = {}
        for back, work in enumerate(reversed(self.found.work)):
            trouble = work.failed()
            fix = fixes.get(_same_try(work))
            if not trouble:
                done.append(work)
                if work.weight:  # what only shows something is no fix
                    fixes[_same_try(work)] = (back, work)
            elif fix is None or (work.kind != "run" and back - fix[0] > SOON):
                if work.weight or back < NEWEST:
                    failed.append(work)
            elif not fix[1].before:
                fix[1].before = trouble
        return done, failed

    @cached_property
    def went_well(self) -> set[str]:
        """The first two words of commands that did not fail and do more than show something."""
        runs = (work for work in self.work[0] if work.kind == "run" and work.weight)
        return {" ".join(command_of(work.last).split()[:2]) for work in runs}

    @cached_property
    def whose(self) -> dict[int, str]:
        """The person whom the message at a place is about, where there are several."""
        several = len(self.found.people) > 1
        return {turn.place: turn.person for turn in self.found.turns if several and turn.person}

    @cached_property
    def births(self) -> dict[str, str]:
        """Whose each birth date is, of those that were said or that calls were made with."""
        found = births_listed(self.earlier["Identifiers"])
        for turn in self.found.turns:
            for text in (*(call.arguments for call in turn.calls), *(text for _, text in turn.results)):
                found.update(births_in(text))
        used = (date for date in found if (name := self.found.names.get(date)) is None or name.called)
        return {date: " ".join(found[date].split()) for date in used}

    @cached_property
    def owners(self) -> dict[str, str]:
        """For a name said or used only where the talk was about one person: that person."""
        found: dict[str, str] = {}
        if not self.found.people:
            return found
        for turn in self.found.turns:
            for text in (turn.words, *(call.arguments for call in turn.calls)):
                for word in words_of(text) if text else ():
                    for _, name in names_of(word):
                        found[name] = turn.person if found.get(name, turn.person) == turn.person else ""
        owned = {name: person for name, person in found.items() if person and person != name}
        return owned if len(set(owned.values())) <= MOST_PEOPLE else {}


def _same_try(work: Work) -> str:
    """Equal for two tries at the same thing: of commands their first two words, of calls tool and person."""
    deed = work.last
    if work.kind == "run":
        return f"run {' '.join(command_of(deed).split()[:2])}"
    if work.kind in ("edit", "write", "read"):
        return f"{deed.call.name} {path_of(deed)}"
    return f"{deed.call.name} {deed.person}"


def tally(found: TranscriptFacts, request: SummaryRequest) -> str:
    """What the summary was made from, in one line."""
    roles = ", ".join(f"{n:,} {role or 'other'}" for role, n in found.roles.most_common())
    tools = ", ".join(f"{name or '?'} {n:,}" for name, n in found.tools.most_common(6))
    when = f" on {request.today.isoformat()}" if request.today else ""
    days = sorted({turn.day for turn in found.turns if turn.day})
    written = f" of {spoken(days[0])}" + (f" to {spoken(days[-1])}" if len(days) > 1 else "") if days else ""
    focus = f" Focus: {redact(clip(request.focus, f.LINE))}." if request.focus.strip() else ""
    calls = f" Tool calls: {tools}." if tools else ""
    read = f"{TALLY}{when} from {len(request.sources):,} messages ({roles}){written}."
    unread = f" Of the oldest {found.unread:,} nothing was read." if found.unread else ""
    return f"{read}{unread}{calls}{focus} If a newer message contradicts this, the newer message counts."
