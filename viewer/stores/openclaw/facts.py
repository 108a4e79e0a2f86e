"""What lists say of a session: from both ends of its entries, and from what the client notes apart from them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from cachetools import LRUCache

from viewer.stores.base import LONGEST_FIRST_WORDS
from viewer.stores.envelopes import split
from viewer.stores.jsonl.files import plainly
from viewer.stores.jsonl.lines import MARK, decoded, parts_of
from viewer.stores.jsonl.values import seconds

from . import rows
from .entries import HEADER
from .envelopes import OPENCLAW
from .noted import LONGEST_TITLE
from .places import SessionPlace, pi_id

START, END = 1 << 18, 1 << 16  # bytes that are read of a file
FIRST, LAST = 200, 60  # entries that are looked at from either end of a session in a database
CHUNK, FARTHEST = 1 << 20, 1 << 26  # bytes of a file that are read at once, and that a name is looked for in
REMEMBERED = 10_000  # sessions
LONGEST_LINE = 2_000  # bytes of a line with a name
NAME_TYPE = b'"session_info"'


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """`began` in epoch seconds, 0.0 for unknown; `parent` is the session that the header names as where it came from,
    "" for none.
    """

    title: str = ""
    first_words: str = ""
    cwd: str = ""
    model: str = ""
    began: float = 0.0
    parent: str = ""


_known: LRUCache[tuple[str, str], TreeFacts] = LRUCache(REMEMBERED)
# By path: the file that a name was looked for in, how far, and the name.
_names: LRUCache[str, tuple[int, int, str]] = LRUCache(REMEMBERED)
_lock = Lock()


def facts_of(place: SessionPlace, con: sqlite3.Connection | None) -> TreeFacts:
    """The facts of a session, which is in the database of `con` or, for None, in a file. Raises OSError and
    sqlite3.Error.
    """
    key = place.cache_key, place.text
    with _lock:
        known = _known.get(key)
    if known is not None:
        return known
    found = _of_file(place.path) if con is None else _of_rows(con, place)
    noted = place.noted
    found = replace(
        found,
        title=noted.title or found.title,
        cwd=noted.cwd or found.cwd,
        model=found.model or noted.model or place.model,
        began=found.began or noted.began or place.began,
    )
    with _lock:
        _known[key] = found
    return found


def _of_rows(con: sqlite3.Connection, place: SessionPlace) -> TreeFacts:
    head = _head(rows.values(con, place.row_id, newest_first=False, limit=FIRST))
    model = _newest_model(rows.values(con, place.row_id, newest_first=True, limit=LAST))
    return replace(head, model=model or head.model)


def _of_file(path: Path) -> TreeFacts:
    with plainly(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        head = _head(_objects(file.read(START).removeprefix(MARK).split(b"\n")))
        file.seek(max(0, size - END))
        end = _newest_model(_values(reversed(file.read(END).split(b"\n"))))
        return replace(head, model=end or head.model, title=_newest_name(path, size))


def _values(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    return (value for line in lines if (value := decoded(line)) is not None)


def _objects(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """All that lines say, also what the client does not read."""
    parts = (part for line in lines if line.strip() for part in parts_of(line, 1))
    return (part.object for part in parts if part.object is not None)


def _head(values: Iterable[dict[str, Any]]) -> TreeFacts:
    """What the first entries say, up to the first request."""
    found = TreeFacts()
    for value in values:
        kind = value.get("type")
        if kind == HEADER and not found.began:
            came_from = _text(value.get("parentSession"))
            found = replace(
                found,
                cwd=_text(value.get("cwd")),
                began=seconds(value.get("timestamp")),
                parent=pi_id(came_from) if came_from else "",
            )
        model = _model(value)
        found = replace(found, model=model or found.model, first_words=_asked(value))
        if found.first_words:
            break
    return found


def _newest_model(values: Iterable[dict[str, Any]]) -> str:
    return next(filter(None, map(_model, values)), "")


def _model(value: dict[str, Any]) -> str:
    """The model that an entry names: one that was chosen, or that answered."""
    if value.get("type") == "model_change":
        return _text(value.get("modelId"))
    message = value.get("message")
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return ""
    return _text(message.get("model"))


def _asked(value: dict[str, Any]) -> str:
    """What a person asked in an entry, white space folded."""
    message = value.get("message")
    if value.get("type") != "message" or not isinstance(message, dict) or message.get("role") != "user":
        return ""
    found = split(message.get("content"), OPENCLAW)
    return "" if found.kind else " ".join(found.words.split())[:LONGEST_FIRST_WORDS]


def _newest_name(path: Path, size: int) -> str:
    """The name that a person gave to pi's session last, "" for none. What was looked at before is not read again."""
    with plainly(path) as file:
        inode = os.fstat(file.fileno()).st_ino
        with _lock:
            known = _names.get(str(path), (inode, 0, ""))
        seen, name = (known[1], known[2]) if known[0] == inode and known[1] <= size else (0, "")
        name = _name_behind(file, max(seen, size - FARTHEST), size) or name
        with _lock:
            _names[str(path)] = inode, max(0, size - LONGEST_LINE), name
    return name


def _name_behind(file: BinaryIO, start: int, end: int) -> str:
    """The newest name between two places of a file, "" for none."""
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
