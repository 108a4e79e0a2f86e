"""What an agent's own notices hold beside what a person typed: requests said again, lists, markers of a compaction."""

from __future__ import annotations

from . import protocol


def restated(text: str) -> str | None:
    """The request that this text repeats beside a summary, None where it repeats none."""
    text = text.lstrip()
    if not text.startswith(protocol.RESTATED_STARTS):
        return None
    return text.partition("]")[2].strip()


def without_task_list(text: str) -> str:
    """The text without a list of tasks that a compaction appended to it."""
    own, header, _ = text.partition(f"\n\n{protocol.TASK_LIST}")
    return own.rstrip() if header else text


def without_marker(text: str) -> str:
    """The text without the marker of a compaction that found nothing typed, where typed words were merged into it. In
    text with white space folded only the markers that are known as a whole are separated from what follows.
    """
    known = next((marker for marker in protocol.NO_USER_MARKERS if text.startswith(marker)), "")
    if known:
        return text[len(known) :].lstrip() or text
    return (text.partition("\n\n")[2] if text.startswith(protocol.NO_USER_START) else "") or text
