"""What rows say themselves of the messages they carry (schema 31): names, and what lining up need not guess.

The owner gives each message a name (`message_uid`) when it is first written, and every copy keeps it. A row that
several messages were merged into has the first one's name and lists the others (`absorbed_message_uids`). Equal names
are one message, whatever else differs. Different names are different messages where the agent gave them itself; one
that the database made up, for a row written without (by an older build, or before the column was there), only says that
nobody knows. The two can be told apart: the agent's names are version 4 UUIDs, the database's any 128 random bits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import dropwhile, takewhile
from typing import Any

from .alignment import LightRow

_UUID4 = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}")  # uuid4().hex


def is_given(uid: str) -> bool:
    """Whether the agent gave this name itself; one in 64 of the database's looks so by chance (`believed`)."""
    return _UUID4.fullmatch(uid) is not None


def absorbed(stored: Any) -> tuple[str, ...]:
    """The names in a stored `absorbed_message_uids`."""
    try:
        names = json.loads(stored) if stored else None
    except (ValueError, TypeError, RecursionError):
        return ()
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def believed(rows: Sequence[LightRow], handoff: LightRow, after: Sequence[LightRow]) -> list[LightRow]:
    """The rows, for lining up at this handoff: where it and what follows were written without names, by an older build,
    a name that looks given is one by chance and proves nothing.
    """
    written = [handoff, *after[:8]]
    if 2 * sum(row.named for row in written) > len(written):
        return list(rows)
    return [replace(row, named=False) if row.named else row for row in rows]


def head_of(
    pending: Sequence[LightRow], known: Mapping[str, int], tail: Iterable[LightRow], handoff: LightRow
) -> list[LightRow]:
    """The rows at the end of `pending` that belong to the block of the handoff behind them: copies, by their names, in
    the order of their messages, and none that the tail has too. Copies before those were written anew earlier.
    """
    first: dict[str, int] = {}
    for row in pending:
        first.setdefault(row.uid, row.id)
    kept, before = {row.uid for row in tail}, float("inf")
    head: list[LightRow] = []
    for row in reversed(pending):
        message = known.get(row.uid, first[row.uid])
        is_copy = bool(row.uid) and message < row.id
        if not is_copy or row.uid in kept or (handoff.state == "live" != row.state):
            break
        if row.handoff != "standalone" and not row.restated:
            if message >= before:
                head += [row] if row.role == "user" else []  # the newest request, put before an assistant that leads
                break
            before = message
        head.append(row)
    return list(dropwhile(_is_restated, reversed(head)))  # a request is repeated at the end of a block


def _is_restated(row: LightRow) -> bool:
    return row.restated


def without_next_head(after: Sequence[LightRow], known: Mapping[str, int]) -> Sequence[LightRow]:
    """The rows between two handoffs without the head of the second one's block, where that follows directly upon the
    tail of the first: from there on messages begin anew.
    """
    before = float("inf")
    for at in range(len(after) - 1, -1, -1):
        row = after[at]
        if row.uid not in known:
            return after
        if row.handoff != "standalone" and not row.restated:
            if known[row.uid] >= before:
                said = {known[uid] for each in after[:at] for uid in (each.uid, *each.absorbed) if uid in known}
                end = at if row.role == "user" and known[row.uid] in said else at + 1
                return after[: end + sum(1 for _ in takewhile(_is_restated, after[end:]))]
            before = known[row.uid]
    return after


def tail_of(
    handoff: LightRow, after: Sequence[LightRow], known: Mapping[str, int], opening: Sequence[LightRow]
) -> list[LightRow]:
    """The rows behind a handoff that belong to its block: copies, by their names, and what the agent wrote for itself
    between them, or behind them where a compaction alone writes such rows. `opening` may be the block's head.

    Take-backs go from the end: behind a handoff that is out, the whole block is.
    """
    block: list[LightRow] = []
    waiting: list[LightRow] = []
    seen = {handoff.uid, *handoff.absorbed}
    if handoff.state == "out" and all(row.state == "out" for row in opening):
        seen |= {row.uid for row in opening}
    for row in after:
        if (row.uid in seen and not row.restated) or (handoff.state == "out" != row.state):
            break  # nothing is kept twice: the agent wrote its transcript anew
        waiting.append(row)
        if row.uid in known or row.restated or row.of_compaction:
            block += waiting
            waiting = []
        elif not row.scaffold:
            break
        seen.add(row.uid)
    return block
