"""Names in what was read: how often each was said, used in calls and printed, and which are worth a list.

Of one output only some are taken: a listing of a thousand files is no thousand things worth knowing. Names inside the
trees of dependencies and tools are none, unless a person said them.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Container, Iterable, Iterator, Sequence

from .messages import Call
from .names import LONGEST_NAME, WORD_BREAKS, Kind, NameUse, measures, names_of

DEEPEST = 40  # last parts of a path that are looked at: a path of a thousand is none, and its ends would be a million
FROM_ONE = {"path": 16}  # names of a kind that one output brings, unless they are met elsewhere, too
FROM_ONE_OTHERS = 40
_TREES = re.compile(
    r"(?:^|/)(?:node_modules|\.pnpm|site-packages|dist-packages|\.git|vendor|\.venv|venv|__pycache__|\.tox|\.next"
    r"|\.cache|\.npm|\.cargo|\.mypy_cache|\.pytest_cache|bower_components|Pods|\.gradle)(?:/|$)"
)
_BUILT = re.compile(r"(?:^|/)(?:deps|_build|dist|build|target)/")
_NO_NAMES = frozenset(("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/usr/bin/env", "/bin/bash", "/bin/sh"))
# What a trace prints: a position that the next edit moves, a function with its arity; and a route or the end of a tag.
_PASSING = re.compile(r":\d+(?::\d+)*$|^[A-Za-z][\w.!?-]*/\d$|^/[^./]+/?$")
_SEPARATOR = "\0"


Read = tuple[str, Sequence[Call], Sequence[tuple[str, str]], bool]  # words, calls, results, typed


def names_in(newest: Sequence[Read], writing: Container[str] = ()) -> dict[str, NameUse]:
    """The names in all that was read, newest message first; the most recent first among those said.

    `writing` are the tools that write files.
    """
    spoken = [(age, words) for age, (words, *_) in enumerate(newest)]
    printed = [(age, text) for age, (_, _, results, _) in enumerate(newest) for _, text in results]
    calls: dict[str, list[tuple[int, str]]] = {}
    for age, (_, called, _, _) in enumerate(newest):
        for call in called:
            calls.setdefault(call.name, []).append((age, call.arguments))
    found: dict[str, NameUse] = {}
    for age, said in spoken:
        for measure in dict.fromkeys(measures(said)) if said else ():
            found.setdefault(measure, NameUse("number", age=age)).said += 1
    _meet(found, spoken, "said")
    for tool, arguments in calls.items():
        for name in _meet(found, arguments, "written" if tool in writing else "called"):
            found[name].tool = found[name].tool or tool
    _meet(found, printed, "printed", capped=True)
    typed = {name for words, *_, by_person in newest if by_person for name in _trees_in(words)}
    return {
        name: known
        for name, known in found.items()
        if name in typed or not (is_noise(name, known.kind) or _is_passing(name, known))
    }


def is_noise(name: str, kind: Kind) -> bool:
    """Whether a path is one of a dependency or of every system."""
    return kind == "path" and (bool(_TREES.search(name)) or name in _NO_NAMES)


def _is_passing(name: str, known: NameUse) -> bool:
    """Whether a path is in a place that is often, not always, somebody else's, or of no use later.

    One that a call names is listed.
    """
    if known.kind != "path" or known.called or known.written:
        return False
    return bool(_BUILT.search(name) or (not known.said and _PASSING.search(name)))


def _trees_in(words: str) -> Iterable[str]:
    return (name for word in words.split() for kind, name in names_of(word) if is_noise(name, kind))


def _meet(found: dict[str, NameUse], texts: list[tuple[int, str]], how: str, capped: bool = False) -> dict[str, None]:
    """Count the names in the texts, each with its age, under `how`; the names met."""
    met: dict[str, None] = {}
    texts = [(age, text) for age, text in texts if text]
    for (age, _), words in zip(texts, _words([text for _, text in texts]), strict=True):
        new: Tally[str] = Tally()
        for word in words:
            for kind, name in names_of(word):
                known = found.get(name)
                if known is None:
                    new[kind] += 1
                    if capped and new[kind] > FROM_ONE.get(kind, FROM_ONE_OTHERS):
                        continue
                    known = found[name] = NameUse(kind, age=age)
                setattr(known, how, getattr(known, how) + 1)
                known.age = min(known.age, age)
                met[name] = None
    return met


def _words(texts: list[str]) -> Iterable[dict[str, None]]:
    """The distinct words of each text. One long text is taken apart far faster."""
    if not texts:
        return ()
    everything = _SEPARATOR.join(text.replace(_SEPARATOR, " ") for text in texts)
    everything = everything.replace("</", " ")  # what ends a tag is no path
    for mark in WORD_BREAKS:
        everything = everything.replace(mark, " ")
    return (dict.fromkeys(text.split()) for text in everything.split(_SEPARATOR))


def ends_of(path: str) -> Iterator[str]:
    """The last parts of a path, each of which may stand for it elsewhere."""
    parts = path.split(":")[0].strip("/").split("/")
    return ("/".join(parts[at:]) for at in range(max(1, len(parts) - DEEPEST), len(parts)))


def parts_of(name: str) -> list[str]:
    """What stands where a name stands: the first parts of a dotted one, the number of `card_4421486`."""
    before, _, number = name.rpartition("_")
    if before and number.isdecimal():
        return [number]
    is_dotted = name[:1].isalpha() and "/" not in name
    return [name[:at] for at, letter in enumerate(name[:LONGEST_NAME]) if letter == "."] if is_dotted else []


def folders_of(path: str) -> Iterator[str]:
    """The folder of a path, as it may stand elsewhere: whole, or below any folder above it."""
    parts = path.strip("/").split("/")[:-1]
    return ("/".join(parts[at:]) for at in range(max(0, len(parts) - DEEPEST), len(parts)))


def in_turn(paths: list[str], files: dict[str, str]) -> list[str]:
    """Files read and files written by turns, then the others: none of the two kinds leaves the other without room."""
    kinds = [[path for path in paths if files.get(path) == kind] for kind in ("written", "read")]
    longest = max(map(len, kinds))
    turns = [path for at in range(longest) for kind in kinds for path in kind[at : at + 1]]
    return [*turns, *(path for path in paths if path not in files)]
