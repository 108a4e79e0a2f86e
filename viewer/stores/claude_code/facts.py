"""Facts of a session for lists, from the start and the end of its file: the client's own list reads no more either."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any

from compaction import messages as chat
from viewer.stores.base import LONGEST_FIRST_WORDS
from viewer.stores.jsonl.files import FileState, beginning
from viewer.stores.jsonl.lines import decoded
from viewer.stores.jsonl.newest import time_at_end
from viewer.stores.jsonl.values import seconds

from . import sidechains
from .envelopes import typed_words
from .paths import SessionFile
from .records import SYNTHETIC_MODEL, is_summary, object_in
from .schema import BOUNDARY, MESSAGE_TYPES

EDGE = 65_536  # bytes that are read at either end
REMEMBERED = 5_000  # files
# Of the notes that an undo writes (`encode.NOTE`).
UNDONE = {"subtype": "informational", "content": "Compaction undone"}
# The fields that the client's own list takes a session's name from, the first match counts (claude_agent_sdk,
# sessions.py): type and key.
_TITLES = (
    ("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("last-prompt", "lastPrompt"), ("summary", "summary"),
)  # fmt: skip
_NO_NAME = re.compile(r"[^a-zA-Z0-9]")  # what the client replaces in the name of a project's directory
_COMMAND = re.compile(r"<command-name>([^<]{1,80})</command-name>")


@dataclass(frozen=True, slots=True)
class Facts:
    """Times in epoch seconds: of the first entry that has one, and of the `newest`; 0.0 where no entry has one."""

    title: str
    first_words: str
    cwd: str
    model: str
    source: str
    branch: str
    version: str
    began: float
    newest: float


def facts_of(file: SessionFile) -> Facts:
    """The facts of a session. Raises OSError."""
    facts = _facts(str(file.path), file.state)
    if not file.sidechain:
        return facts
    begun = sidechains.in_file(str(file.path), file.state).get(file.sidechain) or sidechains.Sidechain("", "", 0.0)
    words = " ".join(begun.words.split())[:LONGEST_FIRST_WORDS]
    return replace(facts, title="", first_words=words, began=begun.began)


@lru_cache(maxsize=REMEMBERED)
def _facts(path: str, state: FileState) -> Facts:
    with open(path, "rb") as file:
        start = file.read(EDGE)
        file.seek(max(0, state.size - EDGE))
        end = file.read(EDGE)
        newest_time = time_at_end(file, _is_compaction)
    first, last = list(_objects(start)), list(_objects(end))
    newest = [*first, *last][::-1]
    return Facts(
        title=_title(newest) or _sub_agent_title(path),
        first_words=next(chain(_typed([*first, *last]), _commands([*first, *last])), "")[:LONGEST_FIRST_WORDS],
        cwd=_directory(path, newest),
        model=next(_models(newest), ""),
        source=_text(newest, "entrypoint"),
        branch=_branch(newest),
        version=_text(newest, "version"),
        began=next((time for each in first if (time := seconds(each.get("timestamp")))), 0.0),
        newest=newest_time,
    )


def _is_compaction(value: Mapping[str, Any]) -> bool:
    """Whether a line belongs to a compaction, or to its undo here."""
    subtype = value.get("subtype")
    return subtype == BOUNDARY or is_summary(value) or {"subtype": subtype, "content": value.get("content")} == UNDONE


def _sub_agent_title(path: str) -> str:
    """The task of a sub-agent, as the client records it next to its file; "" for a normal session."""
    name = os.path.basename(path)
    if name.startswith("agent-acompact-"):
        return "The client's summariser at work"
    if not name.startswith("agent-"):
        return ""
    try:
        metadata = decoded(beginning(f"{path.removesuffix('.jsonl')}.meta.json", EDGE)) or {}
    except OSError:
        return ""
    parts = [metadata[name] for name in ("agentType", "description") if isinstance(metadata.get(name), str)]
    return ": ".join(parts)


def _objects(data: bytes) -> Iterator[dict[str, Any]]:
    """The objects of the complete lines in a part of a file."""
    for line in data.split(b"\n"):
        if line.startswith(b"{") and (value := decoded(line)) is not None:
            yield value


def _title(newest: list[dict[str, Any]]) -> str:
    """The newest name in a line of the right type: a tool's input may have the same keys."""
    for kind, name in _TITLES:
        named = (value[name] for value in newest if value.get("type") == kind and isinstance(value.get(name), str))
        typed = (typed_words({}, each) or "" for each in named)  # the client keeps the newest prompt as it sent it
        if words := next(filter(None, (" ".join(each.split()) for each in typed)), ""):
            return words
    return ""


def _directory(path: str, newest: list[dict[str, Any]]) -> str:
    """The directory that the file is kept under, where the client looks for it: a session may have gone elsewhere
    since. That of the newest line where no line names it.
    """
    named = (value["cwd"] for value in newest if isinstance(value.get("cwd"), str))
    return next((each for each in named if _NO_NAME.sub("-", each) in path.split("/")), "") or _text(newest, "cwd")


def _typed(values: list[dict[str, Any]]) -> Iterator[str]:
    for value in values:
        message = value.get("message")
        if value.get("type") != "user" or not isinstance(message, dict) or is_summary(value):
            continue
        text = " ".join((typed_words(value, message.get("content")) or "").split())
        if text:
            yield text


def _commands(values: list[dict[str, Any]]) -> Iterator[str]:
    """Names of the client's own commands, for a session without any other request."""
    for value in values:
        text = chat.said(object_in(value, "message").get("content")) if value.get("type") == "user" else ""
        if named := _COMMAND.search(text):
            yield named[1].strip()


def _models(values: list[dict[str, Any]]) -> Iterator[str]:
    for value in values:
        message = value.get("message")
        model = message.get("model") if isinstance(message, dict) and value.get("type") in MESSAGE_TYPES else None
        if isinstance(model, str) and model not in ("", SYNTHETIC_MODEL):
            yield model


def _branch(values: list[dict[str, Any]]) -> str:
    """The git branch; outside of a repository the client writes "HEAD"."""
    branch = _text(values, "gitBranch")
    return "" if branch == "HEAD" else branch


def _text(values: list[dict[str, Any]], name: str) -> str:
    return next((value[name] for value in values if isinstance(value.get(name), str) and value[name]), "")
