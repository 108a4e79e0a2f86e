"""What Hermes adds to a person's words when it compacts: a list of tasks, a marker where nothing was typed."""

from __future__ import annotations

from compaction.handoff import NO_USER_MARKERS, NO_USER_START, TASK_LIST


def without_task_list(text: str) -> str:
    """The text without a list of tasks that a compaction appended to it."""
    own, header, _ = text.partition(f"\n\n{TASK_LIST}")
    return own.rstrip() if header else text


def without_marker(text: str) -> str:
    """The text without the marker of a compaction that found nothing typed, where typed words were merged into it. In
    text with folded white space only markers that are known completely are separated from what follows.
    """
    marker_found = next((marker for marker in NO_USER_MARKERS if text.startswith(marker)), "")
    if marker_found:
        return text[len(marker_found) :].lstrip() or text
    return (text.partition("\n\n")[2] if text.startswith(NO_USER_START) else "") or text
