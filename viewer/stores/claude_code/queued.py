"""Words that a person typed while a turn ran and that the client kept in its queue alone, as 2.0 and early 2.1 did: no
other line has them, and no resume sends them.
"""

from __future__ import annotations

from collections.abc import Iterable

from .records import QUEUED, Record


def unsent(records: Iterable[Record]) -> list[Record]:
    """The lines of the queue that alone have what was typed: what was taken back into the editor, and what a later
    request says, is left out.
    """
    waiting: list[Record] = []
    taken: list[Record] = []
    said: dict[int, int] = {}  # lines of requests, and the place of the last request that has each
    for record in records:
        if record.type != QUEUED:
            said.update(dict.fromkeys(record.typed, record.place))
        elif record.subtype == "enqueue":
            waiting.append(record)
        elif record.subtype == "popAll":
            waiting.clear()
        elif waiting:
            taken.append(waiting.pop(0))
    kept = [record for record in (*taken, *waiting) if record.pieces]
    return [record for record in kept if any(said.get(line, -1) < record.place for line in record.typed)]
