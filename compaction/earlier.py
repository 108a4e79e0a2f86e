"""What an earlier summary tells as done, in short: a line for all commits, a line for each kind of change.

Each compaction has less room for what was done before it. So that the morning's work is not forgotten by the evening,
its lines are merged before they are dropped: of a commit its message stays, of a change the thing and the person.
Files need no line here, they stand in a list. The lines are our own, so they are read by their form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from .sections import DatedLine
from .text.clip import clip

COMMITTED = "Committed before: "
NEW_LINES = 3  # of what was done, before one of an earlier summary
_LONGEST = 600  # characters of a merged line: the newest things
_MESSAGE = 72  # characters of a commit's message
_DAY = r"(?:\d{1,2} [A-Z][a-z]+ \d{4}: )?"
_COMMIT = re.compile(_DAY + r'Ran `git commit -m "([^`]+)"`')
_FILE = re.compile(_DAY + r"(?:Created|Wrote|Edited) (\S*[/.]\S+)")
_WHAT = r"(?!Created|Wrote|Edited|Ran|Answered|Also)([A-Z][a-z]+(?: [a-z]+){0,3})"
_CHANGE = re.compile(_DAY + _WHAT + r" ([^\s/:;,(]*\d[^\s/:;,(]*)(?: for ([^\s/:;,(]+))?(?=[\s:;,]|$)")
_SHORT = re.compile(_WHAT + r": ([^\s/]*\d[^\"/]*)$")
_ITEM = re.compile(r"([^,()]+)(?:\(([^()]*)\))?")  # `XEHM4B 59XX6W (daiki_muller_1116)`


def merged(lines: Iterable[str]) -> list[str]:
    """The lines that can be merged, merged; the oldest first in each."""
    commits: dict[str, None] = {}
    changes: dict[str, dict[str, dict[str, None]]] = {}  # what was done, to whom, to which things
    for line in lines:
        if line.startswith(COMMITTED):
            commits.update(dict.fromkeys(line.removeprefix(COMMITTED).split("; ")))
        elif match := _COMMIT.match(line):
            commits[f'"{clip(match[1], _MESSAGE).replace("; ", ", ")}"'] = None
        elif match := _SHORT.match(line) or _CHANGE.match(line):
            by_person = changes.setdefault(match[1], {})
            items = _ITEM.findall(match[2]) if match.re is _SHORT else [(match[2], match[3] or "")]
            for things, person in items:
                by_person.setdefault(person, {}).update(dict.fromkeys(things.split()))
    told = [f"{COMMITTED}{_newest(list(commits), '; ')}"] if commits else []
    return told + [f"{what}: {_newest(list(map(_of, whose.items())), ', ')}" for what, whose in changes.items()]


def _of(pair: tuple[str, dict[str, None]]) -> str:
    person, things = pair
    return f"{' '.join(things)} ({person})" if person else " ".join(things)


def files_in(lines: Iterable[str]) -> list[str]:
    """The files that the lines say were written."""
    return [match[1].rstrip(",;:") for line in lines if (match := _FILE.match(line))]


def is_mergeable(line: str) -> bool:
    """Whether a line can be merged with others of its kind."""
    return line.startswith(COMMITTED) or any(form.match(line) for form in (_COMMIT, _SHORT, _CHANGE))


def mixed(new: Iterator[DatedLine], earlier: Iterator[DatedLine]) -> Iterator[DatedLine]:
    """The new lines, behind each few one of the earlier: what was done long ago is not forgotten all at once."""
    while some := list(islice(new, NEW_LINES)):
        yield from some
        yield from islice(earlier, 1)
    yield from earlier


def _newest(items: list[str], mark: str) -> str:
    """As many of the items as fit, the newest, in their order."""
    left, at = _LONGEST, len(items)
    while at and (left := left - len(items[at - 1]) - len(mark)) >= 0:
        at -= 1
    return mark.join(items[at:] or [clip(items[-1], _LONGEST)])
