"""Exact names that no other line of a summary holds, each list under what its names belong to.

Theory: names that people said, that calls were made with, or that stand beside what was written are needed again; those
that a tool merely printed can be printed again. A label is the argument or key under which a value stood, or the person
it belongs to. Ids of requests and calls, durations, colours and the like are never needed.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence

from ..details.names import Kind, is_of_program, names_of, words_of
from ..folders import BELOW, shared_folders
from ..loss.statements import SHORT_ID
from ..sections import SummaryLine
from ..sentences import set_of
from ..tokens import Counter
from .reading import Transcript
from .tool_calls import path_of

_LABELLED = 300_000  # characters of the newest results in which names are looked for under which values stand
_PAIR = re.compile(r"\"(\w{1,40})\": ?\"?([\w$€£¥@./:,+-]{2,120})")
_KINDS: tuple[Kind, ...] = ("path", "url", "id", "version", "name", "account", "phone")  # bare numbers tell nothing
_CALLED: tuple[Kind, ...] = ("path", "url", "id")  # of what calls were made with
# Durations, addresses of memory, long hashes, and what stands behind the "\\n" of a JSON text ("nThe").
_NOISE = re.compile(r"\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h)|0x[0-9a-fA-F]+|[0-9a-fA-F]{20,}|n[A-Z]\w*|\d{1,2}")
_PLAIN_LABELS = set_of(
    """old_string new_string old_str new_str content command cmd pattern glob path paths file_path file filename
    notebook_path url urls description prompt query input text code subject body script replace search arguments
    expression output type name value key message title label summary id"""
)
_TITLES: dict[Kind, str] = {"path": "files", "url": "URLs", "version": "versions", "name": "names"}
_LABEL = re.compile(r"[\w@.+-][\w @.+/-]{0,200}")  # what stands before the names of a list
_LONGEST = 24  # names of a list: the newest


class NameLists:
    """The names of a transcript that stand neither in `standing`, the lines taken so far, nor in the kept messages."""

    def __init__(self, found: Transcript, kept: Transcript, earlier: Sequence[str], standing: str) -> None:
        self.found, self.kept, self.earlier = found, kept, earlier
        known = _names_in(standing)
        for turn in kept.turns:
            for text in (turn.words, *(call.arguments for call in turn.calls), *(text for _, text in turn.results)):
                known.update(_names_in(text))
        self.known = known
        self.owners = self._owners() if len(found.people) > 1 else {}
        self.labels = self._labels()

    def lines(self, room: int, count: Counter) -> Iterator[SummaryLine]:
        """A bullet for each list, as long as they fit into the room."""
        lists: dict[str, list[str]] = {}
        names = self._wanted()
        folders = shared_folders([name for name, kind in names.items() if kind == "path"])
        for name, kind in names.items():
            folder = folders.get(name)
            label = f"{self._label(name, kind)}{f'{BELOW}{folder}' if folder else ''}"
            cost = count(f" {name}") + (0 if label in lists else count(f"\n- {label}:"))
            if cost > room or len(lists.get(label, ())) >= _LONGEST:
                continue
            room -= cost
            lists.setdefault(label, []).append(name[len(folder) + 1 :] if folder else name)
        for at, (label, listed) in enumerate(lists.items()):
            yield SummaryLine(f"- {label}: {' '.join(listed)}", at)

    def _wanted(self) -> dict[str, Kind]:
        """The names by how much they are needed: said, called with, files that were read; of each the newest first."""
        order: dict[str, Kind] = {}
        calls = self.found.calls
        passed = {each.call.ids for each in calls if each.failure or each.kind in ("edit", "write", "run", "plan")}
        times: Tally[str] = Tally()
        for turn in reversed(self.found.turns):
            for kind, name in _pairs_in(turn.words):
                times[name] += 2
                order.setdefault(name, kind)
            for call in turn.calls:
                for kind, name in _pairs_in(call.arguments) if call.ids not in passed else ():
                    if kind in _CALLED and not name.isdigit():
                        times[name] += 1
                        order.setdefault(name, kind)
        for each in reversed(calls):
            if each.kind in ("read", "edit", "write") and not each.failure and (path := path_of(each)):
                order.setdefault(path, "path")
                times[path] += 1
        for line in self.earlier:
            label, _, rest = line.partition(": ")
            is_list = bool(_LABEL.fullmatch(label))
            title, _, folder = label.partition(BELOW) if is_list else ("", "", "")
            for word in rest.split() if is_list else words_of(line):
                for kind, known in names_of(f"{folder}/{word}" if folder else word):
                    order.setdefault(known, kind)
                    times[known] += 2
                    if title:
                        self.labels.setdefault(known, title)
        ranked = sorted(order, key=lambda name: -min(times[name], 4))
        wanted = (name for name in ranked if not (name in self.known or is_of_program(name) or _NOISE.fullmatch(name)))
        return {name: order[name] for name in wanted if order[name] != "id" or len(name) > SHORT_ID}

    def _label(self, name: str, kind: Kind) -> str:
        if owner := self.owners.get(name):
            return owner
        given = self.labels.get(name, "")
        return given if given and given not in _PLAIN_LABELS else _TITLES.get(kind, "ids")

    def _owners(self) -> dict[str, str]:
        """For a name that was said or called with where the talk was about one person alone: that person."""
        found: dict[str, str] = {}
        for turn in self.found.turns:
            for text in (turn.words, *(call.arguments for call in turn.calls)):
                for name in _names_in(text):
                    found[name] = turn.person if found.get(name, turn.person) == turn.person else ""
        return {name: person for name, person in found.items() if person != name}

    def _labels(self) -> dict[str, str]:
        """The names under which values stand in arguments and JSON results, the newest for each value."""
        found: dict[str, str] = {}
        left = _LABELLED
        for turn in reversed(self.found.turns):
            for text in (*(call.arguments for call in turn.calls), *(text for _, text in turn.results)):
                left -= len(text)
                for label, value in _PAIR.findall(text) if left > 0 else ():
                    found.setdefault(value.rstrip(".,:"), label)
        return found


def _pairs_in(text: str) -> Iterable[tuple[Kind, str]]:
    return ((kind, name) for word in words_of(text) for kind, name in names_of(word) if kind in _KINDS) if text else ()


def _names_in(text: str) -> set[str]:
    return {name for word in words_of(text) for _, name in names_of(word)} if text else set()
