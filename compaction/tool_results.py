"""How a tool's result says how its call ended: keys and words of agents and tools, for all code that judges a call.

The words are those of Hermes, Claude Code, Codex and of programs that shells run. Each caller draws its own conclusion:
a page shows an exit code, an audit asks whether a file was returned, a summary names what went wrong.
"""

from __future__ import annotations

import re
from typing import Any

HEAD = 600  # characters, first or last, in which a text says how its call ended

_EXIT_KEYS = ("exit_code", "exitCode", "exitcode", "returncode", "exit_status")
_FAILED_FLAGS = ("is_error", "isError")

# "Exit code 1" first of all (Claude Code), on a line of its own (Codex), in a closing sentence (shells of others).
EXIT_FIRST = re.compile(r"(?i)\A\s*(?:error: )?exit(?:ed)?(?: with)? (?:status|code):? (?P<code>-?\d{1,6})\b")
EXIT_LINE = re.compile(r"(?im)^(?:process exited with code|exit code:) (?P<code>-?\d{1,6})\b")
EXIT_SENTENCE = re.compile(
    r"(?i)\bcommand (?:exited|completed|finished|failed) with (?:exit )?code (?P<code>-?\d{1,6})\b"
)
# What Codex says before the output of a command, by its tools of 2025 and of now: how the command ended, how long it
# took, how much of it there is.
_HEADING = re.compile(
    r"(?:Chunk ID: \w{0,40}\n|Exit code: (?P<first>-?\d{1,6})\n)?Wall time:? [\d.]{1,20} seconds?\n"
    r"(?:Process exited with code (?P<code>-?\d{1,6})\n|Process running with session ID \w{1,40}\n)?"
    r"(?:Original token count: \d{1,12}\n)?(?:Total output lines: \d{1,12}\n)?Output:(?:\n|\Z)"
    r"(?:Total output lines: \d{1,12}\n\n?)?"
)
# Claude Code's and Codex' words for a call that its person did not let through.
NOT_ALLOWED = re.compile(
    r"\s*(?:The user doesn't want to (?:proceed|take this action)|\[Request interrupted by user"
    r"|Permission to use \w+ .{0,80}has been denied|exec command rejected by user|aborted by user)"
)


def without_heading(text: str) -> tuple[str, str]:
    """The exit code in a heading of Codex ("" if there is none), and the output after the heading."""
    match = _HEADING.match(text)
    return (match["code"] or match["first"] or "", text[match.end() :]) if match else ("", text)


def exit_code(values: dict[str, Any]) -> Any:
    """The exit code among a result's values, in its original type; None if there is none."""
    code = next((values[key] for key in _EXIT_KEYS if values.get(key) is not None), None)
    inner = values.get("metadata")
    return inner.get("exit_code") if code is None and isinstance(inner, dict) else code


def is_failure(code: Any) -> bool:
    """Whether an exit code, as a number or a text, means that a program failed."""
    return code not in (None, 0, "0", "", False)


def says_failure(values: dict[str, Any]) -> bool:
    """Whether a result's values say that the call failed: no success, or flagged as an error."""
    return values.get("success") is False or values.get("ok") is False or is_flagged(values)


def is_flagged(values: dict[str, Any]) -> bool:
    """Whether a message or a block is marked as a failed result, in Anthropic's or MCP's form."""
    return any(values.get(key) in (True, 1) for key in _FAILED_FLAGS)
