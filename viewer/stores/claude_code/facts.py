"""What lists say of a session, from the start and the end of its file: the client's own list reads no more either."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from viewer.stores.base import LONGEST_FIRST_WORDS
from viewer.stores.jsonl.files import FileState, beginning
from viewer.stores.jsonl.lines import decoded
from viewer.stores.jsonl.values import seconds

from . import sidechains
from .envelopes import typed_words
from .forms import SAID
from .places import SessionFile
from .records import SYNTHETIC_MODEL, is_summary

EDGE = 65_536  # bytes that are read at either end
REMEMBERED = 5_000  # files
# The keys by which the client's own list names a session, the first found counts (claude_agent_sdk, sessions.py).
_TITLES = ("customTitle", "aiTitle", "lastPrompt", "summary")


@dataclass(frozen=True, slots=True)
class Facts:
    """Times in epoch seconds; `began` is 0.0 where no line has a time."""

    title: str
    first_words: str
    cwd: str
    model: str
    source: str
    branch: str
    version: str
    began: float


def facts_of(file: SessionFile) -> Facts:
    """The facts of a session. Raises OSError."""
    found = _facts(str(file.path), file.state)
    if not file.sidechain:
        return found
    begun = sidechains.in_file(str(file.path), file.state).get(file.sidechain) or sidechains.Sidechain("", "", 0.0)
    words = " ".join(begun.words.split())[:LONGEST_FIRST_WORDS]
    return replace(found, title="", first_words=words, began=begun.began)


@lru_cache(maxsize=REMEMBERED)
def _facts(path: str, state: FileState) -> Facts:
    with open(path, "rb") as file:
        start = file.read(EDGE)
        file.seek(max(0, state.size - EDGE))
        end = file.read(EDGE)
    first, last = list(_objects(start)), list(_objects(end))
    newest = [*first, *last][::-1]
    return Facts(
        title=_title(start, end) or _sub_agent_title(path),
        first_words=next(_typed([*first, *last]), "")[:LONGEST_FIRST_WORDS],
        cwd=_text(newest, "cwd"),
        model=next(_models(newest), ""),
        source=_text(newest, "entrypoint"),
        branch=_branch(newest),
        version=_text(newest, "version"),
        began=next((time for each in first if (time := seconds(each.get("timestamp")))), 0.0),
    )


def _sub_agent_title(path: str) -> str:
    """What a sub-agent was asked for, as the client notes it beside its file; "" for a session of its own."""
    name = os.path.basename(path)
    if name.startswith("agent-acompact-"):
        return "The client's summariser at work"
    if not name.startswith("agent-"):
        return ""
    try:
        noted = decoded(beginning(f"{path.removesuffix('.jsonl')}.meta.json", EDGE)) or {}
    except OSError:
        return ""
    said = [noted[name] for name in ("agentType", "description") if isinstance(noted.get(name), str)]
    return ": ".join(said)


def _objects(data: bytes) -> Iterator[dict[str, Any]]:
    """The whole lines in a part of a file."""
    for line in data.split(b"\n"):
        if line.startswith(b"{") and (value := decoded(line)) is not None:
            yield value


def _title(start: bytes, end: bytes) -> str:
    for name in _TITLES:
        for data in (end, start):
            if found := _last_value(data, name):
                return found
    return ""


def _last_value(data: bytes, name: str) -> str:
    """The last text behind this key, wherever it stands."""
    found = re.findall(rb'"%b":\s*("(?:[^"\\\n]|\\.){1,20000}")' % name.encode(), data)
    for value in reversed(found):
        try:
            text = str(json.loads(value.decode("utf-8", "replace")))
        except ValueError:
            continue
        typed = typed_words({}, text) or ""  # the client keeps the newest prompt as it sent it
        if words := " ".join(typed.split()):
            return words
    return ""


def _typed(values: list[dict[str, Any]]) -> Iterator[str]:
    for value in values:
        message = value.get("message")
        if value.get("type") != "user" or not isinstance(message, dict) or is_summary(value):
            continue
        text = " ".join((typed_words(value, message.get("content")) or "").split())
        if text:
            yield text


def _models(values: list[dict[str, Any]]) -> Iterator[str]:
    for value in values:
        message = value.get("message")
        model = message.get("model") if isinstance(message, dict) and value.get("type") in SAID else None
        if isinstance(model, str) and model not in ("", SYNTHETIC_MODEL):
            yield model


def _branch(values: list[dict[str, Any]]) -> str:
    """The git branch; outside of a repository the client writes "HEAD"."""
    found = _text(values, "gitBranch")
    return "" if found == "HEAD" else found


def _text(values: list[dict[str, Any]], name: str) -> str:
    return next((value[name] for value in values if isinstance(value.get(name), str) and value[name]), "")
