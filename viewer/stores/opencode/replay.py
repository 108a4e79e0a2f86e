"""What the client sends of a session's messages, by its own rule, and what each compaction did to them.

The rule is `MessageV2.filterCompacted` of OpenCode 1.18.33. A compaction is a user's message with a part of this type,
and an answer to it that is marked as a summary. The model is sent both, then the messages from `tail_start_id` up to
the compaction, then those behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from viewer.stores.message import BOOKKEEPING_ROLES, State

from .records import MessageRecord, PartRecord

(OWN_RECORD,) = BOOKKEEPING_ROLES


@dataclass(frozen=True, slots=True)
class MessageUnit:
    """One message: a row, or, with `part`, the result of a call in it."""

    id: int
    record: MessageRecord
    part: PartRecord | None = None
    is_summary: bool = False

    copy_of: ClassVar[int | None] = None  # the client keeps no copies

    @property
    def time(self) -> float:
        ended = self.part.ended if self.part is not None else 0
        return ended / 1000 if ended >= self.record.made else self.record.time

    @property
    def role(self) -> str:
        return "tool" if self.part is not None else self.record.role

    @property
    def is_prompt(self) -> bool:
        return self.role == "user" and any(part.is_typed for part in self.record.parts)

    @property
    def size(self) -> int:
        if self.part is not None:
            return self.part.size
        return sum(part.size for part in self.record.parts if part.is_content)


@dataclass(frozen=True, slots=True)
class CompactedPair:
    """A compaction: its request and its summary; ids of the messages in context before and after it, as sent."""

    request: MessageRecord
    summary: MessageRecord
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def handoff(self) -> int:
        return self.summary.number

    @property
    def time(self) -> float:
        return self.summary.time


def filtered(records: Sequence[MessageRecord]) -> list[MessageRecord]:
    """The messages that are in context, in the order in which they are sent."""
    kept: list[MessageRecord] = []
    summarised, tail = set[str](), ""
    for record in reversed(records):
        kept.append(record)
        if tail:
            if record.id == tail:
                break
        elif record.asks_summary and record.id in summarised:
            tail = next((part.tail for part in record.parts if part.type == "compaction"), "")
            if not tail or record.id == tail:
                break
        elif record.is_summary:
            summarised.add(record.parent)
    kept.reverse()
    return _summary_first(kept)


def _summary_first(kept: list[MessageRecord]) -> list[MessageRecord]:
    """The same with the newest compaction that has a tail before that tail."""
    at = next((at for at in range(len(kept) - 1, -1, -1) if kept[at].asks_summary and kept[at].tail), None)
    if at is None:
        return kept
    later = range(at + 1, len(kept))
    end = next((n for n in later if _is_flagged(kept[n]) and kept[n].parent == kept[at].id), None)
    start = next((n for n, record in enumerate(kept) if record.id == kept[at].tail), None)
    if start is None or end is None or start >= at:
        return kept
    return [*kept[at : end + 1], *kept[start:at], *kept[end + 1 :]]


def _is_flagged(record: MessageRecord) -> bool:
    return record.role == "assistant" and record.is_flagged


@dataclass(frozen=True)
class OpenCodeMessages:
    """All messages of a session by their number (a `conversation.Conversation`). `revert` is the message from which on
    the next prompt deletes all, "" for none; `text` differs whenever anything of the session does.
    """

    records: Sequence[MessageRecord]
    revert: str = ""
    text: str = ""

    unlinked: ClassVar[int] = 0
    further_lines: ClassVar[Mapping[int, int]] = {}

    @cached_property
    def staying(self) -> Sequence[MessageRecord]:
        """The messages that the next prompt leaves."""
        at = next((at for at, record in enumerate(self.records) if record.id == self.revert), len(self.records))
        return self.records[:at]

    @cached_property
    def units(self) -> dict[int, MessageUnit]:
        summaries = {each.number for each in self._summaries.values()}
        return {unit.id: unit for record in self.records for unit in _units(record, summaries)}

    @cached_property
    def ids(self) -> list[int]:
        return list(self.units)

    @cached_property
    def context(self) -> list[MessageRecord]:
        """What the client sends, as rows: the requests for compactions, too."""
        return filtered(self.staying)

    @cached_property
    def ids_in_context(self) -> frozenset[str]:
        """The rows that the client sends."""
        return frozenset(record.id for record in self.context)

    @cached_property
    def live(self) -> list[int]:
        return self._ids_of(self.context)

    def _ids_of(self, records: Iterable[MessageRecord]) -> list[int]:
        numbers = (each for record in records for each in (record.number, *(number for number, _ in record.results)))
        return [each for each in numbers if each in self.units]

    @cached_property
    def _summaries(self) -> dict[str, MessageRecord]:
        """The summary of each request for a compaction that has one, by the request's id."""
        requests = {record.id for record in self.staying if record.asks_summary}
        answers = [record for record in self.staying if record.is_summary and record.parent in requests]
        return {record.parent: record for record in reversed(answers)}

    @cached_property
    def compactions(self) -> list[CompactedPair]:
        """Oldest first."""
        position = {record.id: at for at, record in enumerate(self.staying)}
        pairs = [(position[request], summary) for request, summary in self._summaries.items()]
        return [
            CompactedPair(
                self.staying[at],
                summary,
                tuple(self._ids_of(filtered(self.staying[:at]))),
                tuple(self._ids_of(filtered(self.staying[: position[summary.id] + 1]))),
            )
            for at, summary in sorted(pairs, key=lambda pair: pair[0])
        ]

    @cached_property
    def states(self) -> dict[int, State]:
        result: dict[int, State] = dict.fromkeys(self.units, "out")
        result.update(dict.fromkeys(self._ids_of(self.staying), "under"))
        result.update(dict.fromkeys(self.live, "live"))
        return result

    def state_of(self, unit: MessageUnit) -> State:
        """The state of a message; of a row that is none, whether the client sends it."""
        return self.states.get(unit.id, "live" if unit.record.id in self.ids_in_context else "out")

    def role_of(self, message_id: int) -> str:
        """The role that a message is sent in; OWN_RECORD for one that is not sent."""
        unit = self.units[message_id]
        return unit.role if unit.record.is_sent else OWN_RECORD

    def size_of(self, message_id: int) -> int:
        return self.units[message_id].size

    def is_sent(self, message_id: int) -> bool:
        return self.units[message_id].record.is_sent

    @cached_property
    def unknown(self) -> str:
        """What of the session has a form that is not known here, in few words; "" for nothing."""
        for record in self.records:
            if not (record.is_known and record.is_dated):
                return f"a message ({record.id[:60]}) of an unknown form"
            for part in record.parts:
                if not part.is_known:
                    return f"a part ({part.id[:60]}) of an unknown form, “{part.type[:60]}”"
        return ""

    @property
    def is_open(self) -> bool:
        """Whether a turn has begun and not ended."""
        return bool(self.records) and self.records[-1].is_open


def _units(record: MessageRecord, summaries: Collection[int]) -> Iterable[MessageUnit]:
    if record.is_message:
        yield MessageUnit(record.number, record, is_summary=record.number in summaries)
    yield from (MessageUnit(number, record, part) for number, part in record.results)
