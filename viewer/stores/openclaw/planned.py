"""What a compaction of a tree of entries is planned on, and what a commit makes of its edits: an end that is kept.

Both clients put the summary first, then all entries from one on: nothing can stay before it, and nothing be changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from viewer.stores.changes import Edit, Json, KeepMessage, around_handoff, edits_to_json
from viewer.stores.errors import CompactionConflict

from .codec import EntrySource
from .messages import EntryMessages

CHANGED = (
    "Messages this summary was made from were changed or taken back since. Nothing was written and the summary is "
    "kept. Plan again."
)
NOT_AN_END = "This plan keeps other messages than an unbroken end of the session, which its agent cannot. Plan again."
CHARACTERS = 4  # of a token, as both clients estimate them


@dataclass(frozen=True, slots=True)
class PlannedEnd:
    """What is to be written: the handoff's text, and the entry that the kept messages begin with, "" for none.
    `kept` are these messages, with those that came since the plan; `replaced` those that leave the context.
    """

    summary: str
    first_kept: str
    kept: tuple[int, ...]
    replaced: tuple[int, ...]


def token_of(source: EntrySource, found: EntryMessages) -> Json:
    """The token of a basis: the messages in context and a digest of what they say."""
    return {"ids": list(found.live), "digest": _digest(source, found, found.live)}


def _digest(source: EntrySource, found: EntryMessages, ids: Sequence[int]) -> str:
    digest = blake2b(digest_size=16)
    for each in ids:
        unit = found.units[each]
        digest.update(f"{unit.id} {unit.length} {source.start(unit, unit.length)}\n".encode("utf-8", "replace"))
    return digest.hexdigest()


def planned_ids(source: EntrySource | None, found: EntryMessages, token: Json) -> list[int]:
    """The messages that were planned on, which the context still begins with; what they say is compared as well, unless
    there is no source for that. Raises CompactionConflict.
    """
    ids = found.live[: len(token["ids"])]
    if ids != token["ids"] or (source is not None and _digest(source, found, ids) != token["digest"]):
        raise CompactionConflict(CHANGED)
    return ids


def mark_of(token: Json, edits: Sequence[Edit]) -> str:
    """What a commit of these edits is known by."""
    return blake2b(repr([token["digest"], edits_to_json(edits)]).encode(), digest_size=16).hexdigest()


def planned_end(found: EntryMessages, planned: Sequence[int], edits: Sequence[Edit]) -> PlannedEnd:
    """What the edits of a plan say about the context as it is now. Raises CompactionConflict."""
    before, content, after = around_handoff(edits)
    kept = [edit.id for edit in after if isinstance(edit, KeepMessage)]
    sent = [each for each in planned if found.is_sent(each)]
    if before or len(kept) != len(after) or (kept and kept != sent[-len(kept) :]):
        raise CompactionConflict(NOT_AN_END)
    later = found.live[len(planned) :]
    start = found.live.index(kept[0]) if kept else len(planned)
    first = next(iter([*kept, *later]), None)
    return PlannedEnd(
        text_of(content),
        "" if first is None else entry_id(found, first),
        tuple(found.live[start:]),
        tuple(found.live[:start]),
    )


def entry_id(found: EntryMessages, message_id: int) -> str:
    """The entry of a message on the path: of one with other words, the one that was edited."""
    unit = found.units[message_id]
    return unit.id if unit.copy_of is None else unit.target


def text_of(content: Any) -> str:
    """The text of a handoff."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def tokens_of(found: EntryMessages, ids: Sequence[int]) -> int:
    """An estimate of the tokens of messages, as the clients make it."""
    return sum(found.units[each].size for each in ids) // CHARACTERS
