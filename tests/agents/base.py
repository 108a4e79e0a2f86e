"""What tests know of an agent, of whichever kind: it writes sessions as its client does, and reads them back."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Message = Mapping[str, Any]  # in OpenAI's chat shape
Json = dict[str, Any]  # an object of a request or answer
Line = dict[str, Any]  # an object that is a line of an agent's file, or a row of its database
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


@dataclass(frozen=True, slots=True)
class Block:
    """One thing that a model is told: `id` is that of the call it makes or answers, `name` the tool's; `said` is a text
    or thought, the input of a call, the kind and length of a picture.
    """

    role: str
    kind: str
    said: str
    id: str = ""
    name: str = ""


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
    keeps_taken_back = True  # what somebody took back stays stored

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
