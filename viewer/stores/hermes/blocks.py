"""The rows that one compaction inserted with its handoff, by their names, and facts that follow from its copies.

Between two compactions the agent only appends rows with new names. So a block is the handoff with the copies around it,
rows whose names earlier rows have, and what only a compaction writes. Where copies of another write are next to them, a
message comes again, or an older one follows: in one write messages are in order, each once, but for a request that was
moved.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, dropwhile, takewhile

from compaction.handoff import NO_USER_START

from .records import LightRow

Pair = tuple[LightRow, LightRow]  # (copy, the row it was copied from)


def block_around(
    handoff: LightRow,
    pending: Sequence[LightRow],
    after: Sequence[LightRow],
    first: Mapping[str, int],
    *,
    carried: bool,
    last: bool,
    taken_back: Collection[int],
) -> list[LightRow]:
    """The block of a handoff, given the rows before it that belong to no block and the rows after it, up to the next
    handoff that opens one. `first` has the first row of each name. A later block `carried` the handoff along; no block
    follows the `last` one directly. Rows `taken_back` are known for certain.
    """
    head = _head(pending, first, (), handoff, taken_back)
    tail, unseen = _tail(handoff, after, first, head, carried=carried, last=last)
    head = _head(pending, first, tail, handoff, taken_back)
    before = _unseen_before(pending, first, head, (*tail, *unseen))
    block = [*before, *head, handoff, *tail, *unseen]
    return block if any(first.get(row.uid, row.id) < handoff.id for row in block[len(before) :]) else [handoff]


def _head(
    pending: Sequence[LightRow],
    first: Mapping[str, int],
    tail: Sequence[LightRow],
    handoff: LightRow,
    taken_back: Collection[int],
) -> list[LightRow]:
    """The copies at the end of `pending` that were inserted with the handoff after them: in the order of their messages
    and none that the tail has too. Others were written by an earlier rewrite.
    """
    uids, before, moved = {row.uid for row in tail if not row.restated}, float("inf"), False
    head: list[LightRow] = []
    for row in reversed(pending):
        message = first.get(row.uid, row.id)
        if message >= row.id or row.uid in uids:
            break
        may_be_out = head or row.id in taken_back
        if handoff.state == "live" != row.state and (row.state == "under" or not may_be_out):
            break  # of a head in context the first may have been taken back
        if not (row.handoff or row.restated):
            if message >= before:
                if row.role != "user" or moved:
                    break
                moved = True  # the newest request, moved before an assistant that comes first
            else:
                before = message
        head.append(row)
    return list(dropwhile(lambda row: row.restated, reversed(head)))  # a request is repeated at the end of a block


def _unseen_before(
    pending: Sequence[LightRow], first: Mapping[str, int], head: Sequence[LightRow], behind: Sequence[LightRow]
) -> list[LightRow]:
    """The copies right before a block's head of messages that were in the store but not in the agent's memory: they are
    nowhere else in the block. A rewritten transcript contains its head, too.
    """
    before = reversed(pending[: len(pending) - len(head)])
    rows = list(takewhile(lambda row: first.get(row.uid, row.id) < row.id, before))[::-1]
    names = {row.uid for row in (*head, *behind)}
    return rows if head and names.isdisjoint(row.uid for row in rows) else []


def _tail(
    handoff: LightRow,
    after: Sequence[LightRow],
    first: Mapping[str, int],
    head: Sequence[LightRow],
    *,
    carried: bool,
    last: bool,
) -> tuple[list[LightRow], list[LightRow]]:
    """The rows after a handoff that were inserted with it, and behind them the copies of messages that were in the
    store but not in the agent's memory (`_archive_named_rows` in hermes_state_messages.py).

    Rows are taken back from the end: after a handoff that is out, the whole block is, unless a later one `carried` it.
    """
    positions = [first.get(row.uid, row.id) for row in after]
    newest = min([0, *positions]) - 1
    shown = (newest if row.restated else position for row, position in zip(after, positions, strict=True))
    newest_from = [*accumulate(reversed([*shown]), max)][::-1]  # among a row and those after it
    begins = [row.uid for row in head[:2]]
    tail: list[LightRow] = []
    waiting: list[LightRow] = []
    seen: set[str] = set()
    for at, row in enumerate(after):
        if handoff.state == "out" != row.state and not carried:
            break
        comes_again = row.uid in seen or (row.handoff and row.uid == handoff.uid)
        comes_again = comes_again or (len(begins) > 1 and [each.uid for each in after[at : at + 2]] == begins)
        is_next_head = not last and at + 1 < len(after) and newest_from[at] < newest
        if not row.restated and (comes_again or is_next_head):
            return tail, _unseen(handoff, after, positions, at)
        waiting.append(row)
        if positions[at] < handoff.id or row.restated or row.of_compaction or row.handoff == "standalone":
            tail += waiting
            waiting = []
            newest = newest if row.restated else max(newest, positions[at])
        elif not row.scaffold:
            break
        seen.add(row.uid)
    return tail, []


def _unseen(handoff: LightRow, after: Sequence[LightRow], positions: Sequence[int], at: int) -> list[LightRow]:
    """The copies from here on, each message once, if the rows after this handoff contain another one: the next block's
    head has none, and a repeated whole context has this one. After the rows that the next compaction marked for its
    tail, nothing else belongs to this block.
    """
    copies: dict[str, LightRow] = {}
    for end in range(at, len(after)):
        before, row = after[end - 1] if end else handoff, after[end]
        goes_back = before.state == "out" != row.state and handoff.state != "out"
        if positions[end] >= handoff.id or row.uid in copies or goes_back:
            break
        copies[row.uid] = row
    handoffs = [row.uid for row in after[: at + len(copies)] if row.handoff]
    return [*copies.values()] if handoffs and {handoff.uid, *handoff.absorbed}.isdisjoint(handoffs) else []


def left_of_undone(
    handoff: LightRow,
    pending: Sequence[LightRow],
    after: Sequence[LightRow],
    first: Mapping[str, int],
    last: Mapping[str, int],
    moments: Mapping[int, float],
) -> list[LightRow]:
    """The rest of an undone block where the agent wrote its messages anew since and deleted their rows: only later rows
    have the names of its copies. What is taken back does not come again. A copy is older than the handoff, by its time.
    """

    def is_left(row: LightRow) -> bool:
        comes_again = row.state == "out" and first[row.uid] == row.id < last[row.uid]
        return comes_again and (merged or moments[row.id] < moments[handoff.id])

    merged = (
        handoff.handoff == "merged" and handoff.state == "out" and first[handoff.uid] == handoff.id < last[handoff.uid]
    )
    if handoff.state != "out" or not (merged or handoff.handoff == "standalone"):
        return []
    head = [*takewhile(is_left, reversed(pending))][::-1]
    tail = [*takewhile(is_left, after)]
    return [*head, handoff, *tail] if merged or tail else []


def first_kept(tail: Sequence[Pair], message_of: Mapping[int, Sequence[int]], away: Sequence[int]) -> int | None:
    """The first message of the stretch that the tail kept, given the summarised ones, in order. A message that was
    moved from within the summarised ones to the front does not count.
    """
    messages = [message_of[row.id][0] for copy, row in tail if message_of.get(row.id) and not copy.restated]
    while len(messages) > 1 and bisect(away, messages[0]) < bisect(away, messages[1]):
        messages = messages[1:]
    return messages[0] if messages else None


def slipped(generation: Sequence[LightRow], block: Sequence[LightRow], copied: Collection[int]) -> list[LightRow]:
    """Rows of the generation that this compaction summarised, or dropped, and marked as superseded.

    The agent marks as many of the newest rows as its tail has, whichever it kept of them: a row that it counted twice,
    or a result that lost its call, leaves another row behind (`hermes_state_coverage`, schema 31). A taken-back
    stretch, in contrast, begins with a user's row, and was no longer in context.
    """
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
    counted = sum(1 + len(row.absorbed) + row.restated for row in block)
    return lost if len(lost) + sum(row.id in copied for row in marked) <= counted else []


def had_no_user(later: Sequence[LightRow]) -> bool:
    """Whether the first compaction in these rows says that it found no typed message in context."""
    handoffs = [at for at, row in enumerate(later) if row.handoff]
    first = later[: handoffs[1]] if len(handoffs) > 1 else later
    return bool(handoffs) and any(row.of_compaction and row.text.startswith(NO_USER_START) for row in first)
