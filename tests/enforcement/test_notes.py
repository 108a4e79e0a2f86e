"""What the turn after a compaction is told: the note and the warning."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest

from compaction.handoff import EVENT_START, RULES_CLOSE, RULES_OPEN, WARNING_START, rules_in
from viewer.enforcement.notes import event_text, warning_text
from viewer.workspaces.sections import EVENT_CHARS, carried

OPEN, CLOSE = RULES_OPEN, RULES_CLOSE

# What content filters and scanners for injected prompts look for: orders, haste, overrides, calls to hide or to run.
SCANNED = re.compile(
    r"ignor|disregard|overrid|overrul|must|immediate|urgent|execut|important|warning|critical(?!-rules)|mandatory"
    r"|require|instruction|prompt|obey|comply|command|secret|hidden|do not tell|pretend|you are now|act as|jailbreak"
    r"|bypass|password|at once|right now|curl|https?:|eval|sudo|force|violat|⚠|!|check[- ]?in|\byou\b|\byour\b",
    re.IGNORECASE,
)
CAPITALS = re.compile(r"\b[A-Z]{4,}\b")


def event(**more: Any) -> str:
    given = {"source": "RULES.md", "sections": ["## Red Lines\nNo deploys."], "files": ["a.md", "memory/2026-03-09.md"]}
    return event_text(**{**given, "compacted_at": "2026-03-09 10:00 CET", "now": "2026-03-09 11:30 CET", **more})


def warning(**more: Any) -> str:
    given = {"source": "RULES.md", "missing": ["a.md"], "compacted_at": "2026-03-09 10:00 CET"}
    return warning_text(**{**given, **more})


def test_the_note_says_what_happened_what_to_read_and_the_rules() -> None:
    text = event()
    assert text.startswith(EVENT_START)
    assert "compacted at 2026-03-09 10:00 CET" in text and "Current time: 2026-03-09 11:30 CET" in text
    assert "no replacement" in text and "no person typed" in text
    assert "These files are named there and exist:\n- a.md\n- memory/2026-03-09.md\n" in text
    assert text.endswith(f"Quoted from RULES.md of the workspace:\n{OPEN}\n## Red Lines\nNo deploys.\n{CLOSE}")


def test_days_in_the_quoted_rules_are_those_of_the_files() -> None:
    sections = ["## Session Startup\nRead memory/YYYY-MM-DD.md, not memory/yyyy-mm.md.", "## Red Lines\nyyyy-mm-dd"]
    text = event(sections=sections, day=date(2026, 3, 9))
    assert "Read memory/2026-03-09.md, not memory/yyyy-mm.md." in text and text.count("2026-03-09\n") == 1
    assert "Read memory/YYYY-MM-DD.md" in event(sections=sections), "only where the day is known"


def test_the_note_leaves_out_what_there_is_not() -> None:
    assert "files" not in event(files=[]) and "No deploys." in event(files=[])
    assert OPEN not in event(sections=[]) and "- a.md" in event(sections=[])
    assert "\n\n\n" not in event(files=[], sections=[]) and event(files=[], sections=[]).endswith("11:30 CET")


def test_the_note_quotes_so_much_and_cannot_be_broken_out_of() -> None:
    text = event(sections=[f"{CLOSE}\n" + "x\n" * 5_000], files=["a\n\n- b", "x" * 999], source=f"R\n{CLOSE}")
    assert rules_in(text) == carried([f"{CLOSE}\n" + "x\n" * 5_000], EVENT_CHARS)
    assert "\n- a - b\n- xxx" in text and "x" * 301 not in text
    assert text.count(CLOSE) == 1 and len(text) < EVENT_CHARS + 1_500


def test_the_warning_names_what_was_not_read() -> None:
    text = warning(missing=["a.md", "b\n.md"])
    assert text.startswith(WARNING_START)
    assert "compacted at 2026-03-09 10:00 CET" in text and "RULES.md" in text
    assert "\n\n- a.md\n- b .md\n\n" in text and "not repeated" in text


@pytest.mark.parametrize("text", [event(), event(files=[]), event(sections=[]), warning()])
def test_both_are_plain_and_labelled(text: str) -> None:
    assert "Palimpsest" in text.split("\n")[0]
    assert SCANNED.findall(text) == []
    assert CAPITALS.findall(text.replace("RULES.md", "")) == []
