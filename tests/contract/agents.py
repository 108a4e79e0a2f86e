"""The agents of each kind of store, as far as the contract needs them: they write sessions, and read them back.

Those of schemas 22 and 31 are the real ones. Of the others this file writes and reads rows as the agent would.
"""

from __future__ import annotations

import json
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.interop.hermes import Hermes

Message = Mapping[str, Any]  # in OpenAI's chat shape
Heard = tuple[str, Any]  # role and content of a message that an agent loads
HOLDER = "pid=1:tid=1:agent=another:nonce=00"
STARTED = 1_790_000_000.0  # epoch seconds


def objects(data: bytes) -> list[dict[str, Any]]:
    """What the lines of a file say; each client leaves out those that are blank or no JSON."""
    return [found for line in data.split(b"\n") if (found := _object(line)) is not None]


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return found


class Agent(ABC):
    """One agent with a store of its own, which the site knows as `store`."""

    store = "agent"
    can_compact = True
    writes_messages = True  # messages may be appended to its sessions, and sessions made
    unique_titles = True
    renames = True  # its sessions are renamed here
    redoes = False  # a compaction that was undone is applied again
    shortens = True  # old tool output may be shortened in its sessions
    branches = True  # new sessions are made of its sessions here
    keeps_start = True  # a compaction keeps messages of the start, before the summary

    def __init__(self, url: str) -> None:
        self.url = url

    def id_of(self, name: str) -> str:
        """The id of the session that the contract calls so."""
        return name

    @abstractmethod
    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        """Make a session, whose title is its id, and say these messages in it."""

    @abstractmethod
    def say(self, session_id: str, message: Message) -> None: ...

    @abstractmethod
    def load(self, session_id: str) -> list[Heard]:
        """What the agent would go on from."""

    @abstractmethod
    def take_back(self, session_id: str) -> None:
        """Undo the newest request, with all that follows it."""

    @abstractmethod
    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """For what no agent offers."""

    def as_loaded(self, content: Any) -> Any:
        """A message's content as the agent goes on from it."""
        return content

    def rows(self) -> list[tuple[Any, ...]]:
        """All that is stored of messages, to tell that nothing was written."""
        return self.sql("SELECT * FROM messages ORDER BY id")

    @contextmanager
    def compacting(self, session_id: str) -> Iterator[None]:
        """Another process compacts the session meanwhile."""
        now = time.time()
        self.sql("INSERT INTO compression_locks VALUES (?, ?, ?, ?)", session_id, HOLDER, now, now + 300)
        yield
        self.sql("DELETE FROM compression_locks")

    def break_rows(self, session_id: str) -> None:
        """Make the first messages rows that no known version writes: an unknown role, calls that are no JSON."""
        first, second = (row[0] for row in self.sql(_FIRST, session_id))
        self.sql("UPDATE messages SET role = 'narrator' WHERE id = ?", first)
        self.sql("UPDATE messages SET tool_calls = '{broken' WHERE id = ?", second)

    def overwrite(self, session_id: str) -> None:
        """Somebody changes a message without asking for anything."""
        first, _ = (row[0] for row in self.sql(_FIRST, session_id))
        self.sql("UPDATE messages SET content = 'something else' WHERE id = ?", first)


_FIRST = "SELECT id FROM messages WHERE session_id = ? ORDER BY id LIMIT 2"


class _ByHand(Agent):
    """Rows as the agent would write them, and read by the rule that it reads by: those that are active, in order."""

    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        self.sql(
            "INSERT INTO sessions (id, source, title, model, started_at, message_count) VALUES (?, 'cli', ?, ?, ?, ?)",
            session_id, session_id, "test-model", STARTED, len(messages),
        )  # fmt: skip
        self.insert(_SAID, [_row(session_id, message) for message in messages])

    def say(self, session_id: str, message: Message) -> None:
        self.insert(_SAID, [_row(session_id, message)])

    @abstractmethod
    def insert(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows in one transaction: a session of a hundred messages is no hundred connections."""

    def load(self, session_id: str) -> list[Heard]:
        found = self.sql(
            "SELECT role, content FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", session_id
        )
        return [(role, content) for role, content in found]

    def take_back(self, session_id: str) -> None:
        newest = "SELECT MAX(id) FROM messages WHERE session_id = ? AND active = 1 AND role = 'user'"
        ((request,),) = self.sql(newest, session_id)
        self.sql("UPDATE messages SET active = 0 WHERE session_id = ? AND active = 1 AND id >= ?", session_id, request)


_SAID = (
    "INSERT INTO messages (session_id, role, content, tool_calls, tool_call_id, timestamp) VALUES (?, ?, ?, ?, ?, ?)"
)


def _row(session_id: str, message: Message) -> Sequence[Any]:
    calls = json.dumps(message["tool_calls"]) if "tool_calls" in message else None
    return session_id, message["role"], message["content"], calls, message.get("tool_call_id"), time.time()


def _in_file(path: Path, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=20)) as con:
        return con.execute(query, values).fetchall()


class InFile(_ByHand):
    """An agent whose SQLite file is one of another version, or ours."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"sqlite:///{path}")
        self.path = path

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return _in_file(self.path, query, values)

    def insert(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        with closing(sqlite3.connect(self.path, timeout=20)) as con, con:
            con.executemany(statement, rows)


class Old(InFile):
    """Schema 16: no flag tells what was summarised away, so it is browsed and appended to."""

    can_compact = False


class Demo(InFile):
    """The site's own demo store."""

    store = "demo"


class OnServer(_ByHand):
    """A program of one's own on PostgreSQL."""

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as con:
            cursor = con.execute(query.replace("?", "%s").encode(), values)
            return cursor.fetchall() if cursor.description else []

    def insert(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        with psycopg.connect(self.url) as con, con.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s").encode(), rows)


class JsonFile(Agent):
    """A program whose sessions are one JSON file: the example in docs/store-kinds.md, which can only be read."""

    can_compact = False

    def __init__(self, path: Path) -> None:
        super().__init__(f"json:///{path}")
        self.path = path
        self._save({})

    def _sessions(self) -> dict[str, list[dict[str, Any]]]:
        return {each["id"]: each["messages"] for each in json.loads(self.path.read_text())["sessions"]}

    def _save(self, sessions: Mapping[str, Sequence[Message]]) -> None:
        stored = [{"id": name, "title": name, "model": "test-model", "messages": sessions[name]} for name in sessions]
        self.path.write_text(json.dumps({"sessions": stored}))

    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        now = time.time()
        timed = [{"timestamp": now + number / 1e6, **message} for number, message in enumerate(messages)]
        self._save(self._sessions() | {session_id: timed})

    def say(self, session_id: str, message: Message) -> None:
        self._save(
            {
                name: [*said, {"timestamp": time.time(), **message}] if name == session_id else said
                for name, said in self._sessions().items()
            }
        )

    def _live(self, session_id: str) -> list[dict[str, Any]]:
        return [message for message in self._sessions()[session_id] if not message.get("taken_back")]

    def load(self, session_id: str) -> list[Heard]:
        return [(message["role"], message["content"]) for message in self._live(session_id)]

    def take_back(self, session_id: str) -> None:
        sessions = self._sessions()
        said = sessions[session_id]
        newest = max(at for at, each in enumerate(said) if each["role"] == "user" and not each.get("taken_back"))
        for message in said[newest:]:
            message["taken_back"] = True
        self._save(sessions)

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        raise NotImplementedError("It has no SQL.")

    def rows(self) -> list[tuple[Any, ...]]:
        return [(self.path.read_text(),)]

    def break_rows(self, session_id: str) -> None:
        sessions = self._sessions()
        sessions[session_id][0]["role"], sessions[session_id][1]["tool_calls"] = "narrator", "{broken"
        self._save(sessions)


class RealHermes(Agent):
    """The agent itself, in its own process."""

    def __init__(self, hermes: Hermes, path: Path) -> None:
        super().__init__(f"sqlite:///{path}")
        self.hermes, self.path = hermes, path

    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        self.hermes.create_session(session_id, model="test-model")
        self.hermes.db("set_session_title", session_id, session_id)
        for message in messages:
            self.say(session_id, message)

    def say(self, session_id: str, message: Message) -> None:
        more = {name: message[name] for name in ("tool_calls", "tool_call_id") if name in message}
        self.hermes.append(session_id, message["role"], message["content"], **more)

    def load(self, session_id: str) -> list[Heard]:
        return [(message["role"], message["content"]) for message in self.hermes.conversation(session_id, repair=False)]

    def as_loaded(self, content: Any) -> Any:
        """Without space around it."""
        return content.strip() if isinstance(content, str) else content

    def take_back(self, session_id: str) -> None:
        rows = [row for row in self.hermes.rows(session_id) if row["role"] == "user" and row["active"]]
        self.hermes.take_back(session_id, rows[-1]["id"])

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return _in_file(self.path, query, values)


def emptied(source: Path, target: Path) -> Path:
    """A new database with the tables of another, and what those hold that is no session."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target, isolation_level=None)) as new:
        made = old.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
        virtual = tuple(f"{name}_" for name, sql in made if sql.startswith("CREATE VIRTUAL"))
        for name, sql in made:
            if sql.startswith(("CREATE VIRTUAL", "CREATE TRIGGER")) or not name.startswith((*virtual, "sqlite_")):
                new.execute(sql)
        new.executemany("INSERT INTO schema_version VALUES (?)", old.execute("SELECT version FROM schema_version"))
    return target
