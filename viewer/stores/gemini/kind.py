"""Gemini CLI's home as a kind of store: where its sessions are, and what one of them says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings

from viewer.stores import parsed_session as parsed
from viewer.stores.base import Store
from viewer.stores.google_contents import joined_text, reported, text_of
from viewer.stores.jsonl.files import state_of
from viewer.stores.jsonl.lines import decoded
from viewer.stores.jsonl.values import seconds
from viewer.stores.message import StoredMessage, Withheld
from viewer.stores.parsed import ParsedStores
from viewer.stores.parsed_session import ParsedFile, ParsedSession
from viewer.stores.settings_files import value_in

from .replay import CONTEXT, ROLES, GeminiReplay

START = 4_096  # bytes at the start of a file that have its session's id
WINDOW = 1_048_576  # tokens that the client (0.61) takes for the window of each Gemini model
SPREAD = 1_000  # from the number of a message to that of the next, in a file that is one object
IN_CONTEXT = "It is what the client has in mind from then on."
_ID = re.compile(rb'"sessionId"\s*:\s*"([\w.-]{1,200})"')


class GeminiStores(ParsedStores):
    """A home of Gemini CLI, `~/.gemini` by default."""

    name, schemes = "gemini", ("gemini:///",)
    client, command, room = "Gemini CLI", "gemini --resume {}", "tmp"
    compacts_at = 0.5

    def home(self) -> Path:
        home: Path = settings.GEMINI_HOME
        return home

    def files(self, store: Store) -> Iterator[ParsedFile]:
        """Each resume begins a file of the same session that stays empty, and an upgrade copies files: of each session,
        the one that was written last.
        """
        files: dict[str, list[ParsedFile]] = {}
        for each in self.all_files(store):
            files.setdefault(each.id, []).append(each)
        yield from (max(same, key=self._order) if len(same) > 1 else same[0] for same in files.values())

    def _order(self, file: ParsedFile) -> tuple[bool, float, bool, bool]:
        facts = self.facts(file)
        return not facts.is_empty, facts.newest, file.path.suffix == ".jsonl", bool(file.cwd)

    def all_files(self, store: Store) -> Iterator[ParsedFile]:
        named = value_in(store.path / "projects.json", json.loads, "projects")
        projects = [each for each in named if isinstance(each, str)] if isinstance(named, dict) else []
        hashes = {sha256(each.encode()).hexdigest(): each for each in projects}
        for chats in (store.path / self.room).glob("*/chats"):
            project = chats.parent
            slugs = (each for each in projects if named.get(each) == project.name)
            cwd = value_in(project / ".project_root", str) or next(slugs, "") or hashes.get(project.name, "")
            for path in (*chats.glob("session-*.json"), *chats.glob("session-*.jsonl"), *chats.glob("*/*.jsonl")):
                with suppress(OSError):
                    parent = "" if path.parent == chats else path.parent.name
                    state = state_of(path)
                    session_id = _id_in(path, state.inode, min(state.size, START)) or path.stem
                    yield ParsedFile(session_id, path, state, parent, cwd=cwd.strip())

    def parse(self, file: ParsedFile) -> ParsedSession:
        replay, rows = GeminiReplay(file.id), list[StoredMessage]()
        whole = decoded(file.path.read_bytes()) if file.path.suffix == ".json" else None
        if whole is not None:  # a client before 0.39 writes the file anew each time
            replay.take({"projectHash": "", **whole, "messages": None}, 1)
            messages = whole["messages"] if isinstance(whole.get("messages"), list) else []
            for row_id, value in enumerate(messages, start=1):
                if isinstance(value, dict):
                    replay.take(value, row_id * SPREAD)
                rows.append(_row(value, row_id * SPREAD, file.id))
        for line in parsed.lines_of(file.path) if whole is None else ():
            value = line.value(parsed.READ)
            if value is None:
                rows.append(parsed.broken_row(line, file.id))
            else:
                replay.take(value, parsed.id_of(line))
                rows.append(_row(value, parsed.id_of(line), file.id, line.length))
        metadata, requests = replay.metadata, replay.requests()
        directories = metadata.get("directories")
        live, newest = replay.live, requests[-1] if requests else None
        compacted = replay.compactions[-1].time if replay.compactions else 0.0
        is_sub_agent = metadata.get("kind") == "subagent"  # its `summary` is its result
        model = next((each.model for each in reversed(requests) if each.model), "")
        return ParsedSession(
            messages=replay.messages,
            rows=rows,
            live=live,
            compactions=replay.compactions,
            left=replay.left,
            lost=replay.context_ids,
            added=joined_text(replay.context.get(CONTEXT, {}).get("content")),
            sends_thoughts=False,
            title="" if is_sub_agent else text_of(metadata.get("summary")),
            model=model,
            window=WINDOW if model.startswith("gemini-") else 0,
            cwd=text_of(directories[0]) if is_sub_agent and isinstance(directories, list) and directories else "",
            began=seconds(metadata.get("startTime")),
            usage=reported(requests, newest.read if newest and newest.time >= compacted else None, "google"),
        )


def _row(value: Any, row_id: int, session_id: str, size: int = 0) -> StoredMessage:
    """An object as a row: a message, or a line that says something about the session."""
    if not isinstance(value, dict):
        return StoredMessage(row_id, session_id, "unknown", value, "out", 0.0)
    role = next((each for each in ("$set", "$rewindTo") if each in value), text_of(value.get("type")) or "session")
    row = parsed.row_of(row_id, session_id, ROLES.get(role, role), value, value.get("content"))
    changes = value.get("$set")
    if isinstance(changes, Mapping) and isinstance(changes.get("messages"), list):
        row.extra["$set"] = Withheld(size, f"{len(changes['messages']):,} messages. {IN_CONTEXT}")
    return row


@lru_cache(maxsize=20_000)
def _id_in(path: Path, inode: int, size: int) -> str:
    """The session's id at the start of a file, "" for none."""
    with path.open("rb") as file:
        match = _ID.search(file.read(size))
    return match[1].decode("utf-8", "replace") if match else ""
