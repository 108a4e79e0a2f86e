"""What was done, a line for each thing it was done to: a file, a command, a reservation, a ticket.

Calls on the same thing are one piece of work: how often, for whom, what came of it, and what failed before it went
well. Kinds of tools are told by their names (`wording`, `reads`); what is of no known kind is told as a call with its
outcome. What failed to the end is no work done: it is told among the errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from . import wording
from .code import called_in, defined_in
from .lines import arguments_of, clip, legible_name, line_count, outcome, parsed, unwrapped
from .messages import Call
from .people import spoken
from .reads import READ_TOOLS, SHELL_TOOLS
from .secrets import redact
from .sentences import set_of
from .todo import is_plan_tool
from .troubles import trouble

Kind = Literal["edit", "write", "read", "run", "change", "look", "plan", "other"]

_EDIT = set_of(
    """edit multiedit multi_edit edit_file editfile apply_patch patch update_file insert_edit_into_file replace
    replace_in_file str_replace search_replace notebookedit notebook_edit edit_block insert_line apply_diff"""
)
_WRITE = set_of("""write write_file writefile create_file createfile save_file write_to_file file_write new_file""")
_EDITORS = ("str_replace_based_edit_tool", "str_replace_editor", "text_editor")
_LOOK = set_of("""glob grep ls webfetch websearch web_search web_fetch toolsearch think browser_snapshot""")
_PATHS = ("file_path", "path", "filepath", "filename", "target_file", "notebook_path", "file", "absolute_path")
_COMMANDS = ("command", "cmd", "script", "input", "code")
_TEXTS = ("content", "new_string", "new_str", "file_text", "replacement_text", "patch", "new_source", "code", "diff")
# What surrounds a command without being it: a change of directory, where output goes, how much of it is shown.
_BEFORE = re.compile(r"^\s*(?:cd\s+\S+\s*(?:&&|;)\s*|(?:export\s+)?[A-Z_]{3,}=\S+\s+|sudo\s+|time\s+)+")
_BEHIND = re.compile(r"\s*(?:2>&1|2>\s*/dev/null|\|\s*(?:tail|head)(?:\s+-\S+)*(?:\s+\d+)?|;\s*echo\s.*)\s*$")
_SHOWING = re.compile(
    r"^(?:cat|ls|grep|egrep|rg|ag|find|fd|head|tail|sed -n|less|more|wc|tree|pwd|echo|which|file|stat|du|df|ps"
    r"|env|diff|nl"
    r"|git (?:status|log|diff|show|branch|remote|blame|ls-files|rev-parse|stash list)|type|printenv|sort|awk|jq"
    r"|\S+ (?:show|list|status|ready|--help|--version|-v)|search_dir|search_file|find_file|open|goto|scroll_up"
    r"|scroll_down)\b"
)
_COMMIT = re.compile(r"\bgit\s+commit\b")
_COMMIT_MESSAGE = re.compile(
    r"-m\s+(?:\"\$\(cat <<-?\s*'?\"?(\w+)'?\"?\s*\n(?P<here>[^\n]+)|(?P<mark>[\"'])(?P<text>[^\n]+?)(?:(?P=mark)|\n|$))"
)
_SUMMARY = re.compile(
    r"(?i)^.*\b\d+ (?:tests?|passed|passing|failed|examples?|specs?|failures?|errors?|warnings?|files? changed"
    r"|insertions?)\b.*$",
    re.MULTILINE,
)
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\[\d{1,2}(?:;\d{1,2})*m")
_PROMPTS = re.compile(r"^(?:\(Open file: .*\)|\(Current directory: .*\)|bash-\$)[ \t]*$", re.MULTILINE)  # SWE-agent
LONG_COMMAND = 160  # characters of a command that name it
_NAMED = 12  # names of code told of a file


@dataclass(slots=True)
class Deed:
    """One call and what came of it: `at` its place in the transcript."""

    call: Call
    kind: Kind
    at: int
    arguments: dict[str, Any]
    outcome: str | None = None
    flagged: bool = False
    person: str = ""
    day: date | None = None

    def trouble(self) -> str:
        """What went wrong, "" if nothing did."""
        if self.outcome is None:
            return ""
        only_shows = self.kind in ("read", "look") or (self.kind == "run" and shows(command_of(self)))
        return clip(redact(_ESCAPES.sub("", trouble(self.outcome, self.flagged, only_shows))), 600)


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
            return 3 if _COMMIT.search(command) else 0 if shows(command) else 2
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
            return f"{legible_name(self.last.call.name)} {path_of(self.last)}"
        return f"{legible_name(self.last.call.name)}({clip(arguments_of(self.last.call.arguments), detail)})"

    def overcome(self, detail: int) -> str:
        """` (a try failed before: ...)` where an earlier call failed and the last did not."""
        failures = [*([self.before] if self.before else []), *(said for said in self.troubles() if said)]
        if not failures or self.failed():
            return ""
        tries = "a try" if len(failures) == 1 else f"{len(failures)} tries"
        return f' ({tries} failed before: "{clip(failures[-1], detail)}")'


def kind_of(call: Call, arguments: dict[str, Any]) -> Kind:
    """What a call does, by the tool's name and, of a tool with commands, by its command."""
    name = re.split(r"__|[.:/]", call.name)[-1].lower().replace("-", "_")
    if is_plan_tool(call.name):
        return "plan"
    if name in SHELL_TOOLS or name == "command":
        return "run"
    if name in _EDITORS:
        command = arguments.get("command")
        return "read" if command == "view" else "write" if command == "create" else "edit"
    if any(isinstance(arguments.get(key), str) for key in _PATHS):
        if name in _EDIT:
            return "edit"
        if name in _WRITE:
            return "write"
        if name in READ_TOOLS:
            return "read"
    if name in _LOOK or wording.is_reading(call.name):
        return "look"
    return "change" if wording.is_changing(call.name) and arguments else "other"


def key_of(deed: Deed) -> str:
    """Equal for calls on the same thing."""
    if deed.kind in ("edit", "write"):
        return f"file {path_of(deed)}"
    if deed.kind == "read":
        return f"read {path_of(deed)}"
    if deed.kind == "run":
        return f"run {command_of(deed)}"
    if deed.kind == "change":
        subject = wording.subject_of(deed.call.name, deed.arguments)[1]
        if subject:
            return f"thing {subject}"
    return f"{deed.call.name} {deed.call.arguments}"


def path_of(deed: Deed) -> str:
    """The file a call names."""
    return clip(redact(next((v for key in _PATHS if isinstance(v := deed.arguments.get(key), str)), "")), 400)


def command_of(deed: Deed) -> str:
    """The command of a shell call, without what surrounds it; of a commit its message's first line."""
    text = _BEFORE.sub("", _command(deed)).strip()
    if _COMMIT.search(text) and (message := _COMMIT_MESSAGE.search(text)):
        return f'git commit -m "{(message["here"] or message["text"]).strip()}"'
    for _ in range(4):
        shorter = _BEHIND.sub("", text)
        if shorter == text:
            break
        text = shorter
    return clip(text, LONG_COMMAND)


def raw_command(deed: Deed) -> str:
    """The command as it was called; of a commit its message's first line."""
    return command_of(deed) if _COMMIT.search(text := _command(deed)) else text


def _command(deed: Deed) -> str:
    value = next((v for key in _COMMANDS if (v := deed.arguments.get(key))), deed.call.arguments)
    return redact((" ".join(map(str, value)) if isinstance(value, list) else str(value))[:4_000]).strip()


def shows(command: str) -> bool:
    """Whether a command only shows something."""
    return bool(_SHOWING.match(command)) and ">" not in command


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
    return f"{text}{work.overcome(detail)}{told}"


def _code_names(work: Work) -> list[str]:
    """Names that the newest edits define or call, the newest first."""
    texts = [
        text for deed in reversed(work.deeds) for key in _TEXTS if isinstance(text := deed.arguments.get(key), str)
    ]
    defined = dict.fromkeys(name for text in texts[:8] for name in defined_in(text[:20_000]))
    called = dict.fromkeys(name for text in texts[:8] for name in called_in(text[:20_000]) if name not in defined)
    return [redact(name) for name in [*defined, *called][:_NAMED]]


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
    text = _PROMPTS.sub("", _ESCAPES.sub("", unwrapped(deed.outcome))).strip()
    if text[:1] in ("{", "[") and (value := parsed(text)):
        return wording.in_words(value, 2 * detail)
    counts = _SUMMARY.findall(text[-4_000:]) if last else []
    lines = [line for line in text.splitlines() if line.strip()]
    if counts:
        return clip(counts[-1], detail)
    if last and len(lines) > 1:
        return f"{clip(lines[-1], detail)}{line_count(text)}"
    return clip(outcome(text, detail), detail) + line_count(text)


def _told_change(work: Work, detail: int) -> str:
    """`Cancelled reservation XEHM4B for mia_li_3668: reason weather; updated flights: ...`."""
    parts: dict[str, str] = {}
    for deed, said in zip(work.deeds, work.troubles(), strict=True):
        if said:
            continue
        made = _made(deed)
        subject = wording.subject_of(deed.call.name, deed.arguments)[1] or made
        person = "" if parts else wording.person_in(deed.arguments) or deed.person
        details = wording.details_of(deed.arguments, (subject, person, deed.person), 2 * detail)
        told = wording.sentence(deed.call.name, "" if parts else subject, person, details)
        parts[deed.call.name] = told if subject else told + _answer(deed)
    told = "; ".join(part if not at else part[:1].lower() + part[1:] for at, part in enumerate(parts.values()))
    return told + work.overcome(detail)


def in_short(works: Iterable[Work]) -> list[str]:
    """Changes by what was done, each with the things and people it was done to: `Cancelled reservation: A1 (mia)`."""
    found: dict[str, dict[str, list[str]]] = {}
    for work in works:
        for deed, said in zip(work.deeds, work.troubles(), strict=True):
            if not said:
                subject = wording.subject_of(deed.call.name, deed.arguments)[1] or _made(deed)
                person = wording.person_in(deed.arguments) or deed.person
                things = found.setdefault(wording.sentence(deed.call.name, "", "", ""), {}).setdefault(person, [])
                things += [subject] * (bool(subject) and subject not in things)
    return [redact(f"{what}: {', '.join(map(_of_person, whose.items()))}") for what, whose in found.items()]


def _of_person(pair: tuple[str, list[str]]) -> str:
    person, things = pair
    return f"{' '.join(things)} ({person})" if things and person else " ".join(things) or person or "once"


_MADE = re.compile(r'"(\w*_?id|number|key)": ?"?([\w.#-]{2,60})')


def _made(deed: Deed) -> str:
    """The id a result gives to what was made, "" if it gives none."""
    text = deed.outcome or ""
    found = _MADE.search(text[:1_000]) if text.lstrip()[:1] == "{" else None
    return found[2] if found and not wording.PERSON_KEY.search(found[1]) else ""


def _answer(deed: Deed) -> str:
    """` -> text` of a short answer in words."""
    short = " ".join((deed.outcome or "").split())
    return f" -> {short}" if 0 < len(short) <= 100 and short[:1] not in ("{", "[") else ""


def _told_call(work: Work, detail: int) -> str:
    """`tool(name=value): outcome`."""
    deed = work.last
    arguments = clip(arguments_of(deed.call.arguments), detail)
    result = _result(deed, detail, last=False)
    return f"{legible_name(deed.call.name)}({arguments}){times(len(work.deeds))}{work.overcome(detail)}: {result}"


_TELLERS = {"edit": _told_file, "write": _told_file, "run": _told_command, "change": _told_change}


def gathered(deeds: Iterator[Deed]) -> list[Work]:
    """Calls put together by what they were done to, in the order of the last call on each."""
    found: dict[str, Work] = {}
    for deed in deeds:
        key = key_of(deed)
        work = found.pop(key, None) or Work(deed.kind)
        work.kind = "write" if "write" in (work.kind, deed.kind) else deed.kind
        work.deeds.append(deed)
        found[key] = work
    return list(found.values())
