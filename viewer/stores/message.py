"""A stored message as every kind of store returns it, and what it says to a model or a reader."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import compaction
from compaction import messages, tokens
from compaction.handoff import PUT_BACK_START, Part
from compaction.tokens import Counter

from .envelopes import Envelopes, Split, split
from .transcript import Boundary, HistoryEntry

BOOKKEEPING_ROLES = frozenset({"session_meta"})  # rows an agent keeps for itself; no model is sent them

# In context; summarised away; replaced or undone; stored, but no longer reached from where the session continues.
State = Literal["live", "under", "out", "lost"]


@dataclass(frozen=True, slots=True)
class Withheld:
    """Replaces a value in `StoredMessage.extra` that is never shown; `size` in characters, `why` as a sentence."""

    size: int
    why: str


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One row, decoded. `content` is text, a list of parts, an object or None; `tool_calls` is in OpenAI shape;
    `timestamp` in epoch seconds; `flagged` is the agent's own mark for a compaction summary; `extra` holds every other
    column that is not NULL, or `Withheld` for it. `sub_agents` are the sessions of the sub-agents whose answer a result
    has. `notes` are texts that the agent sends to a model with this message and drops with it, such as those of hooks;
    `inner` are the calls of the script whose result this is, in OpenAI shape with the `output` of each: no model saw
    them as calls. `envelopes` describes what the client may have added to a person's words here. `diff` is the change
    of a file that the agent notes with a result, as a unified diff: no model is sent it.
    """

    id: int
    session_id: str
    role: str
    content: Any
    state: State
    timestamp: float
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    tool_call_id: str = ""
    tool_name: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    flagged: bool = False
    extra: dict[str, Any] = field(default_factory=dict)
    sub_agents: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    inner: tuple[dict[str, Any], ...] = ()
    envelopes: Envelopes | None = None
    diff: str = ""

    @property
    def size(self) -> int:
        """Characters of content and calls: close enough to bytes for an estimate."""
        return len(str(self.content or "")) + len(str(self.tool_calls or ""))


@dataclass(frozen=True, slots=True)
class Addition:
    """Something an agent adds itself to what a model is sent: directly before the message `before`, or after the last
    one. `is_sent` says that `text` is what is sent; otherwise it is a sentence on why that is unknown.
    """

    before: int | None
    name: str
    text: str
    is_sent: bool


@dataclass(frozen=True, slots=True)
class AbandonedBranch:
    """Messages that left the context because somebody continued from an earlier message, in order: they followed the
    message `after`, None where they begin the session. `time` is that of the newest, in epoch seconds.
    """

    after: int | None
    ids: tuple[int, ...]
    time: float


def message_of(row: StoredMessage) -> compaction.Message:
    """The message a model would be sent for this row, in OpenAI chat shape, with the agent's summary flag and with the
    keys that say whose words these are (`compaction.messages`).
    """
    message: compaction.Message = {"role": row.role, "content": row.content}
    if row.tool_calls:
        message["tool_calls"] = row.tool_calls
    if row.tool_call_id:
        message["tool_call_id"] = row.tool_call_id
    if row.tool_name:
        message["tool_name"] = row.tool_name
    if row.role == "assistant":
        message |= {name: row.extra[name] for name in messages.REPLAYED if row.extra.get(name)}
        if row.reasoning:
            message["reasoning"] = row.reasoning
    if row.flagged:
        message["_compressed_summary"] = True
    if isinstance(kind := row.extra.get("display_kind"), str) and kind:
        message["display_kind"] = kind
    elif (words := own_words(row)).kind:
        message["display_kind"] = words.kind
    elif words.added:
        message |= {messages.TYPED: words.words, messages.ADDED: list(words.added)}
    return message


def weighed(row: StoredMessage) -> compaction.Message:
    """The message of a row together with the agent's notes, which are sent and counted with it."""
    return message_of(row) | ({messages.NOTES: list(row.notes)} if row.notes else {})


def row_tokens(row: StoredMessage, count: Counter) -> int:
    """Tokens of the message in this row, with its calls, images and the agent's notes."""
    return tokens.message_tokens(weighed(row), count)


def is_put_back(row: StoredMessage) -> bool:
    """Whether *Put back* wrote this message."""
    return row.role == "user" and isinstance(row.content, str) and row.content.startswith(PUT_BACK_START)


def count_notes(rows: Iterable[StoredMessage], count: Counter) -> tuple[int, int]:
    """How many notes the agent sends with these messages, and their tokens."""
    notes = [note for row in rows for note in row.notes]
    return len(notes), sum(map(count, notes))


@dataclass(frozen=True, slots=True)
class Preview:
    """The beginning of a message as text: white space in `text` is folded, `is_cut` says that there is more."""

    id: int
    role: str
    text: str
    is_cut: bool
    has_calls: bool


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message as History shows it: `row` has its fullest text, `content` is the live part of that."""

    entry: HistoryEntry
    row: StoredMessage
    content: Any


@dataclass(frozen=True, slots=True)
class ReportedCompaction:
    """What an agent itself recorded about a compaction. `trigger` is its own word for what started it ("auto",
    "manual"), "" for none; tokens are those of a whole request before and after, None for unknown; `scope` says which
    side of a message that a person chose was summarised, "" where none was chosen.
    """

    trigger: str
    tokens_before: int | None
    tokens_after: int | None
    scope: Literal["", "up_to", "from"]


@dataclass(frozen=True, slots=True)
class Handoff:
    """A boundary with its handoff row: `summary` is the body, `directive` the instructions to the model around it, and
    `reported` what the agent recorded, None for nothing.
    """

    boundary: Boundary
    row: StoredMessage
    summary: str
    directive: str
    reported: ReportedCompaction | None = None


@dataclass(frozen=True, slots=True)
class Parted:
    """A row split into its parts: a handoff, a message, or both where one was merged into the other.

    `summary` is the handoff's body and `directive` the instructions to the model around it, "" where there is none;
    `message` is the row with only its own words, None for nothing but a handoff, and `comes_first` says that it is
    before the handoff.
    """

    has_handoff: bool
    summary: str
    directive: str
    message: StoredMessage | None
    comes_first: bool


def parted(row: StoredMessage) -> Parted:
    """The handoff and the message of a row, separated."""
    parts = _parts(row)
    handoffs = [part for part in parts if part.kind == "summary"]
    speaks = len(handoffs) < len(parts) or bool(row.tool_calls)
    return Parted(
        has_handoff=bool(handoffs),
        summary="\n\n".join(part.text for part in handoffs),
        directive="\n\n".join(part.directive for part in handoffs if part.directive),
        message=replace(row, content=live_content(row)) if speaks else None,
        comes_first=parts[0].kind == "prior",
    )


def _parts(row: StoredMessage) -> list[Part]:
    if row.role in messages.RESULT_ROLES:  # a tool's output may quote a handoff, but is not one
        return [Part("live", "", content=row.content)]
    return compaction.split(row.content, flagged=row.flagged)


def live_content(row: StoredMessage) -> Any:
    """The row's content without any summary merged into it, in its own shape."""
    parts = _parts(row)
    if all(part.kind == "live" for part in parts):
        return row.content
    live = [part.content for part in parts if part.kind != "summary"]
    return live[0] if len(live) == 1 else "\n\n".join(part.text for part in parts if part.kind != "summary")


def own_words(row: StoredMessage) -> Split:
    """The row's content without any summary, split into what a person typed and what the client added."""
    return split(live_content(row), row.envelopes)


def for_model(rows: Iterable[StoredMessage]) -> list[StoredMessage]:
    """Live rows without the agent's own records."""
    return [row for row in rows if row.role not in BOOKKEEPING_ROLES]
