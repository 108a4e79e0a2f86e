"""Tool calls with their results: which result answers which call, and how one call is shown.

Ids repeat within real sessions, so a result is first looked for directly behind its call, then by id
(`docs/hermes.md` section 1).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.utils.safestring import SafeString

from compaction import messages as engine
from viewer.store.codec import StoredMessage

from . import blocks, formats
from .texts import as_text, clean, json_value, line

ARGUMENT_LIMIT = 140
# The argument that says most about a call; tools of the common agents name it so.
KEY_ARGUMENTS = (
    "command",
    "cmd",
    "file_path",
    "path",
    "filename",
    "query",
    "pattern",
    "url",
    "expression",
    "code",
    "prompt",
)


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's answer. `outcome` is "failed" where the text says so."""

    id: int
    href: str
    tokens: SafeString
    blocks: tuple[blocks.Block, ...]
    outcome: str
    seconds: str
    notes: tuple[str, ...]
    marked: bool


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call in one fold: the key argument in its line, arguments and result inside."""

    template: ClassVar[str] = "blocks/call.html"
    name: str
    argument: str
    arguments: tuple[blocks.Block, ...]
    result: Result | None
    waiting: bool

    @property
    def open(self) -> bool:
        return self.result is not None and self.result.marked


def pair(rows: Sequence[StoredMessage]) -> dict[tuple[int, int], int]:
    """(index of the calling row, position of the call in it) -> index of the row with its result."""
    pairs: dict[tuple[int, int], int] = {}
    open_calls: list[tuple[int, int, str]] = []  # calls without a result so far, oldest first
    for index, row in enumerate(rows):
        if row.role in engine.RESULT_ROLES:
            found = _answered(open_calls, row.tool_call_id)
            if found is not None:
                at, position, _ = open_calls.pop(found)
                pairs[at, position] = index
        else:
            made = engine.calls({"tool_calls": row.tool_calls, "content": row.content})
            open_calls += [(index, position, call.ids[0]) for position, call in enumerate(made)]
    return pairs


def _answered(open_calls: list[tuple[int, int, str]], call_id: str) -> int | None:
    """Which open call a result answers: the first of its id in the newest row that calls, else the newest of it."""
    newest = open_calls[-1][0] if open_calls else -1
    near = [place for place, call in enumerate(open_calls) if call[0] == newest and (call[2] == call_id or not call_id)]
    if near:
        return near[0]
    return next((place for place in reversed(range(len(open_calls))) if open_calls[place][2] == call_id != ""), None)


def shown_call(call: engine.Call, result: Result | None, whole: str, waiting: bool) -> Call:
    """A call as the page shows it."""
    arguments = json_value(call.arguments)
    return Call(
        name=line(call.name, 80) or "tool",
        argument=_key_argument(arguments, call.arguments),
        arguments=_arguments(arguments, call, whole),
        result=result,
        waiting=waiting,
    )


def _key_argument(arguments: Any, text: str) -> str:
    if not isinstance(arguments, dict):
        return line(text, ARGUMENT_LIMIT)
    for name in KEY_ARGUMENTS:
        if isinstance(arguments.get(name), str):
            return line(arguments[name], ARGUMENT_LIMIT)
    return line(" ".join(f"{name}={_short(value)}" for name, value in arguments.items()), ARGUMENT_LIMIT)


def _short(value: Any) -> str:
    if isinstance(value, (list, dict)):
        return f"[{len(value)}]" if isinstance(value, list) else "{…}"
    return as_text(value)[:ARGUMENT_LIMIT]


def _arguments(arguments: Any, call: engine.Call, whole: str) -> tuple[blocks.Block, ...]:
    if isinstance(arguments, dict):
        change = _change(arguments, whole)
        if change is not None:
            return (change,)
        return blocks.of_output(call.arguments, whole) if arguments else ()
    return (blocks.plain(call.arguments, whole),) if call.arguments.strip() else ()


def _change(arguments: dict[str, Any], whole: str) -> blocks.Diff | None:
    """The arguments of an edit tool as a diff: a patch, or an old and a new text."""
    for name in ("patch", "diff"):
        if isinstance(arguments.get(name), str) and blocks.is_diff(arguments[name]):
            return blocks.diff(arguments[name], whole)
    for old, new in (("old_string", "new_string"), ("old_str", "new_str"), ("old_text", "new_text")):
        if isinstance(arguments.get(old), str) and isinstance(arguments.get(new), str):
            place = next((str(arguments[key]) for key in ("file_path", "path", "filename") if key in arguments), "file")
            return blocks.diff_of(arguments[old], arguments[new], clean(place), whole)
    return None


# -- results ---------------------------------------------------------------------------------------------------------

_FAILURE = re.compile(
    r"\s*(?:Error\b|ERROR\b|Traceback \(most recent|Exception\b|fatal:|[A-Za-z.]+(?:Error|Exception):)"
)


def outcome(content: Any) -> str:
    """ "failed" for a result that says so (an error text, `error`, `success: false`, a non-zero exit code), else ""."""
    text = engine.text(content)
    value = json_value(text, limit=50_000)
    if isinstance(value, dict):
        code = value.get("exit_code", value.get("returncode", 0))
        failed = bool(value.get("error")) or value.get("success") is False or (isinstance(code, int) and code != 0)
        return "failed" if failed else ""
    return "failed" if _FAILURE.match(text[:200]) else ""


def duration(call: StoredMessage, result: StoredMessage) -> str:
    """How long the tool took, where the times of the two rows can tell."""
    passed = result.timestamp - call.timestamp
    return formats.seconds(passed) if 0.05 <= passed < 3_600 else ""
