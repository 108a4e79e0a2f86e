"""OpenClaw by hand: the tables that are read, rows and files as the client writes them, its rule in few words."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

import zstandard

from tests.agents.base import Agent, Heard, Line, Message
from tests.agents.pi.by_hand import CWD, PiByHand, active, broken, is_request, loaded, now, said

# What is read of the tables of schema 23; the client's have more columns, and checks.
TABLES = """
CREATE TABLE session_nodes (
  session_key TEXT NOT NULL PRIMARY KEY, current_session_id TEXT NOT NULL, entry_json TEXT NOT NULL,
  entry_valid INTEGER NOT NULL DEFAULT 0, updated_at INTEGER NOT NULL, status TEXT, parent_session_key TEXT,
  spawned_by TEXT, fork_source_session_key TEXT, fork_source_session_id TEXT, fork_source_entry_id TEXT, label TEXT,
  display_name TEXT, pinned_at INTEGER, archived_at INTEGER, created_at INTEGER, created_via TEXT
) STRICT;
CREATE TABLE session_windows (
  session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL, previous_session_id TEXT, reason TEXT,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, transcript_updated_at INTEGER,
  transcript_observed_at INTEGER, status TEXT, channel TEXT, model_provider TEXT, model TEXT, parent_session_key TEXT
) STRICT;
CREATE TABLE transcript_events (
  session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER NOT NULL, event_zstd BLOB,
  event_utf8_bytes INTEGER, navigation_json TEXT, PRIMARY KEY (session_id, seq),
  CHECK (navigation_json IS NULL OR octet_length(navigation_json) <= 16384)
) STRICT;
CREATE TABLE transcript_event_identities (
  session_id TEXT NOT NULL, event_id TEXT NOT NULL, seq INTEGER NOT NULL, event_type TEXT, parent_id TEXT,
  message_idempotency_key TEXT, created_at INTEGER NOT NULL, PRIMARY KEY (session_id, event_id)
) STRICT;
CREATE TABLE transcript_rewrite_watermarks (
  session_id TEXT NOT NULL PRIMARY KEY, generation TEXT NOT NULL, updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE session_transcript_active_events (
  session_id TEXT NOT NULL, active_position INTEGER NOT NULL, event_seq INTEGER NOT NULL, message_position INTEGER,
  context_eligible INTEGER, PRIMARY KEY (session_id, active_position)
) STRICT;
CREATE TABLE session_transcript_index_state (
  session_id TEXT NOT NULL PRIMARY KEY, indexed_seq INTEGER NOT NULL, leaf_event_id TEXT,
  needs_rebuild INTEGER NOT NULL DEFAULT 0, active_event_count INTEGER NOT NULL,
  active_message_count INTEGER NOT NULL, updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE session_pending_inputs (
  session_key TEXT NOT NULL, state TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE session_transcript_fts USING fts5(
  text, session_id UNINDEXED, message_id UNINDEXED, role UNINDEXED, timestamp UNINDEXED
);
CREATE TABLE session_transcript_fts_rows (
  id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, message_id TEXT
) STRICT;
CREATE TRIGGER entry_is_new AFTER INSERT ON session_nodes BEGIN
  UPDATE session_nodes SET entry_valid = 0 WHERE session_key = NEW.session_key;
END;
CREATE TRIGGER entry_changed AFTER UPDATE OF entry_json ON session_nodes BEGIN
  UPDATE session_nodes SET entry_valid = 0 WHERE session_key = NEW.session_key;
END;
CREATE TABLE session_transcript_cold_archives (
  session_id TEXT NOT NULL PRIMARY KEY, generation TEXT NOT NULL, archive_name TEXT NOT NULL, archived_at INTEGER
) STRICT;
"""
HEADER: Line = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-07-01T10:00:00.000Z", "cwd": "/w"}
SECRET = "the report on the system prompt, which nobody is shown"


class OpenClawByHand(Agent):
    """A state directory with one agent, whose database has one schema of those that are known."""

    writes_messages = False
    unique_titles = False
    keeps_start = False
    redoes = True
    shortens = False
    renames = False

    def __init__(self, path: Path, schema: int = 23, agent: str = "main") -> None:
        super().__init__(f"openclaw://{path}")
        self.root, self.agent = path, agent
        self._held: sqlite3.Connection | None = None
        self.database = path / "agents" / agent / "agent" / "openclaw-agent.sqlite"
        self.database.parent.mkdir(parents=True)
        with closing(self.connected()) as con:
            con.execute("PRAGMA journal_mode = WAL")
            con.executescript(TABLES)
            con.execute(f"PRAGMA user_version = {schema}")
            if schema < 23:
                con.execute("DROP TABLE session_transcript_fts_rows")
                for column in ("event_zstd", "event_utf8_bytes"):
                    con.execute(f"ALTER TABLE transcript_events DROP COLUMN {column}")

    def connected(self) -> sqlite3.Connection:
        con = sqlite3.connect(self.database, isolation_level=None, timeout=20)
        con.create_function("octet_length", 1, lambda value: len(str(value).encode()), deterministic=True)
        con.execute("PRAGMA synchronous = OFF")
        return con

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """One connection for all that is done inside."""
        if self._held is not None:
            yield self._held
            return
        with closing(self.connected()) as self._held:
            try:
                yield self._held
            finally:
                self._held = None

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._connection() as con:
            return con.execute(query, values).fetchall()

    def key(self, name: str) -> str:
        return f"agent:{self.agent}:{name}"

    def id_of(self, name: str) -> str:
        """The session that the key of this name goes on with, or that of this id."""
        query = "SELECT current_session_id FROM session_nodes WHERE session_key = ? OR current_session_id = ?"
        found = self.sql(query, self.key(name), name)
        return str(found[0][0]) if found else str(uuid5(NAMESPACE_OID, name))

    # -- writing

    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        window = str(uuid5(NAMESPACE_OID, session_id))
        entry = {"sessionId": window, "displayName": session_id, "model": "test-model", "modelProvider": "test",
                 "contextTokens": 200_000, "systemPromptReport": SECRET}  # fmt: skip
        with self._connection():
            self.begin(self.key(session_id), window, entry)
            self.append(session_id, "model_change", provider="test", modelId="test-model")
            for message in messages:
                self.say(session_id, message)

    def begin(self, key: str, window: str, entry: Line, **more: Any) -> None:
        """A key with its first transcript, which has nothing but its header."""
        self._insert("session_nodes", session_key=key, current_session_id=window, entry_json=json.dumps(entry),
                     updated_at=stamp(), **more)  # fmt: skip
        self.sql("UPDATE session_nodes SET entry_valid = 1 WHERE session_key = ?", key)
        self.window(key, window)
        header = {"type": "session", "version": 4, "id": window, "timestamp": now(), "cwd": CWD}
        self._event(window, header)

    def window(self, key: str, window: str, **more: Any) -> None:
        """A transcript of a key, with nothing in it."""
        made = stamp()
        self._insert("session_windows", session_id=window, session_key=key, created_at=made, updated_at=made,
                     model="test-model", **more)  # fmt: skip
        self._insert("transcript_rewrite_watermarks", session_id=window, generation=uuid4().hex, updated_at=made)

    def say(self, session_id: str, message: Message) -> None:
        self.append(session_id, "message", message=said(message))

    def append(self, session_id: str, kind: str, /, *, packed: bool = False, **more: Any) -> Line:
        """A row behind the others, which hangs on the leaf where nothing else is said; `packed` compresses it."""
        with self._connection():
            path = self.active(session_id)
            parent = path[-1]["id"] if path else None
            entry = {"type": kind, "id": str(uuid4()), "parentId": parent, "timestamp": now()} | more
            self._event(self.id_of(session_id), entry, packed=packed)
        return entry

    def _event(self, window: str, entry: Line, *, packed: bool = False) -> None:
        ((seq,),) = self.sql("SELECT coalesce(max(seq) + 1, 0) FROM transcript_events WHERE session_id = ?", window)
        text, made = json.dumps(entry, ensure_ascii=False), stamp()
        body: Line = {"event_json": text}
        if packed:
            names = ("type", "id", "parentId", "timestamp")
            message = {name: each for name, each in entry.get("message", {}).items() if name != "content"}
            navigation = {name: entry[name] for name in names} | {"message": message | {"content": []}}
            data = text.encode()
            body = {"event_zstd": zstandard.ZstdCompressor(1).compress(data), "event_utf8_bytes": len(data),
                    "navigation_json": json.dumps({"version": 1, "model": navigation})}  # fmt: skip
        self._insert("transcript_events", session_id=window, seq=seq, created_at=made, **body)
        self._insert("transcript_event_identities", session_id=window, event_id=entry["id"], seq=seq,
                     event_type=entry["type"], parent_id=entry.get("parentId"), created_at=made)  # fmt: skip
        self._settle(window)
        touch = "UPDATE session_windows SET transcript_updated_at = max(coalesce(transcript_updated_at, 0) + 1, ?)"
        self.sql(f"{touch} WHERE session_id = ?", made, window)

    def _settle(self, window: str) -> None:
        """Bring the index of the active path up to date."""
        entries = self._of_window(window)
        seq = {each["id"]: at for at, each in enumerate(entries)}
        path = [each for each in active(entries) if each["type"] != "leaf"]
        messages = iter(range(len(path)))
        rows = [
            (window, at, seq[each["id"]], next(messages) if each["type"] == "message" else None, 1)
            for at, each in enumerate(path)
        ]
        leaf = path[-1]["id"] if path else None
        state = (window, len(entries) - 1, leaf, 0, len(path), sum(row[3] is not None for row in rows), stamp())
        with self._connection() as con:
            con.execute("BEGIN IMMEDIATE")
            con.execute("DELETE FROM session_transcript_active_events WHERE session_id = ?", (window,))
            con.executemany("INSERT INTO session_transcript_active_events VALUES (?, ?, ?, ?, ?)", rows)
            con.execute("REPLACE INTO session_transcript_index_state VALUES (?, ?, ?, ?, ?, ?, ?)", state)
            con.execute("COMMIT")

    def _insert(self, table: str, **values: Any) -> None:
        marks = ", ".join("?" * len(values))
        self.sql(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", *values.values())

    def take_back(self, session_id: str) -> None:
        """A rewind: the key goes on with a whole copy of its transcript, behind which a `leaf` entry stands."""
        old, new, path = self.id_of(session_id), str(uuid4()), self.active(session_id)
        request = [each for each in path if is_request(each)][-1]
        self.window(self.key(session_id), new, previous_session_id=old)
        for table in ("transcript_events", "transcript_event_identities"):
            names = ", ".join(row[1] for row in self.sql(f"PRAGMA table_info({table})") if row[1] != "session_id")
            copied = f"SELECT ?, {names} FROM {table} WHERE session_id = ?"
            self.sql(f"INSERT INTO {table} (session_id, {names}) {copied}", new, old)
        self.sql("UPDATE session_nodes SET current_session_id = ?, updated_at = ? WHERE session_key = ?",
                 new, stamp(), self.key(session_id))  # fmt: skip
        self.append(session_id, "leaf", id=uuid4().hex[:8], targetId=request["parentId"])

    # -- reading

    def entries(self, session_id: str) -> list[Line]:
        return self._of_window(self.id_of(session_id))

    def _of_window(self, window: str) -> list[Line]:
        packed = "event_zstd" if any(row[1] == "event_zstd" for row in self.sql(_INFO)) else "NULL"
        rows = self.sql(
            f"SELECT event_json, {packed} FROM transcript_events WHERE session_id = ? ORDER BY seq",
            window,
        )
        return [json.loads(zstandard.decompress(blob) if text is None else text) for text, blob in rows]

    def active(self, session_id: str) -> list[Line]:
        return active(self.entries(session_id))

    def load(self, session_id: str) -> list[Heard]:
        return loaded(self.active(session_id))

    def rows(self) -> list[tuple[Any, ...]]:
        return self.sql("SELECT * FROM transcript_events ORDER BY session_id, seq")

    # -- what nobody asks for

    @contextmanager
    def compacting(self, session_id: str) -> Iterator[None]:
        """A client takes a turn by itself."""
        with self.owned(role="agent-embedded"):
            yield

    @contextmanager
    def owned(self, **more: Any) -> Iterator[None]:
        """A process owns the state directory, which is a gateway where nothing else is said: this one."""
        lock = self.root / "tmp" / f"openclaw-{os.getuid()}" / "gateway.state.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        owner = {"pid": os.getpid(), "startTime": started(), "stateDir": str(self.root)} | more
        lock.write_text(f"{json.dumps(owner)}\n\t\t\n")
        yield
        lock.unlink()

    def overwrite(self, session_id: str) -> None:
        messages = ((at, each) for at, each in enumerate(self.entries(session_id)) if each["type"] == "message")
        seq, first = next(messages)
        first["message"]["content"][0]["text"] = "something else"
        self.rewrite(session_id, seq, json.dumps(first))

    def break_rows(self, session_id: str) -> None:
        entries = list(enumerate(self.entries(session_id)))
        messages = [(seq, each) for seq, each in entries if each["type"] == "message"][:2]
        broken([each for _, each in messages])
        for seq, each in messages:
            self.rewrite(session_id, seq, json.dumps(each))

    def rewrite(self, session_id: str, seq: int, text: str) -> None:
        """Other text in a row, as any rewriting of the client's: with a new generation."""
        window = self.id_of(session_id)
        self.sql("UPDATE transcript_events SET event_json = ? WHERE session_id = ? AND seq = ?", text, window, seq)
        generation = "UPDATE transcript_rewrite_watermarks SET generation = ? WHERE session_id = ?"
        self.sql(generation, uuid4().hex, window)


_INFO = "PRAGMA table_info(transcript_events)"


def stamp() -> int:
    """The time now, in milliseconds."""
    return int(time.time() * 1000)


class OpenClawFilesByHand(PiByHand):
    """A state directory of an OpenClaw before 2026.8, whose sessions are files of lines."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.url, self.directory = f"openclaw://{path}", path / "agents" / "main" / "sessions"
        self.directory.mkdir(parents=True)

    def path(self, session_id: str) -> Path:
        branch = self.directory / f"{session_id}.jsonl"
        return branch if branch.exists() else self.directory / f"{self.id_of(session_id)}.jsonl"

    def noted(self) -> dict[str, Line]:
        """The client's index of its sessions."""
        index = self.directory / "sessions.json"
        found: dict[str, Line] = json.loads(index.read_text()) if index.exists() else {}
        return found

    def note(self, session_id: str, **fields: Any) -> None:
        """Change fields of a session in the index."""
        key = f"agent:main:{session_id}"
        entry = self.noted().get(key, {}) | fields
        (self.directory / "sessions.json").write_text(json.dumps(self.noted() | {key: entry}, indent=2))

    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        self.note(session_id, sessionId=self.id_of(session_id), displayName=session_id, contextTokens=200_000,
                  totalTokens=150_000, totalTokensFresh=True, compactionCount=1, skillsSnapshot=SECRET)  # fmt: skip
        super().write(session_id, messages)

    def rows(self) -> list[tuple[Any, ...]]:
        return [(name, data) for name, data in super().rows() if not name.endswith(".lock")]

    @contextmanager
    def compacting(self, session_id: str) -> Iterator[None]:
        """A client runs a turn: this process."""
        lock = self.path(session_id).with_name(f"{self.path(session_id).name}.lock")
        lock.write_text(json.dumps({"pid": os.getpid(), "starttime": started(), "maxHoldMs": 300_000}))
        yield
        lock.unlink()


def started() -> int:
    """When this process began, as the system counts it."""
    return int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])


def talked(count: int) -> list[Line]:
    """So many requests and replies, each of which hangs on the one before it."""
    made = []
    for at in range(count):
        role = "assistant" if at % 2 else "user"
        entry = {"type": "message", "id": f"e{at}", "parentId": f"e{at - 1}" if at else None}
        stamp = f"2026-07-01T10:00:{at:02}.000Z"
        made.append(entry | {"timestamp": stamp, "message": said({"role": role, "content": f"words{at}"})})
    return made


def stored(root: Path, form: str, entries: Sequence[Line], header: Line = HEADER) -> OpenClawByHand:
    """A store with one session of these entries."""
    agent = OpenClawByHand(root)
    if form == "database":
        agent.begin("agent:main:s", "s", {"sessionId": "s"})
        agent.sql("DELETE FROM transcript_events")
        for at, entry in enumerate([header, *entries]):
            agent.sql("INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('s', ?, ?, 1)",
                      at, json.dumps(entry))  # fmt: skip
        return agent
    directory = root / "agents" / "main" / "sessions"
    directory.mkdir()
    (directory / "s.jsonl").write_text("".join(json.dumps(each) + "\n" for each in [header, *entries]))
    (directory / "sessions.json").write_text(json.dumps({"agent:main:s": {"sessionId": "s"}}))
    return agent


def tables(agent: OpenClawByHand) -> dict[str, list[tuple[Any, ...]]]:
    names = [row[0] for row in agent.sql("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return {name: agent.sql(f"SELECT * FROM {name}") for name in names}
