"""What a compaction of a tree of entries is planned on, and what a commit makes of its edits: an end that is kept.

Both clients put the summary first, then all entries from one on: nothing can stay before it, and nothing can be
changed.
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
from .records import OWN_RECORD

CHANGED = (
    "Messages this summary was made from were changed or taken back since. Nothing was written and the summary is "
    "kept. Plan again."
)
NOT_AN_END = "This plan keeps other messages than an unbroken end of the session, which its agent cannot. Plan again."
CHARACTERS = 4  # per token, as both clients estimate them


@dataclass(frozen=True, slots=True)
class PlannedEnd:
    """What is to be written: the handoff's text, and the first entry of the kept messages, "" for none. `kept` are
    these messages, including those added since the plan; `replaced` those that leave the context.
    """

    summary: str
    first_kept: str
    kept: tuple[int, ...]
    replaced: tuple[int, ...]


def token_of(source: EntrySource, messages: EntryMessages) -> Json:
    """The token of a basis: the messages in context and a digest of their text."""
    return {"ids": list(messages.live), "digest": _digest(source, messages, messages.live)}


def _digest(source: EntrySource, messages: EntryMessages, ids: Sequence[int]) -> str:
    digest = blake2b(digest_size=16)
    for each in ids:
        unit = messages.units[each]
        digest.update(f"{unit.id} {unit.length} {source.start(unit, unit.length)}\n".encode("utf-8", "replace"))
    return digest.hexdigest()


def planned_ids(source: EntrySource | None, messages: EntryMessages, token: Json) -> list[int]:
    """The planned messages, if the context still begins with them; their text is compared as well, unless there is no
    source for that. Raises CompactionConflict.
    """
    ids = messages.live[: len(token["ids"])]
    if ids != token["ids"] or (source is not None and _digest(source, messages, ids) != token["digest"]):
        raise CompactionConflict(CHANGED)
    return ids


def mark_of(token: Json, edits: Sequence[Edit]) -> str:
    """The mark by which a commit of these edits is found again."""
    return blake2b(repr([token["digest"], edits_to_json(edits)]).encode(), digest_size=16).hexdigest()


def planned_end(messages: EntryMessages, planned: Sequence[int], edits: Sequence[Edit]) -> PlannedEnd:
    """What the edits of a plan mean for the current context. Raises CompactionConflict."""
    before, content, after = around_handoff(edits)
    kept_ids = [edit.id for edit in after if isinstance(edit, KeepMessage)]
    sent = [each for each in planned if messages.is_sent(each) and messages.role_of(each) != OWN_RECORD]
    if before or len(kept_ids) != len(after) or (kept_ids and kept_ids != sent[-len(kept_ids) :]):
        raise CompactionConflict(NOT_AN_END)
    later = messages.live[len(planned) :]
    start = messages.live.index(kept_ids[0]) if kept_ids else len(planned)
    first = next(iter([*kept_ids, *later]), None)
    return PlannedEnd(
        text_of(content),
        "" if first is None else entry_id(messages, first),
        tuple(messages.live[start:]),
        tuple(messages.live[:start]),
    )


def entry_id(messages: EntryMessages, message_id: int) -> str:
    """The id of a message's entry on the path: for an edited message, that of the original entry."""
    unit = messages.units[message_id]
    return unit.id if unit.copy_of is None else unit.target


def text_of(content: Any) -> str:
    """The text of a handoff."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def tokens_of(messages: EntryMessages, ids: Sequence[int]) -> int:
    """An estimate of the tokens of messages, as the clients make it."""
    return sum(messages.units[each].size for each in ids) // CHARACTERS
