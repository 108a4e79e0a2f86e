"""The rows that one compaction inserted with its handoff, by their names, and facts that follow from its copies.

Between two compactions the agent only appends rows with new names. So a block is the handoff with the copies around it,
rows whose names earlier rows have, and what only a compaction writes. Where copies of another write are next to them, a
message comes again, or an older one follows: in one write messages are in order, each once, but for a request that was
moved, and a message that the handoff was merged with.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, dropwhile, takewhile, zip_longest

from compaction.handoff import NO_USER_START
from viewer.stores.hermes.records import LightRow

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
    head = _head(handoff, pending, first, (), taken_back)
    tail, unseen = _tail(handoff, after, first, head, carried=carried, last=last)
    head = _head(handoff, pending, first, tail, taken_back)
    before = _unseen_before(pending, first, head, (*tail, *unseen))
    block = [*before, *head, handoff, *tail, *unseen]
    return block if any(first[row.uid] < handoff.id for row in block[len(before) :]) else [handoff]


def _head(
    handoff: LightRow,
    pending: Sequence[LightRow],
    first: Mapping[str, int],
    tail: Iterable[LightRow],
    taken_back: Collection[int],
) -> list[LightRow]:
    """The copies at the end of `pending` that were inserted with the handoff after them: in order, and none that the
    tail has too. Copies before those were written by an earlier rewrite, and this compaction took them out of context.
    """
    uids, newer, moved = {row.uid for row in tail if not row.restated}, handoff.id, False
    head: list[LightRow] = []
    for row in reversed(pending):
        message = first[row.uid]
        if message == row.id or row.uid in uids:
            break
        may_be_out = head or row.id in taken_back  # of a head in context the first may have been taken back
        if handoff.state == "live" != row.state and (row.state == "under" or not may_be_out):
            break
        if not (row.handoff or row.restated):
            if message >= newer and (row.role != "user" or moved):
                break
            moved = moved or message >= newer  # the newest request, moved before an assistant that comes first
            newer = min(newer, message)
        head.append(row)
    return list(dropwhile(lambda row: row.restated, reversed(head)))  # a request is repeated at the end of a block


def _unseen_before(
    pending: Sequence[LightRow], first: Mapping[str, int], head: Sequence[LightRow], behind: Sequence[LightRow]
) -> list[LightRow]:
    """The copies right before a block's head of messages that were in the store but not in the agent's memory: they are
    nowhere else in the block. A rewritten transcript contains its head, too.
    """
    before = reversed(pending[: len(pending) - len(head)])
    rows = list(takewhile(lambda row: first[row.uid] < row.id, before))[::-1]
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
    newest_from = [*accumulate((first[row.uid] for row in reversed(after)), max)][::-1]  # from a row to the last one
    in_head = {row.uid: at for at, row in enumerate(head)}
    own = {handoff.uid, *handoff.absorbed}
    tail: list[LightRow] = []
    waiting: list[LightRow] = []
    seen: set[str] = set()
    newest = 0

    def comes_again(row: LightRow, following: LightRow | None) -> bool:
        """Whether the block has the row's message already. Only a message of its handoff may come again, and a request
        of its head.
        """
        goes_back = in_head.get(row.uid) == 0 or (row.uid in in_head and first[row.uid] < newest)
        if row.uid in seen or (row.handoff and row.uid in own) or (goes_back and row.role != "user"):
            return True
        if following is None:
            return False
        begins = goes_back and (following.uid in in_head or following.handoff == "standalone")
        return begins or (row.uid in own and following.uid in seen)

    for at, (row, following) in enumerate(zip_longest(after, after[1:])):
        if handoff.state == "out" != row.state and not carried:
            break
        is_next_head = not last and following is not None and newest_from[at] < newest
        if not row.restated and (is_next_head or comes_again(row, following)):
            return tail, _unseen(handoff, after, first, at)
        waiting.append(row)
        if first[row.uid] < handoff.id or row.restated or row.of_compaction or row.handoff == "standalone":
            tail += waiting
            waiting = []
            newest = newest if row.restated else max(newest, first[row.uid])
        elif not row.scaffold:
            break
        seen.add(row.uid)
    return tail, []


def _unseen(handoff: LightRow, after: Sequence[LightRow], first: Mapping[str, int], at: int) -> list[LightRow]:
    """The copies from here on, each message once, if the rows after this handoff contain another one: the next block's
    head has none, and a repeated whole context has this one. After the rows that the next compaction marked for its
    tail, nothing else belongs to this block.
    """
    copies: dict[str, LightRow] = {}
    for end in range(at, len(after)):
        before, row = after[end - 1] if end else handoff, after[end]
        goes_back = before.state == "out" != row.state and handoff.state != "out"
        if first[row.uid] >= handoff.id or row.uid in copies or goes_back:
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

    def comes_again(row: LightRow) -> bool:
        return row.state == "out" and first[row.uid] == row.id < last[row.uid]

    def is_left(row: LightRow) -> bool:
        return comes_again(row) and (merged or moments[row.id] < moments[handoff.id])

    merged = handoff.handoff == "merged" and comes_again(handoff)
    if handoff.state != "out" or not (merged or handoff.handoff == "standalone"):
        return []
    before = takewhile(lambda each: each[1].id == handoff.id - each[0], enumerate(reversed(pending), 1))  # one write
    head = [*takewhile(is_left, (row for _, row in before))][::-1]
    tail: list[LightRow] = []
    for row in takewhile(is_left, after):
        if tail and row.role != "user" and last[row.uid] < last[tail[-1].uid]:
            break  # the messages begin again
        tail.append(row)
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
