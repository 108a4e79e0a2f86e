"""How a tool's result says that its call ended: the keys and words of agents and tools, for all who judge a call.

Words of Hermes, Claude Code, Codex and of programs that shells run. What follows from them depends on who asks: a page
shows an exit code, an audit asks whether a file came back, a summary names what went wrong.
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
# Claude Code's and Codex' words for a call that its person did not let through.
NOT_ALLOWED = re.compile(
    r"\s*(?:The user doesn't want to (?:proceed|take this action)|\[Request interrupted by user"
    r"|Permission to use \w+ .{0,80}has been denied|exec command rejected by user|aborted by user)"
)


def exit_code(values: dict[str, Any]) -> Any:
    """The exit code among a result's values, in whatever type it was written; None if there is none."""
    code = next((values[key] for key in _EXIT_KEYS if values.get(key) is not None), None)
    inner = values.get("metadata")
    return inner.get("exit_code") if code is None and isinstance(inner, dict) else code


def is_failure(code: Any) -> bool:
    """Whether an exit code, a number or a text, says that a program failed."""
    return code not in (None, 0, "0", "", False)


def says_failure(values: dict[str, Any]) -> bool:
    """Whether a result's values say by themselves that the call failed: no success, or flagged as an error."""
    return values.get("success") is False or values.get("ok") is False or is_flagged(values)


def is_flagged(values: dict[str, Any]) -> bool:
    """Whether a message or a block of it is marked as a failed result, in Anthropic's or MCP's way."""
    return any(values.get(key) in (True, 1) for key in _FAILED_FLAGS)
