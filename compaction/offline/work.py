"""The work done, one line for each thing it was done to: a file, a command, a reservation, a ticket.

Calls on the same thing are one piece of work: how often, for whom, with what outcome, and what failed before it
succeeded. Kinds of tools are known by their names (`tool_calls`, `wording`); other calls are listed with their outcome.
Work that never succeeded is listed among the errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

from ..details.names import without_noise
from ..details.recognise import called_in, defined_in
from ..lines import arguments_of, legible_name, line_count, outcome, parsed, unwrapped
from ..redaction import redact
from ..text.clip import clip
from . import wording
from .people import spoken
from .tool_calls import COMMIT, ESCAPES, LONG_COMMAND, Kind, ToolCall, command_of, key_of, path_of, raw_command, shows

_TEXTS = (
    *("content", "new_string", "new_str", "newString", "replace", "file_text", "replacement_text"),
    *("patch", "new_source", "code", "diff"),
)
_OLD = ("old_string", "old_str", "oldString", "search", "old_text")
_SMALL = 200  # characters of code that are shown whole
_SUMMARY = re.compile(
    r"(?i)^.*\b(?<!mode )\d+ (?:tests?|passed|passing|failed|examples?|specs?|failures?|errors?|warnings?"
    r"|files? changed|insertions?)\b.*$|^.*\bno (?:issues|problems|errors|warnings|offenses)\b.*$",
    re.MULTILINE,
)
_COMMITTED = re.compile(  # what git says it made: a commit, its size, where it was pushed
    r"^\[[\w./-]+(?: \(root-commit\))? [0-9a-f]{7,40}\]|^ \d+ files? changed.*$"
    r"|^ {2,}[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40} +\S+ -> \S+",
    re.MULTILINE,
)
_MARKUP = re.compile(r"<[^<>]*>|[^\w\s]")  # tags and signs: a line of nothing else says nothing
_WORDS = re.compile(r"[^\W\d_]{2,}")
_ROOMY = 160  # characters of detail from which on an edit that names nothing is quoted
_LONG_ASKED = 8  # characters of an argument that an output does not have by chance
MOST_THEN = 3  # calls of one tool on one thing that are listed
_SHORT_RESULT = 300  # characters of a result that is no record of its own
_RECORD = 20_000  # characters of a result that is looked at for an id
_LAST = 6  # lines of an output, of which the last that says something is shown
_NAMED = 12  # names of code listed for a file


@dataclass(slots=True)
class Work:
    """All that was done to one thing, oldest first."""

    kind: Kind
    calls: list[ToolCall] = field(default_factory=list)
    before: str = ""  # what went wrong in another call, which this one got over

    @property
    def last(self) -> ToolCall:
        """The newest call."""
        return self.calls[-1]

    @property
    def weight(self) -> int:
        """How important the work is: 3 for changes, 0 for work that only looks."""
        if self.kind in ("edit", "write", "change"):
            return 3
        if self.kind == "run":
            command = command_of(self.last)
            return 3 if COMMIT.search(command) else 0 if shows(command) else 2
        return 0 if self.kind in ("read", "look") else 1

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to report except that a file was written or edited."""
        return self.kind in ("edit", "write") and not (any(self.failures()) or _code_names(self))

    @property
    def looks_up(self) -> bool:
        """Whether a dedicated tool was asked, and not the file system or a shell."""
        return self.kind == "look" and bool(wording.looked(self.last.call.name, ""))

    def failures(self) -> list[str]:
        """What went wrong in each call, "" if nothing did."""
        return [call.failure for call in self.calls]

    def failed(self) -> str:
        """What went wrong the last time, "" if nothing did or it is not known."""
        return self.last.failure

    def done(self, detail: int, dated: bool) -> str:
        """The work in one sentence."""
        text = _TELLERS.get(self.kind, _call_line)(self, detail)
        return _dated(text, self.last.day if dated else None)

    def error(self, detail: int, dated: bool) -> str:
        """What is still wrong with it."""
        times = f" ({len(self.calls)} times)" if len(self.calls) > 1 else ""
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

    def overcome(self, detail: int) -> str:
        """` (a try failed before: ...)` where an earlier call failed and the last did not."""
        failures = [
            *([self.before] if self.before else []),
            *(failure for failure in self.failures() if failure),
        ]
        if not failures or self.failed():
            return ""
        tries = "a try" if len(failures) == 1 else f"{len(failures)} tries"
        return f' ({tries} failed before: "{clip(failures[-1], detail)}")'


# --- telling ---------------------------------------------------------------------------------------------------------
def _dated(text: str, day: date | None) -> str:
    return f"{spoken(day)}: {text}" if day else text


def _file_line(work: Work, detail: int) -> str:
    """`Edited /a/b.py (3 edits); it defines x, y`."""
    went_well = [call for call, failure in zip(work.calls, work.failures(), strict=True) if not failure]
    writes = [call for call in went_well if call.kind == "write"]
    edits = [call for call in went_well if call.kind == "edit"]
    path = path_of(work.last)
    if writes:
        created = "creat" in (writes[0].outcome or "")[:200].lower()
        text = f"{'Created' if created else 'Wrote'} {path}{times(len(writes))}"
        text += f", then edited it{times(len(edits))}" if edits else ""
    else:
        text = f"Edited {path} ({len(edits)} edit{'s' * (len(edits) != 1)})"
    names = _code_names(work)
    suffix = f"; code: {' '.join(_fitting(names, 2 * detail))}" if names else ""
    added = added_in(edits[-1]) if edits and not writes and (len(edits) == 1 or not names) else ""
    if 0 < len(added) <= _SMALL:
        return f"{text}{work.overcome(detail)}{'; the last' * (len(edits) > 1)}: `{redact(added)}`"
    if not names and edits and detail >= _ROOMY and (new := written_in(edits[-1])):
        suffix = f': "{clip(redact(new[0]), detail // 2)}"'
    return f"{text}{work.overcome(detail)}{suffix}"


def _code_names(work: Work) -> list[str]:
    """Names that the newest edits define, or else call, the newest first."""
    texts = [
        text for call in reversed(work.calls) for key in _TEXTS if isinstance(text := call.arguments.get(key), str)
    ]
    defined = dict.fromkeys(name for text in texts[:8] for name in defined_in(text[:20_000]))
    called = dict.fromkeys(name for text in texts[:8] for name in called_in(text[:20_000]))
    return [redact(name) for name in [*(defined or called)][:_NAMED]]


def written_in(call: ToolCall) -> list[str]:
    """The code or text that a call writes into a file."""
    if call.kind not in ("edit", "write"):
        return []
    edits = call.arguments.get("edits")
    each = [call.arguments, *(e for e in (edits if isinstance(edits, list) else []) if isinstance(e, dict))]
    return [text for values in each for key in _TEXTS if isinstance(text := values.get(key), str)]


def added_in(call: ToolCall) -> str:
    """The lines that an edit adds, on one line; "" if the edit states only the text afterwards."""
    old = next((text for key in _OLD if isinstance(text := call.arguments.get(key), str)), None)
    new = written_in(call)
    if old is None or len(new) != 1:
        return ""
    before = set(old.splitlines())
    return " ".join(line.strip() for line in new[0].splitlines() if line.strip() and line not in before)


def _fitting(names: list[str], most: int) -> Iterator[str]:
    """The first names, while they fit into so many characters."""
    for name in names:
        most -= len(name) + 1
        if most < 0:
            return
        yield name


def times(n: int) -> str:
    """` (3 times)`; "" for once."""
    return f" ({n} times)" if n > 1 else ""


def _command_line(work: Work, detail: int) -> str:
    """`Ran `npm test` (3 times; a try failed before: "..."): 12 passed`."""
    shown = _result(work.last, detail, last=not shows(command_of(work.last)))
    return f"Ran {work.name(detail)}{times(len(work.calls))}{work.overcome(detail)}{_behind(shown)}"


def _behind(text: str) -> str:
    """`: text`; "" for an empty text."""
    return f": {text}" if text else ""


def _result(call: ToolCall, detail: int, last: bool) -> str:
    """A call's result on one line: the count of a test run, else the end of a program's output or the beginning of a
    text; "" if nobody refers to it.
    """
    if call.outcome is None:
        return "no result yet"
    text = ESCAPES.sub("", unwrapped(call.outcome)).strip()
    if text[:1] in ("{", "[") and (value := parsed(text)):
        return wording.in_words(value, 2 * detail)
    if call.kind == "run" and (commits := _COMMITTED.findall(text)):
        return clip(", ".join(dict.fromkeys(map(str.strip, commits))), detail)
    lines = [clean for line in text.splitlines() if (clean := without_noise(line)).strip()]
    counts = _SUMMARY.findall("\n".join(lines)[-4_000:]) if last else []
    if counts:
        return clip(counts[-1], detail)
    if last and len(lines) > 1:
        telling = next((line for line in reversed(lines[-_LAST:]) if _says_something(line)), "")
        return f"{clip(telling, detail)}{line_count(text)}".strip()
    arguments = [value for value in call.arguments.values() if isinstance(value, str) and len(value) >= _LONG_ASKED]
    if len(lines) > 1 and any(value in lines[0] for value in arguments):  # "Results for ...": what was asked, once more
        lines, text = lines[1:], "\n".join(lines[1:])
    if text and not lines:
        return line_count(text).strip()
    return clip(outcome("\n".join(lines), detail), detail) + line_count(text)


def _says_something(line: str) -> bool:
    return len(_WORDS.findall(_MARKUP.sub(" ", line[:_RECORD]))) > 1


def _created_id(call: ToolCall) -> str:
    """The id that a result gives to what the call created."""
    value = parsed(call.outcome) if call.outcome and len(call.outcome) <= _RECORD else None
    return wording.subject_of(call.call.name, value)[1] if isinstance(value, dict) else ""


def _change_line(work: Work, detail: int) -> str:
    """`Cancelled reservation XEHM4B for mia_li_3668: reason weather; updated flights: date 2 May, then date 3 May`."""
    went_well = [call for call, failure in zip(work.calls, work.failures(), strict=True) if not failure]
    subjects = [wording.subject_of(call.call.name, call.arguments)[1] or _created_id(call) for call in went_well]
    person = next((who for call in went_well if (who := wording.person_in(call.arguments) or call.person)), "")
    parts: dict[str, list[str]] = {}
    for call, subject in zip(went_well, subjects, strict=True):
        stated = (subject, person, call.person)
        details = [wording.details_of(call.arguments, stated, 2 * detail), _given(call, stated, detail)]
        part = ", ".join(filter(None, details)) + ("" if subject else _answer(call))
        parts.setdefault(call.call.name, []).append(part)
    first = (" ".join([*dict.fromkeys(filter(None, subjects))][-MOST_THEN:]), person)
    sentences = (
        wording.sentence(
            name, *(first if not at else ("", "")), ", then ".join(list(filter(None, dict.fromkeys(each)))[-MOST_THEN:])
        )
        for at, (name, each) in enumerate(parts.items())
    )
    text = "; ".join(each if not at else each[:1].lower() + each[1:] for at, each in enumerate(sentences))
    return text + work.overcome(detail)


def _given(call: ToolCall, stated: tuple[str, ...], most: int) -> str:
    """What a short result adds to the arguments: a number, a price."""
    value = wording.quiet(parsed(call.outcome or "")) if 0 < len(call.outcome or "") <= _SHORT_RESULT else None
    if not isinstance(value, dict):
        return ""
    old = {*stated, *(str(given) for given in call.arguments.values())}
    new = {k: v for k, v in value.items() if isinstance(v, (str, int, float)) and not isinstance(v, bool)}
    return wording.details_of({k: v for k, v in new.items() if str(v) not in old and k != "message"}, stated, most)


def _answer(call: ToolCall) -> str:
    """` -> text` for a short answer in words."""
    short = without_noise(" ".join((call.outcome or "").split()))
    return f" -> {short}" if 0 < len(short) <= 100 and short[:1] not in ("{", "[") else ""


def _look_line(work: Work, detail: int) -> str:
    """`Looked up reservation XEHM4B: status confirmed`; a tool whose name gives no such sentence is
    listed as a call.
    """
    call = work.last
    subject = wording.subject_of(call.call.name, call.arguments)[1]
    text = wording.looked(call.call.name, subject)
    if not text or not isinstance(call.arguments, dict):
        return _call_line(work, detail)
    details = wording.details_of(call.arguments, (subject,), detail)
    result = _result(call, detail, last=False)
    if subject:
        result = result.replace(f"{wording.subject_of(call.call.name, call.arguments)[0]} {subject}, ", "", 1)
    parameters = f" ({details})" if details else ""
    return f"{text}{parameters}{times(len(work.calls))}{work.overcome(detail)}{_behind(result)}"


def _call_line(work: Work, detail: int) -> str:
    """`tool(name=value): outcome`."""
    call = work.last
    arguments = clip(arguments_of(call.call.arguments), detail)
    text = f"{legible_name(call.call.name)}({arguments}){times(len(work.calls))}{work.overcome(detail)}"
    return text + _behind(_result(call, detail, last=False))


_TELLERS = {"edit": _file_line, "write": _file_line, "run": _command_line, "change": _change_line, "look": _look_line}


def gathered(calls: Iterable[ToolCall]) -> list[Work]:
    """Calls grouped by the thing they were done to, in the order of the last call on each."""
    by_key: dict[str, Work] = {}
    for call in calls:
        key = key_of(call)
        work = by_key.pop(key, None) or Work(call.kind)
        work.kind = "write" if "write" in (work.kind, call.kind) else call.kind
        work.calls.append(call)
        by_key[key] = work
    return [part for work in by_key.values() for part in _split(work)]


def _split(work: Work) -> list[Work]:
    """The work that succeeded and, separately, the calls that failed after it: a change that was made stays made."""
    at = len(work.calls)
    while at and work.kind in ("edit", "write", "change") and work.calls[at - 1].failure:
        at -= 1
    if not 0 < at < len(work.calls):
        return [work]
    return [Work(work.kind, work.calls[:at]), Work(work.calls[-1].kind, work.calls[at:])]


_SOON = 12  # pieces of work within which one that went well can be the fix of one that did not


def settled(works: Sequence[Work]) -> tuple[list[Work], list[Work]]:
    """The work done and the work that never succeeded, the newest first; a failure that was fixed is listed with its
    fix.
    """
    done: list[Work] = []
    failed: list[Work] = []
    fixes: dict[str, tuple[int, Work]] = {}
    for back, work in enumerate(reversed(works)):
        failure = work.failed()
        fix = fixes.get(_same_try(work))
        if not failure:
            done.append(work)
            if work.weight:  # what only shows something is no fix
                fixes[_same_try(work)] = (back, work)
        elif fix is None or (work.kind != "run" and back - fix[0] > _SOON):
            if work.weight:
                failed.append(work)
        elif not fix[1].before:
            fix[1].before = failure
    return done, failed


def _same_try(work: Work) -> str:
    """A key that is equal for two attempts at the same thing: for commands the program and its action, for calls tool
    and person.
    """
    call = work.last
    if work.kind == "run":
        program, *rest = command_of(call).split() or [""]
        return f"run {program} {next((word for word in rest if word.isalpha()), rest[0] if rest else '')}"
    if work.kind in ("edit", "write", "read"):
        return f"{call.call.name} {path_of(call)}"
    return f"{call.call.name} {call.person}"
