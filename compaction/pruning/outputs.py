"""Old tool output as one line, and long arguments cut inside valid JSON, in any shape that a row has.

A line says what ran, with which arguments, how it ended and how large the output was; if the same output occurs again
further down, the line says so. Images inside results become the media stub. Words of people and of the assistant are
never changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import messages as m
from ..handoff import CUT_SHORT, MEDIA_STUB, PRUNED, block_text, is_handoff
from ..lines import arguments_of, outcome, parsed, unwrapped
from ..messages import Call, Message, without_old_images
from ..policy import ARGUMENT_CHARS, PRUNED_CHARS
from ..text.clip import clip
from ..tokens import Counter, message_tokens
from ..tool_groups import CallPosition, OpenCalls

NAME, WHAT, OUTCOME = 64, 100, 120  # characters of a tool's name or id, of arguments and of the outcome in a line
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"(\s*+:)?', re.DOTALL)
_DEPTH = 20  # of arguments that are looked into


@dataclass(frozen=True, slots=True)
class Shortened:
    """New values for a row's keys, how many outputs and calls in it got shorter, and the tokens it then has."""

    changes: dict[str, Any]
    outputs: int
    calls: int
    tokens: int


def shortened(rows: Sequence[Message], cut: int, count: Counter) -> dict[int, Shortened]:
    """The rows before `cut` in which something can be shortened, by position; handoffs are left alone."""
    results = _Results(rows)
    result = {}
    for at in range(cut):
        row = rows[at]
        if m.is_system(row) or is_handoff(row):
            continue
        changes, outputs, calls = _changes(at, row, results)
        if changes:
            result[at] = Shortened(changes, outputs, calls, message_tokens({**row, **changes}, count))
    return result


class _Results:
    """The call of each result, and for each text the position of the newest result with it."""

    def __init__(self, rows: Sequence[Message]) -> None:
        self.calls: dict[CallPosition, Call] = {}
        self.newest: dict[str, tuple[CallPosition, str]] = {}
        open_calls = OpenCalls()
        for at, row in enumerate(rows):
            open_calls.see(at, row)
            for position, (content, call) in enumerate(zip(_outputs(row), open_calls.answered, strict=True)):
                text = _text(content)
                if call:
                    self.calls[at, position] = call
                if len(text) > PRUNED_CHARS:
                    self.newest[text] = (at, position), call.ids[0] if call else ""

    def line(self, position: CallPosition, text: str) -> str:
        """The line that replaces the output at this position."""
        call = self.calls.get(position)
        newest, id_ = self.newest[text]
        if newest != position:
            came = f"the same output stands further down{f', of call {clip(id_, NAME)}' if id_ else ''}"
        else:
            came = outcome(unwrapped(text), OUTCOME)
        what = f"{clip(call.name, NAME) or 'a tool'}({clip(arguments_of(call.arguments), WHAT)})" if call else "a tool"
        lines = text.count("\n") + 1
        size = f"{lines:,} lines, " if lines > 1 else ""
        return f"{PRUNED} {what}: {came} [{size}{len(text):,} characters]"


def _outputs(row: Message) -> list[Any]:
    """The contents of the results in a row, in the order of `messages.answers`."""
    if m.role(row) in m.RESULT_ROLES:
        return [m.body(row)]
    return [block.get("content") for block in _result_blocks(row)]


def _result_blocks(row: Message) -> list[dict[str, Any]]:
    content = row.get("content")
    return [b for b in content if _is(b, "tool_result")] if m.answers(row) and isinstance(content, list) else []


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind


def _changes(at: int, row: Message, results: _Results) -> tuple[dict[str, Any], int, int]:
    changes: dict[str, Any] = {}
    outputs = calls = 0
    if m.is_call_item(row):
        shorter = _entry(row) or row
        changes = {key: value for key, value in shorter.items() if value is not row[key]}
        return changes, 0, int(bool(changes))
    if m.role(row) in m.RESULT_ROLES:
        content = _output(m.body(row), (at, 0), results)
        outputs = int(content is not None)
    else:
        content, outputs, calls = _blocks(at, row, results)
        entries, cut = _entries(row.get("tool_calls"))
        calls += cut
        if cut:
            changes["tool_calls"] = entries
    if content is not None:
        changes[m.body_key(row)] = content
    return changes, outputs, calls


def _blocks(at: int, row: Message, results: _Results) -> tuple[list[Any] | None, int, int]:
    """The content with shorter results and calls (Anthropic's shapes), or None, and how many of each were shortened."""
    content = row.get("content")
    if not isinstance(content, list):
        return None, 0, 0
    answering = bool(m.answers(row))
    new_blocks, outputs, calls, position = [], 0, 0, -1
    for block in content:
        if answering and _is(block, "tool_result"):
            position += 1
            output = _output(block.get("content"), (at, position), results)
            if output is not None:
                block, outputs = {**block, "content": output}, outputs + 1
        elif _is(block, "tool_use"):
            input_ = _cut(block.get("input"))
            if input_ is not None:
                block, calls = {**block, "input": input_}, calls + 1
        new_blocks.append(block)
    return (new_blocks, outputs, calls) if outputs or calls else (None, 0, 0)


# --- output ----------------------------------------------------------------------------------------------------------
def _text(content: Any) -> str:
    """The text of a result without image stubs; "" if it was shortened before."""
    if isinstance(content, str):
        pieces = [content]
    else:
        pieces = [text for text in map(block_text, m.blocks(content)) if text != MEDIA_STUB]
    return "" if any(piece.startswith(PRUNED) for piece in pieces) else "\n".join(filter(None, pieces))


def _output(content: Any, position: CallPosition, results: _Results) -> Any | None:
    """The content of a result made shorter, in its own shape; None if that is not possible."""
    if not isinstance(content, (str, list, dict)):
        return None
    text = _text(content)
    line = results.line(position, text) if len(text) > PRUNED_CHARS else ""
    shorter = 0 < len(line) < len(text)
    if isinstance(content, str):
        return line if shorter else None
    pictures = m.image_count(content) > 0
    if not (shorter or pictures):
        return None
    new_content = without_old_images(content) if pictures else content
    return _with_line(new_content, line) if shorter else new_content


def _with_line(content: Any, line: str) -> Any:
    """The content with its first text replaced by the line and the other texts left out."""
    if isinstance(content, dict):
        return {**content, "text": line}
    blocks: list[Any] = []
    inserted = False
    for block in content:
        text = block_text(block)
        if not text or text == MEDIA_STUB:
            blocks.append(block)
        elif not inserted:
            blocks.append(line if isinstance(block, str) else {**block, "text": line})
            inserted = True
    return blocks


# --- arguments -------------------------------------------------------------------------------------------------------
def _entries(value: Any) -> tuple[Any, int]:
    """`tool_calls` (a list, or JSON text) with long arguments cut, and the number of cut calls."""
    entries = parsed(value) if isinstance(value, str) else value
    if not isinstance(entries, list):
        return value, 0
    shorter = [_entry(entry) if isinstance(entry, dict) else None for entry in entries]
    cut = sum(each is not None for each in shorter)
    new = [entry if each is None else each for entry, each in zip(entries, shorter, strict=True)]
    return (m.as_json(new) if isinstance(value, str) else new), cut


def _entry(entry: dict[str, Any]) -> dict[str, Any] | None:
    inner = entry.get("function")
    if isinstance(inner, dict):
        shorter = _entry({key: each for key, each in inner.items() if key != "function"})
        return None if shorter is None else {**entry, "function": {**inner, **shorter}}
    key = "arguments" if "arguments" in entry else "input"
    arguments = _cut(entry.get(key))
    return None if arguments is None else {**entry, key: arguments}


def _cut(arguments: Any) -> Any | None:
    """Arguments with their long strings cut, in their own container; None if nothing is long, or if
    they are not JSON.
    """
    if not isinstance(arguments, str):
        shorter = _cut_value(arguments, _DEPTH) if isinstance(arguments, (dict, list)) else arguments
        return None if shorter == arguments else shorter
    if len(arguments) <= PRUNED_CHARS or not isinstance(parsed(arguments), (dict, list)):
        return None
    shorter = _STRING.sub(_cut_literal, arguments)
    return shorter if len(shorter) < len(arguments) else None


def _cut_value(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _cut_text(value)
    if depth and isinstance(value, list):
        return [_cut_value(each, depth - 1) for each in value]
    if depth and isinstance(value, dict):
        return {key: _cut_value(each, depth - 1) for key, each in value.items()}
    return value


def _cut_literal(match: re.Match[str]) -> str:
    """A string inside JSON text, cut if it is a long value; all other bytes of the JSON are unchanged."""
    literal = match[0]
    if match[1] is not None or len(literal) <= PRUNED_CHARS:
        return literal
    text = json.loads(literal)
    shorter = _cut_text(text)
    return literal if shorter == text else json.dumps(shorter, ensure_ascii=literal.isascii())


def _cut_text(text: str) -> str:
    if len(text) <= PRUNED_CHARS:
        return text
    left_out = len(text) - ARGUMENT_CHARS
    return f"{text[:ARGUMENT_CHARS]} {CUT_SHORT.format(left_out)}"
