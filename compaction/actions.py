"""What was done, a line for each thing it was done to: a file, a command, a reservation, a ticket.

Calls on the same thing are one piece of work: how often, for whom, what came of it, and what failed before it went
well. Kinds of tools are known by their names (`deeds`, `wording`); what is of no known kind is listed as a call with
its outcome. What failed to the end is no work done: it is listed among the errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date

from . import wording
from .code import called_in, defined_in
from .deeds import COMMIT, ESCAPES, LONG_COMMAND, Deed, Kind, command_of, key_of, path_of, raw_command, shows
from .lines import arguments_of, legible_name, line_count, outcome, parsed, unwrapped
from .made import made_by
from .people import spoken
from .redaction import redact
from .text.clip import clip

_TEXTS = (
    *("content", "new_string", "new_str", "replace", "file_text", "replacement_text"),
    *("patch", "new_source", "code", "diff"),
)
_SUMMARY = re.compile(
    r"(?i)^.*\b(?<!mode )\d+ (?:tests?|passed|passing|failed|examples?|specs?|failures?|errors?|warnings?"
    r"|files? changed|insertions?)\b.*$",
    re.MULTILINE,
)
_PROMPTS = re.compile(r"^(?:\(Open file: .*\)|\(Current directory: .*\)|bash-\$)[ \t]*$", re.MULTILINE)  # SWE-agent
_ROOMY = 160  # characters of detail from which on an edit that names nothing is quoted
_LONG_ASKED = 8  # characters of an argument that an output does not have by chance
MOST_THEN = 3  # calls of one tool on one thing that are listed
_SHORT_RESULT = 300  # characters of a result that is no record of its own
_NAMED = 12  # names of code told of a file


@dataclass(slots=True)
class Work:
    """All that was done to one thing, oldest first."""

    kind: Kind
    deeds: list[Deed] = field(default_factory=list)
    before: str = ""  # what went wrong in another call, which this one got over
    _troubles: list[str] | None = None

    @property
    def last(self) -> Deed:
        """The newest call."""
        return self.deeds[-1]

    @property
    def weight(self) -> int:
        """How much it is worth telling: what changes something most, what only looks least."""
        if self.kind in ("edit", "write", "change"):
            return 3
        if self.kind == "run":
            command = command_of(self.last)
            return 3 if COMMIT.search(command) else 0 if shows(command) else 2
        return 0 if self.kind in ("read", "look") else 1

    @property
    def is_plain(self) -> bool:
        """Whether there is no more to tell than that a file was written or edited."""
        return self.kind in ("edit", "write") and not (any(self.troubles()) or _code_names(self))

    def troubles(self) -> list[str]:
        """What went wrong in each call, "" where nothing did."""
        if self._troubles is None:
            self._troubles = [deed.trouble() for deed in self.deeds]
        return self._troubles

    def failed(self) -> str:
        """What went wrong the last time, "" if it went well or is not known."""
        return self.troubles()[-1]

    def done(self, detail: int, dated: bool) -> str:
        """The work in one sentence."""
        text = _TELLERS.get(self.kind, _told_call)(self, detail)
        return _dated(text, self.last.day if dated else None)

    def error(self, detail: int, dated: bool) -> str:
        """What is wrong with it to the end."""
        times = f" ({len(self.deeds)} times)" if len(self.deeds) > 1 else ""
        return _dated(
            f"{self.name(detail)}{times}: {clip(self.failed(), 2 * detail)}", self.last.day if dated else None
        )

    def name(self, detail: int) -> str:
        """What it is about: a command, a file, a call."""
        if self.kind == "run":
            return f"`{clip(raw_command(self.last), max(detail, LONG_COMMAND))}`"
        if self.kind in ("edit", "write", "read"):
            tool = "edit" if "command" in self.last.arguments else legible_name(self.last.call.name)
            return f"{tool} {path_of(self.last)}"
        return f"{legible_name(self.last.call.name)}({clip(arguments_of(self.last.call.arguments), detail)})"

    def counts(self, most: int) -> str:
        """` -> 76 tests, 0 failures` where the last output of a command counts what it did."""
        text = ESCAPES.sub("", unwrapped(self.last.outcome or ""))
        found = _SUMMARY.findall(text[-4_000:])
        return f" -> {clip(found[-1], most)}" if found else ""

    def overcome(self, detail: int) -> str:
        """` (a try failed before: ...)` where an earlier call failed and the last did not."""
        failures = [
            *([self.before] if self.before else []),
            *(failure for failure in self.troubles() if failure),
        ]
        if not failures or self.failed():
            return ""
        tries = "a try" if len(failures) == 1 else f"{len(failures)} tries"
        return f' ({tries} failed before: "{clip(failures[-1], detail)}")'


# --- telling ---------------------------------------------------------------------------------------------------------
def _dated(text: str, day: date | None) -> str:
    return f"{spoken(day)}: {text}" if day else text


def _told_file(work: Work, detail: int) -> str:
    """`Edited /a/b.py (3 edits); it defines x, y`."""
    writes = [deed for deed, said in zip(work.deeds, work.troubles(), strict=True) if deed.kind == "write" and not said]
    edits = [deed for deed, said in zip(work.deeds, work.troubles(), strict=True) if deed.kind == "edit" and not said]
    path = path_of(work.last)
    if writes:
        created = "creat" in (writes[0].outcome or "")[:200].lower()
        text = f"{'Created' if created else 'Wrote'} {path}{times(len(writes))}"
        text += f", then edited it{times(len(edits))}" if edits else ""
    else:
        text = f"Edited {path} ({len(edits)} edit{'s' * (len(edits) != 1)})"
    names = _code_names(work)
    told = f"; code: {' '.join(_fitting(names, 2 * detail))}" if names else ""
    if not names and edits and detail >= _ROOMY and (new := written_in(edits[-1])):
        told = f': "{clip(redact(new[0]), detail // 2)}"'
    return f"{text}{work.overcome(detail)}{told}"


def _code_names(work: Work) -> list[str]:
    """Names that the newest edits define, or else call, the newest first."""
    texts = [
        text for deed in reversed(work.deeds) for key in _TEXTS if isinstance(text := deed.arguments.get(key), str)
    ]
    defined = dict.fromkeys(name for text in texts[:8] for name in defined_in(text[:20_000]))
    called = dict.fromkeys(name for text in texts[:8] for name in called_in(text[:20_000]))
    return [redact(name) for name in [*(defined or called)][:_NAMED]]


def written_in(deed: Deed) -> list[str]:
    """The code or text that a call writes into a file."""
    if deed.kind not in ("edit", "write"):
        return []
    edits = deed.arguments.get("edits")
    each = [deed.arguments, *(e for e in (edits if isinstance(edits, list) else []) if isinstance(e, dict))]
    return [text for values in each for key in _TEXTS if isinstance(text := values.get(key), str)]


def _fitting(names: list[str], most: int) -> Iterator[str]:
    """The first names that come to at most so many characters."""
    for name in names:
        most -= len(name) + 1
        if most < 0:
            return
        yield name


def times(n: int) -> str:
    """` (3 times)`; nothing for once."""
    return f" ({n} times)" if n > 1 else ""


def _told_command(work: Work, detail: int) -> str:
    """`Ran `npm test` (3 times; a try failed before: "..."): 12 passed`."""
    shown = _result(work.last, detail, last=not shows(command_of(work.last)))
    return f"Ran {work.name(detail)}{times(len(work.deeds))}{work.overcome(detail)}: {shown}"


def _result(deed: Deed, detail: int, last: bool) -> str:
    """What a call gave back, in a line: the count of a test run, else how a program's output ends or a text begins."""
    if deed.outcome is None:
        return "no result yet"
    text = _PROMPTS.sub("", ESCAPES.sub("", unwrapped(deed.outcome))).strip()
    if text[:1] in ("{", "[") and (value := parsed(text)):
        return wording.in_words(value, 2 * detail)
    counts = _SUMMARY.findall(text[-4_000:]) if last else []
    lines = [line for line in text.splitlines() if line.strip()]
    if counts:
        return clip(counts[-1], detail)
    if last and len(lines) > 1:
        return f"{clip(lines[-1], detail)}{line_count(text)}"
    asked = [value for value in deed.arguments.values() if isinstance(value, str) and len(value) >= _LONG_ASKED]
    if len(lines) > 1 and any(value in lines[0] for value in asked):  # "Results for ...": what was asked, once more
        text = "\n".join(lines[1:])
    return clip(outcome(text, detail), detail) + line_count(text)


def _told_change(work: Work, detail: int) -> str:
    """`Cancelled reservation XEHM4B for mia_li_3668: reason weather; updated flights: date 2 May, then date 3 May`."""
    went_well = [deed for deed, failure in zip(work.deeds, work.troubles(), strict=True) if not failure]
    subjects = [wording.subject_of(deed.call.name, deed.arguments)[1] or made_by(deed) for deed in went_well]
    person = next((who for deed in went_well if (who := wording.person_in(deed.arguments) or deed.person)), "")
    parts: dict[str, list[str]] = {}
    for deed, subject in zip(went_well, subjects, strict=True):
        known = (subject, person, deed.person)
        details = [wording.details_of(deed.arguments, known, 2 * detail), _given(deed, known, detail)]
        told = ", ".join(filter(None, details)) + ("" if subject else _answer(deed))
        parts.setdefault(deed.call.name, []).append(told)
    first = (" ".join([*dict.fromkeys(filter(None, subjects))][-MOST_THEN:]), person)
    sentences = (
        wording.sentence(
            name, *(first if not at else ("", "")), ", then ".join(list(filter(None, dict.fromkeys(told)))[-MOST_THEN:])
        )
        for at, (name, told) in enumerate(parts.items())
    )
    told = "; ".join(part if not at else part[:1].lower() + part[1:] for at, part in enumerate(sentences))
    return told + work.overcome(detail)


def _given(deed: Deed, known: tuple[str, ...], most: int) -> str:
    """What a short result adds to what was asked for: a number it gave, a price."""
    value = parsed(deed.outcome or "") if 0 < len(deed.outcome or "") <= _SHORT_RESULT else None
    if not isinstance(value, dict):
        return ""
    told = {*known, *(str(given) for given in deed.arguments.values())}
    new = {k: v for k, v in value.items() if isinstance(v, (str, int, float)) and not isinstance(v, bool)}
    return wording.details_of({k: v for k, v in new.items() if str(v) not in told and k != "message"}, known, most)


def in_short(works: Iterable[Work]) -> list[str]:
    """Changes by what was done, each with the things and people it was done to: `Cancelled reservation: A1 (mia)`."""
    found: dict[str, dict[str, list[str]]] = {}
    for work in works:
        for deed, failure in zip(work.deeds, work.troubles(), strict=True):
            if not failure:
                subject = wording.subject_of(deed.call.name, deed.arguments)[1] or made_by(deed)
                person = wording.person_in(deed.arguments) or deed.person
                things = found.setdefault(wording.sentence(deed.call.name, "", "", ""), {}).setdefault(person, [])
                things += [subject] * (bool(subject) and subject not in things)
    return [redact(f"{what}: {', '.join(map(_of_person, whose.items()))}") for what, whose in found.items()]


def _of_person(pair: tuple[str, list[str]]) -> str:
    person, things = pair
    return f"{' '.join(things)} ({person})" if things and person else " ".join(things) or person or "once"


def _answer(deed: Deed) -> str:
    """` -> text` of a short answer in words."""
    short = " ".join((deed.outcome or "").split())
    return f" -> {short}" if 0 < len(short) <= 100 and short[:1] not in ("{", "[") else ""


def _told_look(work: Work, detail: int) -> str:
    """`Looked up reservation XEHM4B: status confirmed`; a tool whose name is no such sentence is listed as a call."""
    deed = work.last
    subject = wording.subject_of(deed.call.name, deed.arguments)[1]
    told = wording.looked(deed.call.name, subject)
    if not told or not isinstance(deed.arguments, dict):
        return _told_call(work, detail)
    details = wording.details_of(deed.arguments, (subject,), detail)
    result = _result(deed, detail, last=False)
    if subject:
        result = result.replace(f"{wording.subject_of(deed.call.name, deed.arguments)[0]} {subject}, ", "", 1)
    asked = f" ({details})" if details else ""
    return f"{told}{asked}{times(len(work.deeds))}{work.overcome(detail)}: {result}"


def _told_call(work: Work, detail: int) -> str:
    """`tool(name=value): outcome`."""
    deed = work.last
    arguments = clip(arguments_of(deed.call.arguments), detail)
    result = _result(deed, detail, last=False)
    return f"{legible_name(deed.call.name)}({arguments}){times(len(work.deeds))}{work.overcome(detail)}: {result}"


_TELLERS = {"edit": _told_file, "write": _told_file, "run": _told_command, "change": _told_change, "look": _told_look}


def gathered(deeds: Iterator[Deed]) -> list[Work]:
    """Calls put together by what they were done to, in the order of the last call on each."""
    found: dict[str, Work] = {}
    for deed in deeds:
        key = key_of(deed)
        work = found.pop(key, None) or Work(deed.kind)
        work.kind = "write" if "write" in (work.kind, deed.kind) else deed.kind
        work.deeds.append(deed)
        found[key] = work
    return [part for work in found.values() for part in _parted(work)]


def _parted(work: Work) -> list[Work]:
    """What went well and, apart from it, the calls that failed behind it: a change that was made stays made."""
    at = len(work.deeds)
    while at and work.kind in ("edit", "write", "change") and work.deeds[at - 1].trouble():
        at -= 1
    if not 0 < at < len(work.deeds):
        return [work]
    return [Work(work.kind, work.deeds[:at]), Work(work.deeds[-1].kind, work.deeds[at:])]
