"""Exact names that no other line of a summary holds, in lists under a label.

Theory: names that people said, that were arguments of calls, or that are next to written text are needed again; names
that a tool only printed can be printed again. A label is the argument or key of a value, or the person it belongs to.
Ids of requests and calls, durations, colours and similar are never needed.
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

_LABELLED = 300_000  # characters of the newest results that are searched for the keys of values
_PAIR = re.compile(r"\"(\w{1,40})\": ?\"?([\w$€£¥@./:,+-]{2,120})")
_KINDS: tuple[Kind, ...] = ("path", "url", "id", "version", "name", "account", "phone")  # bare numbers tell nothing
_CALLED: tuple[Kind, ...] = ("path", "url", "id")  # of what calls were made with
# Durations, addresses of memory, long hashes, and a word after the "\\n" of a JSON text ("nThe").
_NOISE = re.compile(r"\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h)|0x[0-9a-fA-F]+|[0-9a-fA-F]{20,}|n[A-Z]\w*|\d{1,2}")
_PLAIN_LABELS = set_of(
    """old_string new_string old_str new_str oldString newString content command cmd pattern glob path paths file_path
    filePath file filename notebook_path url urls description prompt query input text code subject body script replace
    search arguments expression output type name value key message title label summary id"""
)
_TITLES: dict[Kind, str] = {"path": "files", "url": "URLs", "version": "versions", "name": "names"}
_LABEL = re.compile(r"[\w@.+-][\w @.+/-]{0,200}")  # the text before the names of a list
_LONGEST = 24  # names of a list: the newest


class NameLists:
    """The names of a transcript that are neither in `standing`, the lines taken so far, nor in the kept messages."""

    def __init__(self, transcript: Transcript, kept: Transcript, earlier: Sequence[str], standing: str) -> None:
        self.transcript, self.kept, self.earlier = transcript, kept, earlier
        known_names = _names_in(standing)
        for turn in kept.turns:
            for text in (turn.words, *(call.arguments for call in turn.calls), *(text for _, text in turn.results)):
                known_names.update(_names_in(text))
        self.known = known_names
        self.owners = self._owners() if len(transcript.people) > 1 else {}
        self.labels = self._labels()

    def lines(self, room: int, count: Counter) -> Iterator[SummaryLine]:
        """A bullet for each list, while they fit into the room."""
        lists: dict[str, list[str]] = {}
        names = self._needed()
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

    def _needed(self) -> dict[str, Kind]:
        """The names, the most needed first: said, arguments of calls, files that were read; in each group the newest
        first.
        """
        order: dict[str, Kind] = {}
        calls = self.transcript.calls
        passed = {each.call.ids for each in calls if each.failure or each.kind in ("edit", "write", "run", "plan")}
        times: Tally[str] = Tally()
        for turn in reversed(self.transcript.turns):
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
                for kind, listed in names_of(f"{folder}/{word}" if folder else word):
                    order.setdefault(listed, kind)
                    times[listed] += 2
                    if title:
                        self.labels.setdefault(listed, title)
        ranked = sorted(order, key=lambda name: -min(times[name], 4))
        needed = (name for name in ranked if not (name in self.known or is_of_program(name) or _NOISE.fullmatch(name)))
        return {name: order[name] for name in needed if order[name] != "id" or len(name) > SHORT_ID}

    def _label(self, name: str, kind: Kind) -> str:
        if owner := self.owners.get(name):
            return owner
        given = self.labels.get(name, "")
        return given if given and given not in _PLAIN_LABELS else _TITLES.get(kind, "ids")

    def _owners(self) -> dict[str, str]:
        """The person for each name that was only used while the talk was about that one person."""
        owners: dict[str, str] = {}
        for turn in self.transcript.turns:
            for text in (turn.words, *(call.arguments for call in turn.calls)):
                for name in _names_in(text):
                    owners[name] = turn.person if owners.get(name, turn.person) == turn.person else ""
        return {name: person for name, person in owners.items() if person != name}

    def _labels(self) -> dict[str, str]:
        """The key of each value in arguments and JSON results, the newest for each value."""
        labels: dict[str, str] = {}
        remaining = _LABELLED
        for turn in reversed(self.transcript.turns):
            for text in (*(call.arguments for call in turn.calls), *(text for _, text in turn.results)):
                remaining -= len(text)
                for label, value in _PAIR.findall(text) if remaining > 0 else ():
                    labels.setdefault(value.rstrip(".,:"), label)
        return labels


def _pairs_in(text: str) -> Iterable[tuple[Kind, str]]:
    return ((kind, name) for word in words_of(text) for kind, name in names_of(word) if kind in _KINDS) if text else ()


def _names_in(text: str) -> set[str]:
    return {name for word in words_of(text) for _, name in names_of(word)} if text else set()
