"""Facts of a session for lists: from both ends of its entries, and from the client's separate records."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from cachetools import LRUCache

from viewer.stores.base import LONGEST_FIRST_WORDS
from viewer.stores.envelopes import split
from viewer.stores.jsonl.files import plainly
from viewer.stores.jsonl.lines import MARK, decoded, parts_of
from viewer.stores.jsonl.newest import time_at_end
from viewer.stores.jsonl.values import seconds

from .envelopes import OPENCLAW
from .paths import LONGEST_TITLE, SessionLocation, pi_id
from .records import COMPACTION, EDIT, HEADER, NOTE, UNDONE

START, END = 1 << 18, 1 << 16  # bytes that are read of a file
CHUNK, FARTHEST = 1 << 20, 1 << 26  # bytes that are read at once, and how far back a file is searched for a name
REMEMBERED = 10_000  # sessions
LONGEST_LINE = 2_000  # bytes of a line with a name
NAME_TYPE = b'"session_info"'


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """`began` and the time of the `newest` entry in epoch seconds, 0.0 for unknown; `parent` is the session that the
    header names as its origin, "" for none.
    """

    title: str = ""
    first_words: str = ""
    cwd: str = ""
    model: str = ""
    began: float = 0.0
    newest: float = 0.0
    parent: str = ""


_known: LRUCache[tuple[str, str], TreeFacts] = LRUCache(REMEMBERED)
# By path: the inode of the file that was searched for a name, how far, and the name.
_names: LRUCache[str, tuple[int, int, str]] = LRUCache(REMEMBERED)
_lock = Lock()


def facts_of(location: SessionLocation) -> TreeFacts:
    """The facts of a session in a file. Raises OSError."""
    return known_facts(location, lambda: _of_file(location.path))


def known_facts(location: SessionLocation, read: Callable[[], TreeFacts]) -> TreeFacts:
    """The facts of a session, completed by the client's separate records; `read` is called for the facts in its entries
    where these are not in memory.
    """
    key = location.cache_key, location.text
    with _lock:
        cached = _known.get(key)
    if cached is not None:
        return cached
    result = read()
    recorded = location.fields
    result = replace(
        result,
        title=recorded.title or result.title,
        cwd=recorded.cwd or result.cwd,
        model=result.model or recorded.model or location.model,
        began=result.began or recorded.began or location.began,
    )
    with _lock:
        _known[key] = result
    return result


def _of_file(path: Path) -> TreeFacts:
    with plainly(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        head = head_of(_objects(file.read(START).removeprefix(MARK).split(b"\n")))
        file.seek(max(0, size - END))
        end = newest_model(_values(reversed(file.read(END).split(b"\n"))))
        newest = time_at_end(file, is_compaction)
        return replace(head, model=end or head.model, newest=newest, title=_newest_name(path, size))


def _values(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    return (value for line in lines if (value := decoded(line)) is not None)


def _objects(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The objects of all lines, including those that the client does not read."""
    parts = (part for line in lines if line.strip() for part in parts_of(line, 1))
    return (part.object for part in parts if part.object is not None)


def head_of(values: Iterable[dict[str, Any]]) -> TreeFacts:
    """The facts in the first entries, up to the first request."""
    result = TreeFacts()
    for value in values:
        kind = value.get("type")
        if kind == HEADER and not result.began:
            came_from = _text(value.get("parentSession"))
            result = replace(
                result,
                cwd=_text(value.get("cwd")),
                began=seconds(value.get("timestamp")),
                parent=pi_id(came_from) if came_from else "",
            )
        model = _model(value)
        result = replace(result, model=model or result.model, first_words=_request(value))
        if result.first_words:
            break
    return result


def is_compaction(value: Mapping[str, Any]) -> bool:
    """Whether an entry is a compaction, or what is left of one that was undone here."""
    return value.get("type") in (COMPACTION, EDIT) or value.get("customType") in (UNDONE, NOTE)


def newest_model(values: Iterable[dict[str, Any]]) -> str:
    return next(filter(None, map(_model, values)), "")


def _model(value: dict[str, Any]) -> str:
    """The model that an entry names: one that was chosen, or that answered."""
    if value.get("type") == "model_change":
        return _text(value.get("modelId"))
    message = value.get("message")
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return ""
    return _text(message.get("model"))


def _request(value: dict[str, Any]) -> str:
    """A person's request in an entry, white space folded."""
    message = value.get("message")
    if value.get("type") != "message" or not isinstance(message, dict) or message.get("role") != "user":
        return ""
    words = split(message.get("content"), OPENCLAW)
    return "" if words.kind else " ".join(words.words.split())[:LONGEST_FIRST_WORDS]


def _newest_name(path: Path, size: int) -> str:
    """The newest name that a person gave to pi's session, "" for none. Parts that were searched before are not read
    again.
    """
    with plainly(path) as file:
        inode = os.fstat(file.fileno()).st_ino
        with _lock:
            cached = _names.get(str(path), (inode, 0, ""))
        searched, name = (cached[1], cached[2]) if cached[0] == inode and cached[1] <= size else (0, "")
        name = _name_behind(file, max(searched, size - FARTHEST), size) or name
        with _lock:
            _names[str(path)] = inode, max(0, size - LONGEST_LINE), name
    return name


def _name_behind(file: BinaryIO, start: int, end: int) -> str:
    """The newest name between two offsets of a file, "" for none."""
    while end > start:
        begin = max(start, end - CHUNK)
        file.seek(max(0, begin - LONGEST_LINE))
        data = file.read(end - max(0, begin - LONGEST_LINE) + len(NAME_TYPE))
        at = data.rfind(NAME_TYPE)
        while at >= 0:
            line = data[data.rfind(b"\n", 0, at) + 1 :].split(b"\n", 1)[0]
            value = decoded(line)
            if value is not None and value.get("type") == "session_info":
                return " ".join(_text(value.get("name")).split())[:LONGEST_TITLE]
            at = data.rfind(NAME_TYPE, 0, at)
        end = begin
    return ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
