"""What a tool's result says about how its call ended: silence is neither success nor failure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compaction import messages as engine

from .texts import json_value

_FAILURE = re.compile(
    r"\s*(?:Error\b|ERROR\b|Traceback \(most recent|Exception\b|fatal:|<tool_use_error>|[A-Za-z.]+(?:Error|Exception):)"
)
# Claude Code's and Codex' words for a call that its person did not let through.
_REFUSAL = re.compile(
    r"\s*(?:The user doesn't want to (?:proceed|take this action)|\[Request interrupted by user"
    r"|Permission to use \w+ .{0,80}has been denied|exec command rejected by user|aborted by user)"
)
# Codex: "Exit code: 1" or "Process exited with code 1" in the head of its output; Claude Code: "Exit code 1" first.
_EXIT = re.compile(
    r"\A\s*(?:Error: )?Exit code:? (-?\d{1,6})\b|^(?:Process exited with code|Exit code:) (-?\d{1,6})\b", re.M
)
_SUCCESS = re.compile(
    r"\s*(?:The file .{1,400} has been (?:updated|created)|File (?:created|written) successfully"
    r"|Success\. Updated the following files|Applied \d+ edits? to|Todos have been modified successfully)"
)
_HEAD = 600  # characters in which a text says how it ended
_NAMES = ("session_id", "child_session_id", "subagent_session_id", "sub_agent_session_id")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{5,100}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """`word` is "" or how it went wrong: "failed", "failed, exit 1", "refused". `well` where the text says success."""

    word: str = ""
    well: bool = False


def outcome(content: Any) -> Outcome:
    """How a call ended, by the text of its result."""
    text = engine.text(content) if not isinstance(content, dict) or "text" in content else ""
    value = content if isinstance(content, dict) and not text else json_value(text, limit=50_000)
    if isinstance(value, dict):
        return _of_object(value)
    head = text[:_HEAD]
    if _REFUSAL.match(head):
        return Outcome("refused")
    code = _EXIT.search(head)
    if code is not None:
        return _of_code(int(code[1] or code[2]))
    return Outcome("failed") if _FAILURE.match(head) else Outcome(well=bool(_SUCCESS.match(head)))


def _of_object(value: dict[str, Any]) -> Outcome:
    inner = value.get("metadata")
    code = next((each for each in (value.get("exit_code"), value.get("returncode")) if each is not None), None)
    if code is None and isinstance(inner, dict):
        code = inner.get("exit_code")
    if isinstance(code, int) and not isinstance(code, bool) and code != 0:
        return _of_code(code)
    if value.get("error") or value.get("success") is False or value.get("is_error") is True:
        return Outcome("failed")
    return Outcome(well=value.get("success") is True or code == 0 or value.get("status") in ("success", "completed"))


def _of_code(code: int) -> Outcome:
    return Outcome(f"failed, exit {code}") if code else Outcome(well=True)


def sessions_in(content: Any) -> tuple[str, ...]:
    """The sessions that a sub-agent's result names."""
    value = json_value(engine.text(content), limit=200_000)
    return tuple(dict.fromkeys(_named(value, 3)))[:5]


def _named(value: Any, depth: int) -> Iterator[str]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict):
        for name in _NAMES:
            found = value.get(name)
            if isinstance(found, str) and _SESSION.fullmatch(found):
                yield found
    if depth:
        for each in list(inner)[:50]:
            yield from _named(each, depth - 1)
