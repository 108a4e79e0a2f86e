"""Lines made of what a transcript says: calls and their outcomes. Nothing is phrased anew."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from . import messages as m
from .redaction import CUT, redact
from .sentences import error_line
from .text.clip import clip
from .tool_results import EXIT_FIRST, is_failure, without_heading

NAME = 160  # characters of a tool's name or a role
_WRAPPED = 160  # characters in which an output that is wrapped in JSON says so
_PREFERRED = (
    *("command", "cmd", "path", "file_path", "filename", "url", "query", "pattern", "code"),
    *("name", "id", "action", "title"),
)


def outcome(text: str, most: int) -> str:
    """One line for what a tool gave back (`unwrapped`): the error it reports, behind the exit code that it begins with,
    or how it begins.
    """
    first = next((line for line in map(str.strip, text.splitlines()) if line), "blank" if text else "no output")
    said, ended = error_line(text) or first, EXIT_FIRST.match(text)
    if ended and is_failure(ended["code"].lstrip("0")) and ended[0].strip() not in said:
        said = f"{ended[0].strip()}: {said}"
    return clip(said, most)


def line_count(text: str) -> str:
    """As in " (12 lines)"; nothing for a single one, and "over" where the middle of the text was left out."""
    lines = sum(1 for line in text.splitlines() if line.strip())
    return f" ({'over ' * (CUT in text)}{lines:,} lines)" if lines > 1 else ""


def unwrapped(text: str) -> str:
    """The output inside the JSON object some tools wrap it in, or behind the heading that others put before it; behind
    the exit code if that is not 0.

    Redacted once more: JSON may have written a credential with escapes.
    """
    code, output = without_heading(text)
    if is_failure(code):
        return f"exit code {code}: {output}"
    if not text.startswith("{") or '"output"' not in text[:_WRAPPED]:
        return output
    value = parsed(text)
    said, number = (value.get("output"), value.get("exit_code")) if isinstance(value, dict) else (None, None)
    if not isinstance(said, str):
        return text
    return redact(f"exit code {number}: {said}" if isinstance(number, int) and number else said)


def arguments_of(arguments: str) -> str:
    """The arguments as `name=value` pairs, the telling ones first; the text itself if it is not a JSON object.

    Redacted once more: JSON may have written a credential with escapes.
    """
    value = parsed(arguments)
    if not isinstance(value, dict):
        return arguments
    names = sorted(value, key=lambda name: _PREFERRED.index(name) if name in _PREFERRED else len(_PREFERRED))
    return redact(", ".join(f"{n}={value[n] if isinstance(value[n], str) else m.as_json(value[n])}" for n in names))


def legible_name(name: str) -> str:
    """A tool's name or a role on one line, without secrets: both are the transcript's own text."""
    return name if name.isidentifier() else redact(clip(name, NAME))


def distinct(lines: Iterable[str]) -> Iterator[str]:
    """The lines without repetitions, compared regardless of case; each at its first place."""
    seen: set[str] = set()
    for line in lines:
        key = line.casefold()
        if key not in seen:
            seen.add(key)
            yield line


def parsed(text: str) -> Any:
    """The value of a JSON text; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
