"""What the readable exports say about a message or a boundary, the same in Markdown and in HTML."""

from __future__ import annotations

from collections.abc import Iterator

from compaction import messages as engine
from viewer.rendering.words import CUT_OFF, STATES, role_label, was_cut_off
from viewer.texts import line

from .facts import clock
from .source import ExportedMessage

RULES = "Rules of the workspace, carried along"
NOBODYS = "This is the summary of a compaction. It stands for earlier messages; nobody in the conversation said it."


def heading(piece: ExportedMessage) -> list[str]:
    """Who, which tool, when, where in the context, the row."""
    tool = line(piece.tool_name, 80) if piece.role in engine.RESULT_ROLES else ""
    state = STATES.get(piece.state, piece.state) if piece.state != "live" else ""
    found = role_label(piece.role), tool, clock(piece.timestamp), state, f"message {piece.id}"
    return [word for word in found if word]


def notes(piece: ExportedMessage) -> Iterator[str]:
    """What is to be known of a message beside its text."""
    if piece.shortened and piece.state == "live":
        yield "The model now sees a shortened form of this."
    if was_cut_off(piece.finish_reason):
        yield CUT_OFF


def of_handoff(piece: ExportedMessage) -> list[str]:
    """The heading of a boundary, or of a handoff outside History."""
    cut = piece.cut
    if cut is None:
        return ["Compaction summary", f"in the role of {line(piece.role, 40)}", *heading(piece)[-1:]]
    name = ["Handed on from another session"] if cut.inherited else ["Compacted", piece.by]
    return [word for word in (*name, clock(cut.time or 0.0), f"message {piece.id}") if word]


def of_boundary(piece: ExportedMessage) -> Iterator[str]:
    """Its numbers."""
    cut = piece.cut
    if cut is not None and not cut.inherited:
        yield (
            f"{_counted(cut.messages_before, 'message')} before, {cut.messages_after:,} after: {cut.summarised:,} "
            f"summarised away, {cut.kept:,} kept{f', {cut.shortened:,} of them shortened' if cut.shortened else ''}."
        )


def redacted_places(count: int) -> str:
    """How much was redacted, as a sentence."""
    return (
        f"{_counted(count, 'place')} {'was' if count == 1 else 'were'} redacted." if count else "Nothing was redacted."
    )


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else noun + 's'}"
