"""The plain values that stores of every kind return: a store, what it can do, its sessions."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from compaction import redaction
from viewer.stores.clean_text import shortened
from viewer.stores.errors import StoreUnavailable
from viewer.usage.pricing import Cost, Spending


@dataclass(frozen=True, slots=True)
class Store:
    """One place where an agent keeps sessions. `is_managed` is true only for the demo store, where whole sessions may
    be created and deleted.
    """

    name: str
    url: str
    origin: Literal["configured", "found", "demo"]

    @property
    def is_on_server(self) -> bool:
        """Whether it is a database on a server, not a file or directory."""
        return self.url.startswith(("postgres://", "postgresql://"))

    @property
    def path(self) -> Path:
        """The file or directory. Raises StoreUnavailable for a store on a server."""
        if self.is_on_server:
            raise StoreUnavailable(f"Store {self.name} is no file.")
        return Path("/" + self.url.partition(":///")[2].lstrip("/"))

    @property
    def place(self) -> str:
        """Where it is, for people: the path, or the server and database without user and password."""
        if not self.is_on_server:
            return str(self.path)
        location, _, options = self.url.partition("://")[2].rpartition("@")[2].partition("?")
        shown = [option for option in options.split("&") if option.startswith(("host=", "port=", "options="))]
        return f"{location}?{'&'.join(shown)}" if shown else location

    @property
    def is_managed(self) -> bool:
        return self.origin == "demo"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a store has."""

    schema: int | None
    sessions: int
    size: int  # bytes of the database file, or of the tables on a server
    search: bool
    summary_flag: bool
    turn_leases: bool


CHAIN_LIMIT = 1000  # parts of one conversation that are followed: as many as Hermes resumes
LONGEST_FIRST_WORDS = 300  # characters of a first request that are kept
NAME = 80  # characters of a name that nobody gave

# Without a message; the dashboard of Hermes calls a session active as long (`docs/hermes.md` section 3).
ACTIVE_SECONDS = 300.0


def is_active(ended_at: float | None, last_active: float) -> bool:
    """Whether a session has not ended and has a recent message; a time in the future does not count."""
    return ended_at is None and 0 <= time.time() - last_active < ACTIVE_SECONDS


@dataclass(frozen=True, slots=True)
class RowsDigest:
    """A session's own rows (without those of earlier parts): how many, how many live, the newest id; `digest` differs
    when another set of rows, by ids and times, exists or is live. It does not notice texts that were changed in place.
    """

    rows: int
    live: int
    newest: int
    digest: str


NOTHING = RowsDigest(0, 0, 0, "")


@dataclass(frozen=True, slots=True)
class Session:
    """One session. Times in epoch seconds. `first_words` and `last_active` need messages to be read: lists ask for them
    apart (`listing.Activity`). `window` is the context window that the agent's own data gives for the model, in tokens,
    0 for unknown; `is_open` says whether a client of the agent has it open, None where the agent does not say.

    Where it comes from: `branched_from` is the id of the session whose context it began with, `delegated_from` that of
    the session that started it as a sub-agent, "" for none; `delegated`: it is a sub-agent's. `forked`: its own
    configuration says that it does not continue its `parent`.

    Its conversation: `parts` counts the sessions up to this one; `base_title` and `part_number` are what its title says
    about its part (the whole title and 1 where it says nothing); `continued`: the agent ended it to continue in another
    session.

    For lists: `row` is its number in the store, `mark` the digest of its rows.
    """

    store: str
    id: str
    source: str = ""
    model: str = ""
    title: str = ""
    first_words: str = ""
    parent: str = ""
    started_at: float = 0.0
    last_active: float = 0.0
    ended_at: float | None = None
    end_reason: str = ""
    archived: bool = False
    cwd: str = ""
    parts: int = 1
    branched_from: str = ""
    delegated_from: str = ""
    base_title: str = ""
    git_branch: str = ""
    is_open: bool | None = None
    window: int = 0
    delegated: bool = False
    forked: bool = False
    continued: bool = False
    part_number: int = 1
    pinned: bool = False
    row: int = 0
    mark: RowsDigest = NOTHING

    @property
    def name(self) -> str:
        """Its name for people; for a conversation in parts, the name without the number of the newest part."""
        title = self.base_title if self.parts > 1 else ""
        return title or self.title or shortened(self.first_words, NAME) or self.id

    @property
    def active(self) -> bool:
        """Whether a client has it open; where that is unknown, whether it has not ended and has a recent message."""
        return is_active(self.ended_at, self.last_active) if self.is_open is None else self.is_open


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """What an agent itself recorded about a session: the tokens of the newest request, None where there was none since
    the newest compaction; the cost of all requests, None for unknown; the `total` of tokens that all of them read and
    wrote, cache included, None where the agent keeps no sum; and when the cost without its inherited part was `spent`,
    as far as single requests are recorded.
    """

    tokens: int | None = None
    cost: Cost | None = None
    total: int | None = None
    spent: Spending = ()


@dataclass(frozen=True, slots=True)
class ChangeToken:
    """The state of a session's messages at one moment: for the session and each earlier part of the conversation, its
    id and a text that differs when any of its messages was added, removed or changed its state; and the newest message.
    """

    parts: tuple[tuple[str, str], ...]
    newest: int


@dataclass(frozen=True, slots=True)
class ChildSession:
    """A session that names another as its parent: a branch, a sub-agent's ("delegate"), or one that followed ("")."""

    id: str
    title: str
    kind: Literal["branch", "delegate", ""]


def redacted_name(text: str, put: redaction.Replacement | None = None) -> str:
    """A title or first words with secrets replaced; first words are cut to the length of a name."""
    return redaction.redact_start(text, put) if len(text) >= LONGEST_FIRST_WORDS else redaction.redact_shown(text, put)
