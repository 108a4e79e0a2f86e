"""The two texts for the turn after a compaction: the note, and the warning of an audit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from compaction.handoff import EVENT_START, WARNING_START, rules_block
from viewer.workspaces.sections import EVENT_CHARS, LONGEST_NAME, carried, dated


def event_text(
    *,
    source: str,
    sections: Sequence[str],
    files: Sequence[str],
    compacted_at: str,
    now: str,
    day: date | None = None,
) -> str:
    """The note for the turn after a compaction: what happened, which files to read again, the rules as quoted data.

    `day` replaces YYYY-MM-DD in the rules, as in the names of the files (OpenClaw #32381). Plain statements, labelled
    as a program's: content filters refuse orders, and scanners take them for injections.
    """
    dated_sections = [dated(section, day) if day else section for section in sections]
    quoted = rules_block(carried(dated_sections, EVENT_CHARS))
    named = f"Startup reading according to {_line(source)}. These files are named there and exist:\n{_listed(files)}"
    pieces = [
        EVENT_START,
        f"This note was made by Palimpsest; no person typed it. This session was compacted at {_line(compacted_at)}:"
        " earlier messages are summed up or cut short. What is left is no replacement for the startup reading of the"
        " workspace.",
        f"Current time: {_line(now)}",
        named if files else "",
        f"Quoted from {_line(source)} of the workspace:\n{quoted}" if quoted else "",
    ]
    return "\n\n".join(piece for piece in pieces if piece)


def warning_text(*, source: str, missing: Sequence[str], compacted_at: str) -> str:
    """The note that lists the files that the turn after a compaction did not read."""
    pieces = [
        WARNING_START,
        f"This note was made by Palimpsest; no person typed it. This session was compacted at {_line(compacted_at)}."
        f" The turn after that did not read these files, which {_line(source)} names for the startup reading:",
        _listed(missing),
        "Reading them puts their text back into context. This note is not repeated.",
    ]
    return "\n\n".join(pieces)


def _listed(names: Sequence[str]) -> str:
    return "\n".join(f"- {_line(name)}" for name in names)


def _line(text: str) -> str:
    """A name or a time on one line that cannot be more than that."""
    return carried([" ".join(text.split())[:LONGEST_NAME]])
