"""The sections of a summary: their titles, their lines, and reading them back from an earlier summary.

A line is a bullet; its continuation lines are indented, so that no word of a transcript begins a heading or a bullet.
What a later summary must know about a line is a mark before it (`MARKS`), not its words. An earlier summary is read
back as lines, by the headings that it and other summarisers write; its lines are carried unchanged.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .handoff import EARLIER_FRAMING, FRAMING
from .text import fences
from .text.clip import clip

# No heading reads as an order: that makes models start the task again (hermes-agent #41607, #38364, #42812).
INTENT, STANDING, REFERENCES, FOUND = "Intent", "Standing instructions", "References", "Found and decided"
SAID, DONE, LEFT, NAMES = "What was said", "Done", "Left and next", "Names"
TITLES = (INTENT, STANDING, REFERENCES, FOUND, SAID, DONE, LEFT, NAMES)
# Before a request, a step of a plan, what failed to the end, files that no commit has, and what an earlier summary
# says, which may no longer be so.
ASKED, ANSWERED, DROPPED = "[open] ", "[answered] ", "[taken back] "
OPEN, CLOSED = "[ ] ", "[x] "
FAILED, UNCOMMITTED, EARLIER = "[failed] ", "[not committed] ", "[earlier] "
MARKS = (ASKED, ANSWERED, DROPPED, OPEN, CLOSED, FAILED, UNCOMMITTED, EARLIER)
_OF_ITS_TIME = (INTENT, FOUND, LEFT)  # sections of other summarisers whose lines may no longer be so
# Words by which the headings of other summarisers (Hermes', Claude Code's, models', our own before) are recognised, in
# the order in which they are looked for.
_KNOWN = (
    (SAID, ("what was said", "user messages", "conversation", "question")),
    (STANDING, ("instruction", "constraint", "preference", "rule")),
    (REFERENCES, ("reference",)),
    (INTENT, ("intent", "goal", "latest request", "active task", "task snapshot", "in progress", "in-progress")),
    (LEFT, ("left", "next", "plan", "todo", "to-do", "task list", "pending", "remaining", "state", "current work")),
    (LEFT, ("block", "failure", "user asks", "open")),
    (FOUND, ("found", "finding", "decision", "decided", "agreed", "concept", "problem", "learned")),
    (NAMES, ("name", "file", "identifier", "anchor")),
    (DONE, ("done", "action", "completed", "session log", "dropped turns", "error", "progress")),
    (INTENT, ("request",)),
)
TALLY = "Extracted without a model"  # first words of the line above the sections
NEWER_COUNTS = "If a newer message contradicts this, the newer message counts."  # its last sentence
MOST = 8_000  # characters of a line that is read back
_HEADING = re.compile(r"#{1,4}\s+(.*)|(?:\d{1,2}\.\s+)?\*{0,2}([A-Z][\w ,&/()-]{2,60}):\*{0,2}\s*$")
_TITLE_LINE = re.compile(r"\s*#{1,6}\s+(.*?)[\s#]*")
_SPEAKER = re.compile(r"(?P<who>User|Agent, working|Agent)(?: \[(?P<about>[^\]\n]{1,200})\])?: ")
_BULLET = re.compile(r"(?:[-*•]|\d{1,3}[.)])\s+|>\s?")
_CLIPPED_BY_HERMES = re.compile(r"⟪HERMES-CONTEXT-COMPRESSION:[^⟫]*⟫?")
# Lines of Hermes' own model-free summaries that say how they were made, not what happened (docs/hermes.md section 4);
# those of 0.19, then those that 0.22 changed or adds to any summary. Hermes cuts long lines, so starts count.
FALLBACK_PHRASES = (
    "deterministic fall",  # "... fallback", where it was not cut
    "This fallback was generated",
    "Secrets and credentials were redacted",
    "The summary may be incomplete",
    "Previous compaction summary was present",
    "Summary generation was unavailable",
    "protected tail messages",
    "protected recent messages",
    "as historical context only",
    "unfulfilled instruction to re-answer",
    'under "## Historical Task Snapshot"',
    "[fallback summary truncated]",
    "outstanding.)",
    "None recoverable from compacted turns",
    "Called tool(s): ",  # without what for
    "remains background continuity context",
    "This session contains no user-authored turns",
    "Exact identifiers from the compacted region",
    "Every real user message from the compacted region",
    "remain fully preserved in session history",
    "instructions were pruned during context compression",
)
# What begins a call that they quote, without what came of it.
_QUOTED_CALLS = ("ASSISTANT: tool calls: ", "TOOL: [")
_EMPTY = ("none", "(none)", "n/a", "nothing")


class SummaryLine(NamedTuple):
    """A line of a section: its text, and its position among the others."""

    text: str
    at: float


def bullet(text: str) -> str:
    """The text as a bullet. Further lines are kept, indented. Heading marks are removed, and so are the marks of an
    unclosed code fence and empty bullets.
    """
    lines = [line.rstrip() for line in text.strip().splitlines() if line.strip(" \t\r-*•>#")]
    if fences.open_behind([line.lstrip() for line in lines]):
        lines = [line for line in lines if not line.lstrip().startswith(("```", "~~~"))]
    return "- " + "\n  ".join(map(unmarked, lines))


def start(text: str, most: int) -> str:
    """The first lines of a text, while they fit."""
    if len(text) <= most:
        return text
    end = text.rfind("\n", 0, most)
    return f"{text[: end if end > most // 2 else most].rstrip()} …"


def unmarked(line: str) -> str:
    """A quoted line in a form that is not a heading of the summary: "## Halls" becomes "Halls:"."""
    title = _TITLE_LINE.fullmatch(line)
    if title is None:
        return line
    return title[1] if title[1].endswith((":", ".", "?", "!")) else f"{title[1]}:"


def flat(text: str) -> str:
    """The text on one line: a line break inside would begin a new line or heading."""
    return " ".join(text.split())


def speaker(line: str) -> tuple[str, str, str]:
    """The speaker of a line, the text in brackets (person and day), and the words."""
    match = _SPEAKER.match(line)
    return (match["who"], match["about"] or "", line[match.end() :]) if match else ("", "", line)


def said(who: str, about: str, words: str) -> str:
    """A line of what was said, with speaker and brackets."""
    first, *rest = words.lstrip().split("\n", 1)
    words = "\n".join([unmarked(first), *rest])
    return f"{who}{f' [{about}]' if about else ''}: {words}"


def as_earlier(line: str) -> str:
    """A line of an earlier summary, marked as earlier."""
    return line if line.startswith(EARLIER) else f"{EARLIER}{line}"


def section(title: str, lines: list[SummaryLine]) -> str:
    """The section, "" without lines."""
    if not lines:
        return ""
    return "\n".join([f"## {title}", *(line.text for line in sorted(lines, key=lambda line: line.at))])


def read_back(summary: str) -> dict[str, list[str]]:
    """The lines of an earlier summary, without bullets, by section.

    Indented lines after a bullet belong to it. Lines about how a summary was made are left out. Lines of other
    summarisers about what is wanted, known or left to do are marked as earlier.
    """
    lines_of: dict[str, list[str]] = {title: [] for title in TITLES}
    title, on, is_ours = LEFT, False, True
    for raw in summary.splitlines():
        line = _CLIPPED_BY_HERMES.sub(" … ", raw)
        text = line.strip()
        if on and text and line.startswith("  "):
            lines_of[title][-1] += f"\n{text}"
            continue
        on = False
        heading = _HEADING.fullmatch(text) if text and not line[0].isspace() else None
        if heading and (found_title := _section_of(heading[1] or heading[2], LEFT if heading[1] else "")):
            title, is_ours = found_title, heading[1] == found_title
        elif (words := _BULLET.sub("", text, count=1)) and not is_stale(words):
            marked = is_ours or title not in _OF_ITS_TIME or words.startswith(MARKS)
            lines_of[title].append(words if marked else as_earlier(words))
            on = True
    lines_of[SAID] = _with_speakers(lines_of[SAID])
    return {
        title: [text if len(text) <= MOST else clip(text, MOST) for text in lines] for title, lines in lines_of.items()
    }


def _with_speakers(lines: list[str]) -> list[str]:
    """The lines with the text in brackets on each of them; it was written only when it changed."""
    last, full = "", []
    for line in lines:
        who, about, words = speaker(line)
        last = about or last
        full.append(said(who, last, words) if who else line)
    return full


def _section_of(heading: str, other: str) -> str:
    heading = heading.casefold()
    return next((title for title, words in _KNOWN if any(word in heading for word in words)), other)


def is_stale(line: str) -> bool:
    """Whether a line of a summary has no content: it says how it was made, or that there is nothing to say."""
    return (
        line.rstrip(".").lower() in _EMPTY
        or line.startswith((TALLY, NEWER_COUNTS, FRAMING, EARLIER_FRAMING, *_QUOTED_CALLS))
        or any(phrase in line for phrase in FALLBACK_PHRASES)
    )
