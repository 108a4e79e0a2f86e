"""Facts of a session for lists, from the start and the end of its current file, and from the client's own database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from viewer.stores.base import LONGEST_FIRST_WORDS
from viewer.stores.jsonl.compressed import ENDING, from_start
from viewer.stores.jsonl.files import FileState, plainly, state_of
from viewer.stores.jsonl.lines import decoded, parts_of
from viewer.stores.jsonl.newest import time_at_end
from viewer.stores.jsonl.values import seconds

from . import items
from .envelopes import typed_words
from .paths import ThreadFile, Threads, by_file_id
from .records import base_of

START, END = 1 << 18, 1 << 16  # bytes that are read of a file; its first lines contain tools and instructions
LONGEST_META = 1 << 22  # bytes of a first line
REMEMBERED = 10_000  # files
DEEPEST = 50  # files that are searched for a first request
SUB_AGENTS = ("subagent", "guardian_review")  # sources of threads that only another session talks to


@dataclass(frozen=True, slots=True)
class HeadFacts:
    """The facts in the first lines of a file. `is_sub_agent` says that a sub-agent wrote it (also one that reviews, or
    that decides on approvals), `spawned_by` is the session that started it, `forked_from` the one that it is a fork of,
    `base` the file that it continues from; "" for none. `agent` is the sub-agent's name, `version` that of the client.
    `began` is in epoch seconds, 0.0 where no line has a time.
    """

    is_sub_agent: bool
    spawned_by: str
    forked_from: str
    base: str
    source: str
    cwd: str
    branch: str
    model: str
    first_words: str
    began: float
    agent: str
    version: str


@dataclass(frozen=True, slots=True)
class ThreadFacts:
    """`window` is the model's in tokens, 0 where the end of the file does not name it; `newest` is the time of the
    newest entry in epoch seconds, 0.0 for a compressed file, and where no entry has one.
    """

    head: HeadFacts
    title: str
    first_words: str
    cwd: str
    model: str
    window: int
    newest: float


def facts_of(file: ThreadFile, threads: Threads) -> ThreadFacts:
    """The facts of a session. Raises OSError."""
    head = head_of(file.rollout.path)
    cwd, model, window, newest = _end(file.rollout.path, file.state)
    return ThreadFacts(
        head=head,
        title=file.row.title or head.agent,
        first_words=_inherited_words(head, threads) or head.first_words,
        cwd=cwd or head.cwd,
        model=model or head.model or file.row.model,
        window=window,
        newest=newest,
    )


def head_of(path: str) -> HeadFacts:
    """The facts in the first lines of a file. Raises OSError."""
    state = state_of(path)
    return _head(path, state.inode, min(state.size, START))


@lru_cache(maxsize=REMEMBERED)
def _head(path: str, inode: int, size: int) -> HeadFacts:
    with from_start(Path(path)) as file:
        first = file.readline(LONGEST_META)
        lines = file.read(START).split(b"\n")
    read = [value for value in (*_in_first(first), *map(decoded, lines)) if value is not None]
    values = list(map(items.payload_of, read))
    meta = _own_meta(values, path)
    git = _object(meta.get("git"))
    kind = _object(meta.get("source")).get("subagent")
    spawn = _object(_object(kind).get("thread_spawn"))
    base = base_of(meta)
    is_sub_agent = kind is not None or meta.get("thread_source") in SUB_AGENTS
    parent = (_text(spawn.get("parent_thread_id")) or _text(meta.get("parent_thread_id"))) if is_sub_agent else ""
    contexts = [payload for kind, payload in values if kind == "turn_context"]
    return HeadFacts(
        is_sub_agent=is_sub_agent,
        spawned_by=parent,
        forked_from="" if is_sub_agent else _text(meta.get("forked_from_id")),
        base=base.file_id if base else "",
        source=_text(meta.get("source")) or ("subagent" if is_sub_agent else "") or "codex",
        cwd=_text(meta.get("cwd")),
        branch=_text(git.get("branch")),
        model=next((_text(each.get("model")) for each in reversed(contexts)), ""),
        first_words=next(filter(None, (_request(kind, payload) for kind, payload in values)), "")[:LONGEST_FIRST_WORDS],
        began=next(filter(None, (seconds(each.get("timestamp")) for each in (meta, *read))), 0.0),
        version=_text(meta.get("cli_version")),
        agent=next(
            filter(None, map(_text, (meta.get("agent_nickname"), spawn.get("agent_nickname"), kind, _other(kind)))), ""
        ),
    )


def _own_meta(values: Sequence[tuple[str, dict[str, Any]]], path: str) -> dict[str, Any]:
    """The file's own metadata, from its first line or, where that is damaged, from a later one."""
    for at, (kind, payload) in enumerate(values):
        thread = _text(payload.get("id"))
        if kind == "session_meta" and (at == 0 or (thread and thread in path.rpartition("/")[2])):
            return payload
    return {}


def _in_first(line: bytes) -> Iterator[dict[str, Any] | None]:
    """The objects in a first line, also in a damaged one."""
    if line.strip():
        yield from (part.object for part in parts_of(line.rstrip(b"\r\n")))


def _other(kind: Any) -> Any:
    """The kind of a sub-agent without a standard kind, such as "guardian"."""
    return _object(kind).get("other")


def _inherited_words(head: HeadFacts, threads: Threads) -> str:
    """The first request of the files that this one continues from, "" for none."""
    words = ""
    for _ in range(DEEPEST):
        rollout = by_file_id(threads, head.base) if head.base else None
        if rollout is None:
            break
        try:
            head = head_of(rollout.path)
        except OSError:  # another session's file, which reports the error itself
            break
        words = head.first_words or words
    return words


@lru_cache(maxsize=REMEMBERED)
def _end(path: str, state: FileState) -> tuple[str, str, int, float]:
    """Directory and model of the newest turn, the window of its newest count, and the time of the newest entry; "" and
    0 where the end of the file has none, and for a compressed file.
    """
    if path.endswith(ENDING):  # it would have to be unpacked as a whole
        return "", "", 0, 0.0
    with plainly(Path(path)) as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - END))
        lines = file.read(END).split(b"\n")
        newest = time_at_end(file)
    window = 0
    for line in reversed(lines):
        if not window and line.startswith(b"{") and b'"model_context_window"' in line:
            window = _window(items.payload_of(decoded(line))[1])
        if line.startswith(b"{") and b'"turn_context"' in line[:200]:
            kind, payload = items.payload_of(decoded(line))
            if kind == "turn_context":
                return _text(payload.get("cwd")), _text(payload.get("model")), window, newest
    return "", "", window, newest


def _window(event: dict[str, Any]) -> int:
    """The model's window in a count or the start of a turn, in tokens, 0 for none."""
    windows = (event.get("model_context_window"), _object(event.get("info")).get("model_context_window"))
    return next((each for each in windows if type(each) is int and 0 < each < 10**12), 0)


def _request(kind: str, payload: dict[str, Any]) -> str:
    """A person's request in a line, white space folded."""
    if kind == "compacted" and isinstance(payload.get("replacement_history"), list):
        return next(filter(None, (_request("response_item", each) for each in payload["replacement_history"])), "")
    if kind != "response_item" or not isinstance(payload, dict) or payload.get("role") != "user":
        return ""
    return " ".join((typed_words(payload) or "").split()) if items.facts_of(payload).is_prompt else ""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
