"""A block, the rows that one compaction inserted, and facts that follow from its copies."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from compaction.handoff import NO_USER_START

from .alignment import Pair
from .records import LightRow


class Block(NamedTuple):
    """The rows that a compaction inserted, and the copies among them: before the handoff, and from the handoff on."""

    rows: list[LightRow]
    head: list[Pair]
    tail: list[Pair]


def first_kept(block: Block, message_of: Mapping[int, int], away: Sequence[int]) -> int | None:
    """The first message of the stretch that the tail kept, given the summarised ones, in order. A message that was
    moved from within the summarised ones to the front does not count.
    """
    messages = [message_of[row.id] for copy, row in block.tail if row.id in message_of and not copy.restated]
    while len(messages) > 1 and bisect(away, messages[0]) < bisect(away, messages[1]):
        messages = messages[1:]
    return messages[0] if messages else None


def slipped(generation: Sequence[LightRow], block: Block) -> list[LightRow]:
    """Rows of the generation that this compaction summarised, or dropped, and marked as superseded.

    The agent marks as many of the newest rows as its tail has, whichever it kept of them: a row that it counted twice,
    or a result that lost its call, leaves another row behind (`hermes_state_coverage`, schema 31). A taken-back
    stretch, in contrast, begins with a user's row, and was no longer in context.
    """
    copied = {source.id for _, source in (*block.head, *block.tail)}
    marked = list(takewhile(lambda row: row.state == "out", reversed(generation)))[::-1]
    lost: list[LightRow] = []
    taken_back = False
    for row in marked:
        if row.id in copied:
            taken_back = False
        elif row.role == "user" and row.handoff != "standalone":
            taken_back = True
        elif not taken_back:
            lost.append(row)
    counted = sum(1 + len(row.absorbed) + row.restated for row in block.rows)
    return lost if len(lost) + sum(row.id in copied for row in marked) <= counted else []


def is_typed(row: LightRow) -> bool:
    """Whether a person typed the text of a row."""
    return row.role == "user" and not row.scaffold and row.handoff != "standalone"


def had_no_user(later: Sequence[LightRow]) -> bool:
    """Whether the first compaction in these rows says that it found no typed message in context."""
    handoffs = [at for at, row in enumerate(later) if row.handoff]
    first = later[: handoffs[1]] if len(handoffs) > 1 else later
    return bool(handoffs) and any(row.of_compaction and row.text.startswith(NO_USER_START) for row in first)


def shorter(row: LightRow, full: LightRow) -> bool:
    """Whether `row` has less content than `full`: smaller, with another text or calls, or cut after an equal start."""
    return row.size < full.size and (row.text != full.text or row.calls != full.calls or row.size < 0.9 * full.size)
