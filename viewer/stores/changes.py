"""What a compaction changes, as plain values: what it is planned on, its edits, what was written, what an undo does.

Three values are JSON that only the kind which made it reads: the token of a `LiveContext` (what was planned on), the
receipt of a `Commit` and that of an undo. Runs and records keep them, so that another process can make a commit, find
it again and take it back, also after an update of the site.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import compaction
from compaction.handoff import handoff_text

from .message import StoredMessage

MODES = ("in_place", "split")  # where the result goes: into the session itself, or into a new one that continues it
IS_SPLIT = (
    "The conversation was split into two sessions here: there is nothing in place to take back. The older one is "
    "whole; branch from here to go on from it."
)
IN_EFFECT = "This compaction is in effect."
NO_REDO = "A compaction that was undone is not applied again in this kind of store: compact again."
COVERED = "A later compaction came after this one: undo that one first."  # why one is neither undone nor applied again

Json = dict[str, Any]
Why = Literal["shortened", "unwrapped", "merged", "noted"]


@dataclass(frozen=True, slots=True)
class KeepMessage:
    """The message of this id stays in context, word for word."""

    id: int


@dataclass(frozen=True, slots=True)
class ChangeMessage:
    """The message of this id stays in context with some keys changed; a value of None removes the key.

    `why` is the engine's: the handoff was "merged" into it or an earlier one "unwrapped", or it was "shortened" or
    "noted".
    """

    id: int
    changes: Mapping[str, Any]
    why: Why


@dataclass(frozen=True, slots=True)
class InsertMessage:
    """A new message: the handoff."""

    message: compaction.Message


Edit = KeepMessage | ChangeMessage | InsertMessage


def edits_to_json(edits: Iterable[Edit]) -> list[Any]:
    """A kept message is its id; the others are objects whose values are JSON text, because columns of a database accept
    neither NUL nor lone surrogates, and texts of a session may hold both.
    """
    return [_to_json(edit) for edit in edits]


def _to_json(edit: Edit) -> Any:
    if isinstance(edit, KeepMessage):
        return edit.id
    if isinstance(edit, InsertMessage):
        return {"insert": json.dumps(edit.message)}
    return {"id": edit.id, "changes": json.dumps(dict(edit.changes)), "why": edit.why}


def edits_from_json(stored: Sequence[Any]) -> list[Edit]:
    """The inverse of `edits_to_json`."""
    return [_from_json(value) for value in stored]


def _from_json(value: Any) -> Edit:
    if isinstance(value, int):
        return KeepMessage(value)
    if "insert" in value:
        return InsertMessage(json.loads(value["insert"]))
    return ChangeMessage(value["id"], json.loads(value["changes"]), value["why"])


def around_handoff(edits: Sequence[Edit]) -> tuple[list[Edit], Any, list[Edit]]:
    """The edits before the handoff, its content, the edits after it. A merged handoff is separated from its message,
    for stores in which any message may follow any other.
    """
    for at, edit in enumerate(edits):
        if isinstance(edit, InsertMessage):
            return list(edits[:at]), edit.message["content"], list(edits[at + 1 :])
        if isinstance(edit, ChangeMessage) and edit.why == "merged":
            parts = compaction.split(edit.changes["content"], flagged=True)
            body = next(part.text for part in parts if part.kind == "summary")
            return list(edits[:at]), handoff_text(body), [KeepMessage(edit.id), *edits[at + 1 :]]
    raise ValueError("These edits hold no handoff.")


@dataclass(frozen=True, slots=True)
class LiveContext:
    """The live context that a compaction is planned on, read consistently although the agent may be writing.

    `messages` are in order and include the agent's own records, but not the `repeats` that were written again; `sizes`
    are the bytes of all as stored, by id; a commit compares the session with `token`.
    """

    messages: list[StoredMessage]
    sizes: Mapping[int, int]
    token: Json
    repeats: Sequence[StoredMessage] = ()


@dataclass(frozen=True, slots=True)
class Commit:
    """What was written: the message with the handoff, the first and the last message, and the receipt.

    `session_id` is the session they were written into, where that is a new one; `at` (epoch seconds) is set for a
    commit that was found again.
    """

    handoff_id: int
    first_id: int
    last_id: int
    receipt: Json
    session_id: str = ""
    at: float | None = None


@dataclass(frozen=True, slots=True)
class CommitState:
    """What became of a commit: it is "in effect", also where a later compaction covers it; somebody "left" it, because
    the session went on from before it; it was "undone", with this receipt; or it is "gone" from the store, in whose
    place another file may be.

    `redo_refusal` says in a sentence why it cannot be applied again, "" when it can.
    """

    state: Literal["in effect", "left", "undone", "gone"]
    undo: Json = field(default_factory=dict)
    redo_refusal: str = NO_REDO

    @property
    def is_written(self) -> bool:
        """Whether it is still what it was written as."""
        return self.state in ("in effect", "left")


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What taking a compaction back would do, in ids of messages: `restored` come back into context, `hidden` leave it,
    `later` were written since and stay.

    `refusal` says in a sentence why it cannot be done, "" when it can; `what` is private to the writer of the same
    kind.
    """

    restored: tuple[int, ...]
    hidden: tuple[int, ...]
    later: tuple[int, ...]
    refusal: str
    what: Any = None
