"""A person's words during a turn that the client only kept in its queue, as 2.0 and early 2.1 did: no other line
contains them, and no resume sends them.
"""

from __future__ import annotations

from collections.abc import Iterable

from .records import QUEUED, Record


def unsent(records: Iterable[Record]) -> list[Record]:
    """The queue's lines that contain words found nowhere else: without those that were taken back into the editor, and
    those that a later request contains.
    """
    waiting: list[Record] = []
    dequeued: list[Record] = []
    last_positions: dict[int, int] = {}  # lines of requests, with the position of the last request that has each
    for record in records:
        if record.type != QUEUED:
            last_positions.update(dict.fromkeys(record.typed, record.place))
        elif record.subtype == "enqueue":
            waiting.append(record)
        elif record.subtype == "popAll":
            waiting.clear()
        elif waiting:
            dequeued.append(waiting.pop(0))
    with_words = [record for record in (*dequeued, *waiting) if record.pieces]
    return [
        record for record in with_words if any(last_positions.get(line, -1) < record.place for line in record.typed)
    ]
