"""Which calls failed, and one line about what went wrong.

Theory: the structure of a result shows a failure: a flag, an exit code, `"success": false`, a text that begins
"Error:". Words about errors count only in a shell's output, and only if the results of that tool have no structure at
all: a file, a diff, a log or a report may have such words legitimately.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..details.names import without_noise
from ..lines import parsed
from ..redaction import redact
from ..sentences import error_line
from ..text.clip import clip
from ..tool_results import EXIT_FIRST, EXIT_LINE, EXIT_SENTENCE, HEAD, exit_code, is_failure, says_failure
from .tool_calls import ToolCall

_TRACED = 6_000  # characters of a traceback that are read, its end
_LONGEST = 600  # characters of the line
_CODE_KEY = re.compile(r'"(?:exit_?code|returncode|exit_status)": ?"?(-?\d{1,6})\b')
_FALSE_KEY = re.compile(r'"(?:success|ok)": ?false\b|"(?:is_?error)": ?true\b')
_TEXTS = ("error", "stderr", "output", "message", "stdout", "result", "content", "reason")
_RAISED = re.compile(r"^[A-Za-z_][\w.]{2,80}(?:: .*)?$", re.MULTILINE)  # where a traceback of Python says what it was
_TAGS = re.compile(r"</?tool_use_error>")
_REPORT = re.compile(
    r"(?i)\s*(?:tool )?(?:error|\w{1,40}(?:error|exception))(?: (?:code )?\d{1,9})?: ?\S"
)  # "Error: no such flight", "Error 404: ..."; "Error handling: done" is prose
_LONGEST_REPORT = 1_000  # characters of an answer that is nothing but such a report


def judge(calls: Sequence[ToolCall]) -> None:
    """Set `failure` on each call."""
    structured = {each.call.name for each in calls if each.flagged or _has_structure(each.outcome or "")}
    for each in calls:
        words = each.kind == "run" and not each.filters and each.call.name not in structured
        each.failure = failure(each.outcome or "", each.flagged, words, report=each.kind != "read")


def failure(text: str, flagged: bool = False, words: bool = False, report: bool = True) -> str:
    """One line about what went wrong, "" if nothing did.

    `flagged`: the message itself says that the call failed. `words`: words about errors in the text count. `report`: a
    short text that begins "Error:" counts.
    """
    text = _without_rulers(text)
    values = parsed(text) if text.lstrip()[:1] == "{" else None
    message = _of_values(values, words) if isinstance(values, dict) else _of_text(text, words, report)
    if message.endswith("Traceback (most recent call last):"):
        message = message.replace("Traceback (most recent call last):", _raised(text)).strip()
    if flagged and not message:
        message = error_line(text) or _first(text) or "failed"
    return clip(redact(_TAGS.sub("", without_noise(message) or message)), _LONGEST)


def _has_structure(text: str) -> bool:
    """Whether a result states how its call ended, successfully or not."""
    if text.lstrip()[:1] == "{":
        return bool(_CODE_KEY.search(text))
    return bool(_exit(text))


def _without_rulers(text: str) -> str:
    """The text without headings in pytest's form, "=== FAILURES ==="; a heading that counts something stays."""
    if "\n===" not in text and not text.startswith("==="):
        return text
    lines = text.splitlines()
    return "\n".join(line for line in lines if not _is_ruler(line.strip()))


def _is_ruler(line: str) -> bool:
    return line.startswith("===") and line.endswith("===") and not any(map(str.isdigit, line))


def _of_values(values: dict[str, Any], words: bool) -> str:
    code = exit_code(values)
    message = next((v for key in _TEXTS if isinstance(v := values.get(key), str) and v.strip()), "")
    if is_failure(code):
        return f"exit {code}: {_telling(message)}".rstrip(": ")
    if says_failure(values):
        return _telling(message) or "no success"
    error = values.get("error")
    if isinstance(error, str) and error.strip() and code is None:
        return _telling(error)
    return error_line(message) if words and code is None else ""


def _of_text(text: str, words: bool, report: bool) -> str:
    match = _exit(text)
    if match and int(match["code"]):
        return f"exit {int(match['code'])}: {_telling(text[match.end() :] or text[: match.start()])}".rstrip(": ")
    if text.lstrip()[:1] == "{":  # JSON whose middle was left out
        code = _CODE_KEY.search(text)
        if code and int(code[1]):
            return f"exit {code[1]}: {error_line(text)}".rstrip(": ")
        return error_line(text) or "no success" if _FALSE_KEY.search(text) else ""
    if text.lstrip().startswith("<tool_use_error>"):
        return _first(text)
    if report and len(text) <= _LONGEST_REPORT and _REPORT.match(text):
        return _first(text)
    return error_line(text) if words and not match else ""


def _exit(text: str) -> re.Match[str] | None:
    """The match that holds a program's exit code."""
    if "xit" not in text and "xecut" not in text:
        return None
    ends = (text,) if len(text) <= HEAD else (text[:HEAD], text[-HEAD:])
    for end in ends:
        if match := EXIT_FIRST.match(end) or EXIT_LINE.search(end) or EXIT_SENTENCE.search(end):
            return match
    return None


def _telling(text: str) -> str:
    """The line that says what went wrong: the first with an error sign, or the last line of the output."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return error_line(text) or (lines[-1] if lines else "")


def _raised(text: str) -> str:
    """The line after a traceback that names the exception."""
    lines = _RAISED.findall(text[text.find("Traceback (most recent") :][-_TRACED:])
    return str(next((line for line in reversed(lines) if "Error" in line or "Exception" in line), "Traceback"))


def _first(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
