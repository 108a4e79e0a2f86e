"""What Hermes Agent and its gateways put around a person's words: notes in brackets, and the text of a skill."""

from __future__ import annotations

from compaction.handoff import NO_USER_MARKERS, NO_USER_START, TASK_LIST
from viewer.stores.envelopes import Envelopes, pattern

ADDED_START = "["  # the beginning of everything that is added


_INVOKED = r'\[(?:IMPORTANT|SYSTEM): The user has invoked the "'


_INSTRUCTION = "The user has provided the following instruction alongside the skill invocation:"


ENVELOPES = Envelopes(
    "Hermes Agent",
    leading=(
        pattern(rf"{_INVOKED}[\s\S]*{_INSTRUCTION}(?P<typed>[\s\S]*?)(?:\n\n\[Runtime note:[\s\S]*)?\Z"),
        pattern(
            rf'{_INVOKED}[^"\n]*" skill bundle,(?>[\s\S]*?\nUser instruction: )(?P<typed>[\s\S]*?)'
            r"\n\n\[Loaded as part of the [\s\S]*\Z"
        ),
        pattern(rf"{_INVOKED}[\s\S]*\Z", is_run=True),
        pattern(r'\[The user sent a voice message~[^"\n]*"(?P<typed>[\s\S]*?)"\s*\](?=\s|\Z)'),
        pattern(r"\[The user sent an? [a-z ]+~[\s\S]*?\](?=[^\S\n]*(?:\n|\Z))"),
        pattern(r"\[If you need a closer look, [^\n]*\](?=[^\S\n]*(?:\n|\Z))"),
        pattern(r'\[Replying to: "[\s\S]*?"\](?=\s|\Z)'),
        pattern(r"\[(?:System note|Note): [^\]]*\]"),
    ),
)


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
