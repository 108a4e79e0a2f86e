"""The plan that an agent keeps with a tool: its newest state, complete.

Known tools are Claude Code's `TodoWrite` and its task tools, Codex' `update_plan`, Hermes' `todo`, Gemini's
`write_todos` and tools of the same shape: a list of objects with a text and a state.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..lines import parsed
from ..text.clip import clip

_TOOLS = re.compile(
    r"(?i)(?:^|[_.:])(?:todo|todo_?write|todo_?list|write_?todos|update_?todos|update_?plan|plan|set_?plan)$"
)
_TASK_TOOLS = re.compile(r"(?i)(?:^|_)task_?(create|update)$")
_LISTS = ("todos", "plan", "steps", "items", "tasks", "todo_list")
_TEXTS = ("content", "step", "title", "subject", "text", "description", "task", "name")
_DONE = re.compile(r"(?i)^(?:completed?|done|finished|closed)$")
_GOING = re.compile(r"(?i)^(?:in[_ -]?progress|doing|active|current|started)$")
_DROPPED = re.compile(r"(?i)^(?:cancell?ed|dropped|skipped|deleted)$")
MOST = 60  # steps of a plan
_LONGEST = 300  # characters of a step


class Step(NamedTuple):
    """One step of a plan, and its state as the agent wrote it."""

    text: str
    state: str

    def line(self) -> str:
        """`[x] text`, in the form of task lists; a state that is neither open nor done is added in words."""
        if _DONE.match(self.state):
            return f"[x] {self.text}"
        if _GOING.match(self.state):
            return f"[ ] {self.text} (in progress)"
        return f"[ ] {self.text}" + (" (dropped)" if _DROPPED.match(self.state) else "")


def is_plan_tool(name: str) -> bool:
    """Whether a tool keeps a plan."""
    return bool(_TOOLS.search(name) or _TASK_TOOLS.search(name))


def newest_plan(calls: Iterable[tuple[str, str, str]]) -> list[Step]:
    """The plan after these calls (name, arguments, result), oldest first; [] if there is none."""
    steps: dict[str, Step] = {}
    for name, arguments, result in calls:
        if _TOOLS.search(name):
            steps = _rewritten(steps, arguments, result)
        elif match := _TASK_TOOLS.search(name):
            _one_task(steps, match[1].lower(), arguments, result)
    return list(steps.values())[-MOST:]


def _rewritten(steps: dict[str, Step], arguments: str, result: str) -> dict[str, Step]:
    """The steps that a call states; those of its result if the call only asks, or changes a few of them (Hermes)."""
    value = parsed(arguments)
    stated = dict(_steps(value))
    after = dict(_steps(parsed(result) if result.lstrip()[:1] in ("{", "[") else None))
    if after and len(after) >= len(stated):
        return after
    if isinstance(value, dict) and value.get("merge") is True:
        return {**steps, **stated}
    return stated or steps


def _steps(value: Any) -> Iterator[tuple[str, Step]]:
    items = (
        next((value[key] for key in _LISTS if isinstance(value.get(key), list)), [])
        if isinstance(value, dict)
        else value
    )
    for at, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, str) and item.strip():
            yield str(at), Step(clip(item, _LONGEST), "")
        elif isinstance(item, dict):
            text = next((item[key] for key in _TEXTS if isinstance(item.get(key), str) and item[key].strip()), "")
            state = item.get("status", item.get("state", "done" if item.get("done") is True else ""))
            if text:
                yield str(item.get("id") or at), Step(clip(text, _LONGEST), state if isinstance(state, str) else "")


def _one_task(steps: dict[str, Step], what: str, arguments: str, result: str) -> None:
    value = parsed(arguments)
    if not isinstance(value, dict):
        return
    text = next((value[key] for key in _TEXTS if isinstance(value.get(key), str)), "")
    named = re.search(r"#(\w+)", result)
    id_ = str(value.get("taskId") or value.get("task_id") or value.get("id") or (named[1] if named else len(steps) + 1))
    state = value.get("status")
    if what == "create" and text:
        steps[id_] = Step(clip(text, _LONGEST), "pending")
    elif what == "update" and id_ in steps:
        before = steps[id_]
        steps[id_] = Step(clip(text, _LONGEST) or before.text, state if isinstance(state, str) else before.state)
