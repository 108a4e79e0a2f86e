"""The words about a message or a boundary in readable exports, the same in Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator

from compaction import messages as engine
from viewer.rendering.texts import CUT_OFF, STATES, role_label, was_cut_off
from viewer.stores.clean_text import line
from viewer.stores.transcript import Boundary

from .facts import clock
from .source import ExportedMessage

RULES = "Rules of the workspace, carried along"
NOBODYS = "This is the summary of a compaction. It replaces earlier messages; nobody in the conversation said it."


def heading(message: ExportedMessage) -> list[str]:
    """The parts of a heading: role, tool, time, state, message number."""
    tool = line(message.row.tool_name, 80) if message.row.role in engine.RESULT_ROLES else ""
    state = STATES.get(message.row.state, message.row.state) if message.row.state != "live" else ""
    parts = role_label(message.row.role), tool, clock(message.row.timestamp), state, f"message {message.id}"
    return [word for word in parts if word]


def notes(message: ExportedMessage) -> Iterator[str]:
    """What a reader should know about a message besides its text."""
    if message.shortened and message.row.state == "live":
        yield "The model now sees a shortened form of this."
    if was_cut_off(message.row.finish_reason):
        yield CUT_OFF


def of_handoff(message: ExportedMessage) -> list[str]:
    """The heading of a boundary, or of a handoff outside History."""
    boundary = message.boundary
    if boundary is None:
        return ["Compaction summary", f"in the role of {line(message.row.role, 40)}", *heading(message)[-1:]]
    name = ["Handed on from another session"] if boundary.inherited else ["Compacted", message.by]
    return [word for word in (*name, clock(boundary.time or 0.0), f"message {message.id}") if word]


def of_boundary(message: ExportedMessage) -> Iterator[str]:
    """The numbers of a boundary that is shown with its handoff; none for a boundary inherited from another session."""
    if message.boundary is not None and not message.boundary.inherited:
        yield numbers_of(message.boundary)


def numbers_of(boundary: Boundary) -> str:
    """Messages before and after, summarised away and kept; if none left the context, how many were shortened."""
    shortened = f", {boundary.shortened:,} of them shortened" if boundary.shortened else ""
    if boundary.shortens:
        return f"No message left the context: {boundary.kept:,} kept{shortened}."
    return (
        f"{_counted(boundary.messages_before, 'message')} before, {boundary.messages_after:,} after: "
        f"{boundary.summarised:,} summarised away, {boundary.kept:,} kept{shortened}."
    )


def redacted_places(count: int) -> str:
    """How much was redacted, as a sentence."""
    return (
        f"{_counted(count, 'place')} {'was' if count == 1 else 'were'} redacted." if count else "Nothing was redacted."
    )


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else noun + 's'}"
