"""What a file says whose session is parsed whole: a conversation, the lines of its file, and what lists ask of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from viewer import times
from viewer.stores.base import LONGEST_FIRST_WORDS, ReportedUsage
from viewer.stores.jsonl.files import FileState, state_of
from viewer.stores.jsonl.lines import FINISHED, Line, Place, lines_from
from viewer.stores.jsonl.listing import number_of
from viewer.stores.jsonl.values import seconds
from viewer.stores.message import AbandonedBranch, ReportedCompaction, State, StoredMessage, message_of
from viewer.stores.reader import preview

READ: tuple[Place, ...] = ("alone", "cut")  # how an object is placed in a line that a client reads
SHOWN_BROKEN = 20_000  # bytes that are shown of a line that is no object
NO_OBJECT = "no JSON object"


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A session's file, and what its surroundings say of it: the session that started it as a sub-agent, by which
    call, its directory, title and model; "" for none.
    """

    id: str
    path: Path
    state: FileState
    parent: str = ""
    call: str = ""
    cwd: str = ""
    title: str = ""
    model: str = ""

    @property
    def number(self) -> int:
        return number_of(self.id)


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """A `conversation.ConversationMessage`. The state of `row` does not count: `ParsedSession.states` has it."""

    row: StoredMessage
    copy_of: int | None = None

    @property
    def time(self) -> float:
        return self.row.timestamp

    @property
    def is_prompt(self) -> bool:
        row = self.row
        return row.role == "user" and not row.flagged and not message_of(row).get("display_kind")

    @property
    def is_summary(self) -> bool:
        return self.row.flagged


@dataclass(frozen=True, slots=True)
class ParsedCompaction:
    """A `conversation.ConversationCompaction`, and what the client recorded about it."""

    handoff: int
    time: float
    before: tuple[int, ...]
    after: tuple[int, ...]
    reported: ReportedCompaction | None = None


@dataclass(frozen=True)
class ParsedSession:
    """A `conversation.Conversation`: what a file says. `rows` are its lines as stored, `live` the messages that a
    resume sends, in order, `left` those that left the context without a summary, `lost` others that it passes over.
    `added` is what the client puts before the first message, "" for none; `sends_thoughts` says that a model is sent
    its own again. Times in epoch seconds.
    """

    messages: Mapping[int, ParsedMessage] = field(default_factory=dict)
    rows: Sequence[StoredMessage] = ()
    live: Sequence[int] = ()
    compactions: Sequence[ParsedCompaction] = ()
    left: Sequence[AbandonedBranch] = ()
    lost: Collection[int] = ()
    added: str = ""
    sends_thoughts: bool = True
    title: str = ""
    model: str = ""
    cwd: str = ""
    branch: str = ""
    version: str = ""
    branched_from: str = ""
    window: int = 0
    began: float = 0.0
    usage: ReportedUsage = field(default_factory=ReportedUsage)

    @property
    def units(self) -> Mapping[int, ParsedMessage]:
        return self.messages

    @cached_property
    def ids(self) -> Sequence[int]:
        return sorted(self.messages)

    @cached_property
    def states(self) -> Mapping[int, State]:
        states: dict[int, State] = dict.fromkeys(self.messages, "out")
        states |= dict.fromkeys(self.lost, "lost")
        for each in self.compactions:
            states |= dict.fromkeys(each.before, "under")
        return states | dict.fromkeys(self.live, "live")

    @property
    def abandoned(self) -> list[AbandonedBranch]:
        """`left`, without what came back since."""
        branches = [replace(each, ids=tuple(at for at in each.ids if self.states[at] == "out")) for each in self.left]
        return [each for each in branches if each.ids]

    @property
    def unlinked(self) -> int:
        return sum(each == "lost" for each in self.states.values())

    @property
    def further_lines(self) -> Mapping[int, int]:
        return {}

    def role_of(self, message_id: int) -> str:
        return self.messages[message_id].row.role

    def size_of(self, message_id: int) -> int:
        return self.messages[message_id].row.size

    @property
    def is_empty(self) -> bool:
        """Whether it has neither messages nor lines that cannot be read."""
        return not self.messages and all(each.role for each in self.rows)

    @cached_property
    def first_words(self) -> str:
        prompts = (self.messages[each] for each in self.ids if self.messages[each].is_prompt)
        return next(filter(None, (preview(each.row) for each in prompts)), "")[:LONGEST_FIRST_WORDS]

    @cached_property
    def newest(self) -> float:
        return max((times.known(each.time) for each in self.messages.values()), default=0.0)

    def text_version(self, until: int) -> str:
        """A text that differs where a message up to this one is another."""
        ids = [each for each in self.ids if each <= until]
        return blake2b(repr([(each, self.size_of(each)) for each in ids]).encode(), digest_size=12).hexdigest()


def regular_files(paths: Iterable[Path]) -> Iterator[tuple[Path, FileState]]:
    """Those of these files that can be read, and are no links to files elsewhere, in their states."""
    for path in paths:
        with suppress(OSError):
            yield path, state_of(path)


def lines_of(path: Path) -> list[Line]:
    """The complete lines of a file. Raises OSError."""
    with path.open("rb") as file:
        return [each for each in lines_from(file, 0) if each.is_whole or each.place in FINISHED]


def id_of(line: Line) -> int:
    """The id of the first message in a line. Further ones have the next numbers: none takes less than a byte."""
    return line.offset + 1


def broken_row(line: Line, session_id: str) -> StoredMessage:
    """A line that no client reads, as a row."""
    start = (line.data or b"")[:SHOWN_BROKEN].decode("utf-8", "replace")
    return StoredMessage(id_of(line), session_id, "", start, "out", 0.0, extra={"line": NO_OBJECT})


def row_of(row_id: int, session_id: str, role: str, value: Mapping[str, Any], content: Any) -> StoredMessage:
    """An object as a row: its content, and all other fields."""
    extra = {name: each for name, each in value.items() if name != "content" and each is not None}
    return StoredMessage(row_id, session_id, role, content, "out", seconds(value.get("timestamp")), extra=extra)
