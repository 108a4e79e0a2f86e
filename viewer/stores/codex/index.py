"""A cache of the messages of the latest sessions."""

from __future__ import annotations

from threading import Lock

from cachetools import LRUCache

from .lineage import Lineage
from .replay import replayed
from .units import RolloutMessages

HELD = 60_000  # messages in this process; always enough for two sessions

_held: LRUCache[str, tuple[str, RolloutMessages]] = LRUCache(
    HELD, getsizeof=lambda each: min(len(each[1].units) + 1, HELD // 2)
)
_lock = Lock()


def messages_of(session_id: str, lineage: Lineage) -> RolloutMessages:
    """The current messages of a session's files."""
    key = f"{session_id} {lineage.parts[0].rollout.path}"
    with _lock:
        cached = _held.get(key)
    if cached is not None and cached[0] == lineage.text:
        return cached[1]
    messages = (grown(cached[1], lineage) if cached else None) or RolloutMessages(lineage, replayed(lineage))
    with _lock:
        _held[key] = lineage.text, messages
    return messages


def grown(messages: RolloutMessages, lineage: Lineage) -> RolloutMessages | None:
    """The messages with the lines that were appended to the current file since; None where they have to
    be made anew.
    """
    *others, last = messages.lineage.parts
    *others_now, now = lineage.parts
    count = len(last.records)
    is_same = [(each.rollout, each.state, each.end) for each in others] == [
        (each.rollout, each.state, each.end) for each in others_now
    ]
    is_longer = last.rollout == now.rollout and last.is_sent and last.end is None and now.end is None
    if (
        not is_same
        or not is_longer
        or not 0 < count <= len(now.records)
        or last.records[-1] is not now.records[count - 1]
    ):
        return None
    replay = messages.replay.copy()
    replay.read(now, now.records[count:])
    grown_messages = RolloutMessages(lineage, replay)
    if replay.compactions == messages.replay.compactions:
        vars(grown_messages).update(compactions=messages.compactions)  # for a long session, most of the work
    return grown_messages
