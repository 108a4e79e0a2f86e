"""How a call ended according to its tool's result; without a statement it is neither success nor failure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compaction import messages as engine
from compaction import tool_results
from viewer.stores.message import StoredMessage

from .texts import json_value

_FAILURE = re.compile(
    r"\s*(?:Error\b|ERROR\b|Traceback \(most recent|Exception\b|fatal:|<tool_use_error>|[A-Za-z.]+(?:Error|Exception):)"
)
_SUCCESS = re.compile(
    r"\s*(?:The file:? .{1,400} has been (?:updated|created)|File (?:created|written) successfully"
    r"|Success\. Updated the following files|Applied \d+ edits? to|Todos have been modified successfully"
    r"|Successfully (?:replaced|wrote \d+ bytes|modified file|overwrote file|created and wrote to new file))"
)
_NAMES = ("session_id", "child_session_id", "subagent_session_id", "sub_agent_session_id")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{5,100}")


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """`word` is "" or how it failed: "failed", "failed, exit 1", "refused". `well`: the text states success."""

    word: str = ""
    well: bool = False


def outcome(content: Any) -> CallOutcome:
    """How a call ended, from the text of its result."""
    text = engine.text(content) if not isinstance(content, dict) or "text" in content else ""
    value = content if isinstance(content, dict) and not text else json_value(text, limit=50_000)
    if isinstance(value, dict):
        return _of_object(value)
    head = text[: tool_results.HEAD]
    if tool_results.NOT_ALLOWED.match(head):
        return CallOutcome("refused")
    code = tool_results.EXIT_FIRST.match(head) or tool_results.EXIT_LINE.search(head) or _last_sentence(text)
    if code is not None:
        return _of_code(int(code["code"]))
    return CallOutcome("failed") if _FAILURE.match(head) else CallOutcome(well=bool(_SUCCESS.match(head)))


def of_row(row: StoredMessage) -> CallOutcome:
    """How a call ended, from its result's text, or else from the agent's mark of an error."""
    by_text = outcome(row.content)
    return CallOutcome("failed") if row.extra.get("is_error") is True and not by_text.word else by_text


def _last_sentence(text: str) -> re.Match[str] | None:
    """The exit code in the last words of a text, as a shell of OpenClaw and pi writes it after the output."""
    end = text[-100:].rstrip(" \n.)")
    code = tool_results.EXIT_SENTENCE.search(end)
    return code if code is not None and code.end() == len(end) else None


def _of_object(value: dict[str, Any]) -> CallOutcome:
    code = tool_results.exit_code(value)
    if isinstance(code, int) and not isinstance(code, bool) and code:
        return _of_code(code)
    if value.get("error") or tool_results.says_failure(value):
        return CallOutcome("failed")
    return CallOutcome(
        well=value.get("success") is True or code == 0 or value.get("status") in ("success", "completed")
    )


def _of_code(code: int) -> CallOutcome:
    return CallOutcome(f"failed, exit {code}") if code else CallOutcome(well=True)


def sessions_in(content: Any) -> tuple[str, ...]:
    """The sessions named in a sub-agent's result."""
    value = json_value(engine.text(content), limit=200_000)
    return tuple(dict.fromkeys(_named(value, 3)))[:5]


def _named(value: Any, depth: int) -> Iterator[str]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict):
        for name in _NAMES:
            session_id = value.get(name)
            if isinstance(session_id, str) and _SESSION.fullmatch(session_id):
                yield session_id
    if depth:
        for each in list(inner)[:50]:
            yield from _named(each, depth - 1)
