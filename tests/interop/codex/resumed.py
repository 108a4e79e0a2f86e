"""The rule by which Codex resumes, in few words: what of its files it sends to the model."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import zstandard

from tests.agents.base import Json
from tests.agents.codex import views


def resumed(home: Path, session_id: str) -> list[Json]:
    """The items a session goes on from: those of its newest compaction, and those behind it."""
    items: list[Json] = []
    for line in lineage(home, current(home, session_id)):
        if line["type"] == "response_item":
            items.append(line["payload"])
        elif line["type"] == "compacted":
            items = list(line["payload"]["replacement_history"])
        elif line["payload"].get("type") == "thread_rolled_back":  # 0.125; later ones have segments instead
            items = items[: _prompts(items)[-line["payload"]["num_turns"]]]
    return [{name: value for name, value in item.items() if name != _INTERNAL} for item in items]


def _prompts(items: list[Json]) -> list[int]:
    """Where people say something."""
    told = [views.told([item]) for item in items]
    return [
        at for at, blocks in enumerate(told) if blocks and blocks[0].role == "user" and not views.is_context(blocks[0])
    ]


_INTERNAL = "internal_chat_message_metadata_passthrough"  # sent to the client's own provider alone


def current(home: Path, session_id: str) -> Path:
    """The file that a session goes on in: what the client's database says, else the newest one."""
    if (home / "state_5.sqlite").exists():
        with closing(sqlite3.connect(f"file:{home / 'state_5.sqlite'}?mode=ro", uri=True)) as state:
            row = state.execute("SELECT rollout_path FROM threads WHERE id = ?", (session_id,)).fetchone()
        if row is not None:  # it knows no session that it has not loaded yet
            return Path(row[0])
    return max(home.rglob(f"rollout-*-{session_id}*"), key=lambda path: path.name)


def lineage(home: Path, path: Path, end: int | None = None) -> list[Json]:
    """The lines of a file before the byte `end`, behind those of the file that it goes on from."""
    lines: list[Json] = []
    for raw in _content(path)[:end].split(b"\n"):
        try:
            lines.append(json.loads(raw))
        except ValueError:  # torn, or empty at the end
            continue
    base = lines[0]["payload"].get("history_base")
    return [*(lineage(home, _named(home, base["thread_id"]), base["end_byte_offset"]) if base else []), *lines]


def _content(path: Path) -> bytes:
    if path.exists():
        return path.read_bytes()
    return zstandard.decompress(path.with_suffix(".jsonl.zst").read_bytes())


def _named(home: Path, file_id: str) -> Path:
    """The file of this id: that of a session in its first file, else one that the client made for this file."""
    (path,) = (path for path in home.rglob("rollout-*.jsonl") if path.stem[-36:] == file_id and _is_id(path, file_id))
    return path


def _is_id(path: Path, file_id: str) -> bool:
    return path.stem.endswith(f"_{file_id}") or "_" not in path.stem
