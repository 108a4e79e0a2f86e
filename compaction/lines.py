"""Lines about calls and their outcomes, made from the words of a transcript. Nothing is rephrased."""

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
    *("command", "cmd", "path", "file_path", "filePath", "filename", "url", "query", "pattern", "code"),
    *("name", "id", "action", "title"),
)


def outcome(text: str, most: int) -> str:
    """One line for a tool's output (`unwrapped`): the error it reports, with the exit code at its start, or its first
    line.
    """
    first = next((line for line in map(str.strip, text.splitlines()) if line), "blank" if text else "no output")
    message, ended = error_line(text) or first, EXIT_FIRST.match(text)
    if ended and is_failure(ended["code"].lstrip("0")) and ended[0].strip() not in message:
        message = f"{ended[0].strip()}: {message}"
    return clip(message, most)


def line_count(text: str) -> str:
    """The number of lines, as in " (12 lines)"; "" for one line. It says "over" if the middle of
    the text was left out.
    """
    lines = sum(1 for line in text.splitlines() if line.strip())
    return f" ({'over ' * (CUT in text)}{lines:,} lines)" if lines > 1 else ""


def unwrapped(text: str) -> str:
    """The output inside the JSON object that some tools wrap it in, or after the heading that others put before it;
    preceded by the exit code if that is not 0.

    Redacted again: a credential may have been escaped in the JSON.
    """
    code, output = without_heading(text)
    if is_failure(code):
        return f"exit code {code}: {output}"
    if not text.startswith("{") or '"output"' not in text[:_WRAPPED]:
        return output
    value = parsed(text)
    inner, number = (value.get("output"), value.get("exit_code")) if isinstance(value, dict) else (None, None)
    if not isinstance(inner, str):
        return text
    return redact(f"exit code {number}: {inner}" if isinstance(number, int) and number else inner)


def arguments_of(arguments: str) -> str:
    """The arguments as `name=value` pairs, the most informative first; the text itself if it is not a JSON object.

    Redacted again: a credential may have been escaped in the JSON.
    """
    value = parsed(arguments)
    if not isinstance(value, dict):
        return arguments
    names = sorted(value, key=lambda name: _PREFERRED.index(name) if name in _PREFERRED else len(_PREFERRED))
    return redact(", ".join(f"{n}={value[n] if isinstance(value[n], str) else m.as_json(value[n])}" for n in names))


def legible_name(name: str) -> str:
    """A tool's name or a role on one line, without secrets: both come from the transcript."""
    return name if name.isidentifier() else redact(clip(name, NAME))


def distinct(lines: Iterable[str]) -> Iterator[str]:
    """The lines without repetitions, ignoring case; the first occurrence of each stays."""
    seen: set[str] = set()
    for line in lines:
        key = line.casefold()
        if key not in seen:
            seen.add(key)
            yield line


def parsed(text: str) -> Any:
    """The value of a JSON text; None if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
