"""What the calls of a whole session did: the files that they changed, and the commands that failed.

Nothing of this is kept: it is read when somebody asks, at some 0.1 s for each thousand messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from compaction import messages as engine
from compaction.offline.failures import failure
from compaction.redaction import redact_shown
from viewer.pages.http import is_fragment, page, shows_refusals
from viewer.pages.parts.opened import OpenSession, open_session
from viewer.pages.redaction import redacts
from viewer.rendering import cache, calls, outcomes, tools
from viewer.rendering.diffs import Change
from viewer.rendering.paths import joined, near
from viewer.rendering.texts import json_value, line
from viewer.stores.registry import get_store, open_store

from .header import header

AT_ONCE = 500  # messages that are read at once
MOST = 300  # files or commands that are listed
LONGEST = 10_000  # characters of a command in which a commit is looked for
_EXIT = re.compile(r"exit -?\d+(?:: |$)|failed$|no success$")  # what `word` says
_PLACE = re.compile(r"\w\.\w{1,5}:\d+\b")
# A commit, up to its message: `git -C dir commit -am "Message"`, and where the message is a here-document.
_COMMIT = re.compile(
    r"""\bgit (?:-[cC] \S{1,200} ){0,3}commit\b(?!-)(?: -\w*m\s*["']?(?:\$\(cat <<-?\s*['"]?\w{1,20}['"]?\s)?)?"""
)


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A call with its result. `number` is the place in History of the message that made it, counted from 1; `href`
    leads to that message, and opens the fold of the call.
    """

    call: engine.Call
    number: int
    href: str
    outcome: outcomes.CallOutcome
    result: str
    noted: str = ""

    @property
    def command(self) -> str:
        """The command line of a shell, "" if it is not known."""
        arguments = json_value(self.call.arguments)
        return (tools.command_of(arguments) if isinstance(arguments, dict) else None) or ""

    @property
    def reason(self) -> str:
        """The line of its result that says what went wrong, "" if there is none besides an exit code."""
        return _EXIT.sub("", failure(self.result, flagged=True, words=True))

    @property
    def where(self) -> str:
        """The last line of its result that names a line of a file, as compilers, tests and linters do."""
        lines = self.result[-LONGEST:].replace("\\n", "\n").splitlines()
        return next((each.strip() for each in reversed(lines) if _PLACE.search(each)), "")

    @property
    def change(self) -> Change | None:
        arguments = json_value(self.call.arguments, limit=cache.ARGUMENTS)
        return tools.change(self.call.name, self.call.arguments, arguments, self.noted)


@dataclass(frozen=True, slots=True)
class Touch:
    """One change of a file, and the lines that it added and removed; None for unknown."""

    number: int
    href: str
    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True)
class TouchedFile:
    """A file with its changes, the first one first. `path` is relative to the session's directory."""

    path: str
    whole_path: str
    touches: tuple[Touch, ...]

    @property
    def parts(self) -> list[str]:
        """The path's directories, each with its separator, and the file's name: a line may end between them."""
        return re.findall(r"[^/\\]*[/\\]+|[^/\\]+", self.path)

    @property
    def first(self) -> Touch:
        return self.touches[0]

    @property
    def last(self) -> Touch:
        return self.touches[-1]

    @property
    def added(self) -> int:
        """Lines, as far as they are known."""
        return sum(touch.added or 0 for touch in self.touches)

    @property
    def removed(self) -> int:
        return sum(touch.removed or 0 for touch in self.touches)


@dataclass(frozen=True, slots=True)
class RanCommand:
    """A command that failed (`word` says how, `reason` why, `where` the line of a file that its output names), or the
    message of a commit: then `word` is empty. `path` is the directory in which it ran, "" for that of the session.
    `earlier` are the times before this one that it failed in the same way since the commit before.
    """

    what: str
    path: str
    word: str
    reason: str
    where: str
    number: int
    href: str
    earlier: tuple[RanCommand, ...] = ()


@require_safe
@shows_refusals
def files(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    """The files that calls changed, the one that was changed most often first."""
    with open_store(get_store(store)) as reader:
        opened = open_session(reader, session_id, redacting=redacts(request))
        return _list(request, opened, "Files touched", "session/_files.html", touched_files(opened))


@require_safe
@shows_refusals
def failures(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    """The commands that failed and the commits, the newest first."""
    with open_store(get_store(store)) as reader:
        opened = open_session(reader, session_id, redacting=redacts(request))
        return _list(request, opened, "Commands that failed", "session/_failures.html", commands_run(opened))


def _list(
    request: HttpRequest, opened: OpenSession, title: str, template: str, listed: Sequence[object]
) -> HttpResponse:
    data = {"listed": listed[:MOST], "more": max(0, len(listed) - MOST)}
    if is_fragment(request):
        return page(request, template, data)
    return page(request, "session/work.html", data | {"header": header(opened), "title": title, "template": template})


def touched_files(opened: OpenSession) -> list[TouchedFile]:
    """The files that calls changed, as far as no result says that they failed."""
    touches_of: dict[str, list[Touch]] = {}
    for answered in answered_calls(opened, tools.may_change_files):
        change = None if answered.outcome.word else answered.change
        for name, added, removed in change.files if change is not None else ():
            path = _place(name, opened.session.cwd)
            touches_of.setdefault(path, []).append(Touch(answered.number, answered.href, added, removed))
    listed = [_file(opened, path, touches) for path, touches in touches_of.items()]
    return sorted(listed, key=lambda file: (-len(file.touches), file.path))


def _place(name: str, cwd: str) -> str:
    """Where a file is, however a call named it; a path of Windows as it is."""
    return name if "\\" in name + cwd or name[1:2] == ":" else joined(name, cwd)


def _file(opened: OpenSession, path: str, touches: list[Touch]) -> TouchedFile:
    shown = redact_shown(path) if opened.redacting else path
    return TouchedFile(tools.path_end(near(shown, opened.session.cwd)), tools.path_end(shown), tuple(touches))


def commands_run(opened: OpenSession) -> list[RanCommand]:
    """The commands that failed and the commits, the newest first; nothing where no command failed."""
    listed: list[RanCommand] = []
    for answered in answered_calls(opened, tools.is_shell):
        word = answered.outcome.word
        message = _COMMIT.search(answered.command[:LONGEST]) if not word else None
        if word == "refused" or not (word or message):
            continue
        text = redact_shown(answered.call.arguments) if opened.redacting else answered.call.arguments
        title = tools.title(answered.call.name, text, json_value(text), None, answered.outcome, opened.session.cwd)
        what = title.what
        if message is not None:
            subject = answered.command[message.end() :]
            what = line(redact_shown(subject) if opened.redacting else subject, tools.LIMIT) or what
        reason = line(answered.reason, tools.LIMIT) if word else ""
        where = line(redact_shown(answered.where) if opened.redacting else answered.where, tools.LIMIT) if word else ""
        where = "" if where in reason else where
        listed.append(RanCommand(what, title.path, word, reason, where, answered.number, answered.href))
    return _grouped(listed[::-1]) if any(each.word for each in listed) else []


def _grouped(newest_first: Sequence[RanCommand]) -> list[RanCommand]:
    """Between two commits, what failed in the same way is one line."""
    lines: dict[Hashable, RanCommand] = {}
    commits = 0
    for ran in newest_first:
        commits += not ran.word
        key = commits, ran.what, ran.path, ran.word, ran.reason, ran.where
        first = lines.get(key)
        lines[key] = replace(first, earlier=(*first.earlier, ran)) if first is not None else ran
    return list(lines.values())


def answered_calls(opened: OpenSession, is_wanted: Callable[[str], bool]) -> Iterator[AnsweredCall]:
    """The calls of tools with wanted names that have a result, in order, with those that a script answered."""
    index, start = opened.index, 0
    while start < index.messages:
        stop = min(start + AT_ONCE, index.messages)
        while stop < index.messages and index.is_result(stop) and stop < start + 2 * AT_ONCE:
            stop += 1
        yield from _answered(opened, range(start, stop), is_wanted)
        start = stop


def _answered(opened: OpenSession, places: range, is_wanted: Callable[[str], bool]) -> Iterator[AnsweredCall]:
    entries = [(place, opened.index.entry(place)) for place in places]
    stored = opened.reader.messages(opened.session.id, [entry.full_id for _, entry in entries])
    read = [(place, entry.id, stored[entry.full_id]) for place, entry in entries if entry.full_id in stored]
    rows = [row for _, _, row in read]
    called = [[] if row.role in engine.RESULT_ROLES else calls.calls_of(row) for row in rows]
    for (at, position), answer in sorted(calls.pair(rows, called).items()):
        call, (place, caller_id, _), (_, result_id, result) = called[at][position], read[at], read[answer]
        number, href = place + 1, f"{opened.urls.view(around=result_id)}#m{caller_id}"
        if is_wanted(call.name):
            text = engine.text(result.content)
            yield AnsweredCall(call, number, href, outcomes.of_row(result), text, calls.noted(call, result))
        for each in result.inner:
            for inner in engine.calls({"tool_calls": [each]}):
                if is_wanted(inner.name):
                    output = each.get("output")
                    yield AnsweredCall(inner, number, href, outcomes.outcome(output), engine.text(output))
