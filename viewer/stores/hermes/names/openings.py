"""Which handoffs open a new block, and which an agent carried along as a turn."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from itertools import takewhile

from viewer.stores.hermes.records import STEP, LightRow

Stamp = tuple[str, float]  # identifies a handoff: its text, and its time
MessageKey = str | tuple[str, float]  # identifies a copy's message: its name, or role and time
ONE_WRITE = 64e-6  # seconds between a handoff and the rows before it that were written with it, the head


def openers(rows: Sequence[LightRow], ours: Container[int]) -> tuple[list[int], set[Stamp]]:
    """The indices of the handoffs that open a block, and the stamps of those that a later block carried along as a
    turn.

    The text alone is not enough: a compaction that was undone and repeated may write the same words, and merge them
    into the same message.
    """
    indices: list[int] = []
    stamps: set[Stamp] = set()
    in_effect: set[Stamp] = set()
    named: dict[tuple[str, str], Stamp] = {}
    newest: dict[str, int] = {}  # the index at which the newest block with this text opens
    lost: dict[Stamp, Stamp] = {}  # those that an agent carried along without their times
    carried: set[Stamp] = set()
    first = {_message_key(row): index for index, row in reversed([*enumerate(rows)])}  # the first index of each message
    for index, row in enumerate(rows):
        if not row.handoff:
            continue
        own = (row.handoff_key, row.time)
        stamp = lost.get(own, own)
        if row.uid:
            stamp = named.setdefault((row.uid, row.handoff_key), stamp)
        # A handoff that is in effect is not written again: a later row with such words is a copy. Without names an
        # agent marks nothing as superseded: a handoff that only has rows at (0,0) was undone, or taken back.
        merged = row.handoff == "merged" or row.restated
        again = row.state != "out" and not row.uid
        again = again or (merged and stamp in stamps and _stands_alone(rows, index, indices, first))
        again = again and stamp not in in_effect
        before = newest.get(row.handoff_key)
        if before is not None and _is_inside_a_block(rows, index, before, indices, first):
            stamp = lost[own] = (row.handoff_key, rows[before].time)
        if stamp in stamps and row.id not in ours and not again:
            if row.state != "out":  # the block that carried it may have been undone since
                carried.add(stamp)
        else:
            indices.append(index)
            stamps.add(stamp)
            newest[row.handoff_key] = index
        if row.state != "out":
            in_effect.add(stamp)
    return indices, carried


def one_a_write(
    openings: Iterable[LightRow], write_of: Mapping[int, int], stamps: Mapping[int, Stamp], certain: Collection[int]
) -> set[int]:
    """Those of these handoffs that open a block: of several in one write one that is known to, or that has new words;
    of those the newest, which has the moment of the write. The agent carried the others along.
    """
    new = {row.id for row in {row.handoff_key: row for row in reversed([*openings])}.values()}
    first = {row.id for row in {stamps[row.id]: row for row in reversed([*openings])}.values()}
    writes: dict[int, list[LightRow]] = {}
    for row in openings:
        writes.setdefault(write_of.get(row.id, -row.id), []).append(row)

    def rank(row: LightRow) -> tuple[bool, bool, bool]:
        return row.id in certain, row.id in new, row.id in first

    ids: set[int] = set()
    for rows in writes.values():
        best = [row for row in rows if rank(row) == max(map(rank, rows))]
        moment = max(stamps[row.id][1] for row in best) - ONE_WRITE
        ids.add(next(row.id for row in best if not stamps[row.id][1] < moment))
    return ids


def _is_inside_a_block(
    rows: Sequence[LightRow], index: int, before: int, openings: Sequence[int], first: Mapping[MessageKey, int]
) -> bool:
    """Whether another handoff was written with this one, which is not a copy and has the text of the one at `before`:
    at the same moment, or before it with only copies in between, in order, of rows before that one.
    """
    row = rows[index]
    if first[_message_key(row)] != index:
        return False
    for distance, neighbour in enumerate(rows[index + 1 :], 1):
        if not 0 < (neighbour.time - row.time) / distance < STEP:
            break
        if neighbour.handoff:
            return True
    following = index
    behind = {_message_key(each) for each in takewhile(lambda each: not each.handoff, rows[before + 1 : index])}
    for at in range(index - 1, -1, -1):
        neighbour = rows[at]
        kept = first[_message_key(neighbour)]
        at_once = 0 < (row.time - neighbour.time) / (index - at) < STEP
        if at in openings[-1:]:
            return at != before
        in_order = (
            kept < before and _message_key(neighbour) not in behind and (kept < following or neighbour.role == "user")
        )
        if not (at_once or in_order):
            return False
        following = following if at_once else kept
    return False


def _stands_alone(
    rows: Sequence[LightRow], index: int, openings: Sequence[int], first: Mapping[MessageKey, int]
) -> bool:
    """Whether no other handoff is in the block of this one: it was written, not carried along.

    A block has one state when it is written, and contains no row without an older one.
    """
    row = rows[index]
    behind = takewhile(
        lambda each: first[_message_key(each)] < index or each.handoff == "standalone", rows[index + 1 :]
    )
    if any(each.handoff for each in behind):
        return False
    before = rows[openings[-1]]
    return before.state != row.state and "out" in (before.state, row.state)


def _message_key(row: LightRow) -> MessageKey:
    return row.uid or (row.role, row.time)
