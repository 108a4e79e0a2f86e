"""What went wrong in a call, told by its structure first: flags, exit codes, `"success": false`; then by its words.

A tool that shows text (a file, a diff, a log) shows words about errors too, so of such a call only its structure
counts, or a short answer that is a report.
"""

from __future__ import annotations

import re
from typing import Any

from .lines import parsed
from .sentences import error_line
from .tool_results import EXIT_FIRST, EXIT_LINE, EXIT_SENTENCE, HEAD, exit_code, is_failure, says_failure

_TRACED = 6_000  # characters of a traceback that are read, its end
_SHORT = 3  # lines of an answer that can be a report and not a text
_CODE_KEY = re.compile(r'"(?:exit_?code|returncode|exit_status)": ?"?(-?[1-9]\d{0,5})\b')
_FALSE_KEY = re.compile(r'"(?:success|ok)": ?false\b|"(?:is_?error)": ?true\b')
_TEXTS = ("error", "stderr", "output", "message", "stdout", "result", "content", "reason")
_RAISED = re.compile(r"^[A-Za-z_][\w.]{2,80}(?:: .*)?$", re.MULTILINE)  # where a traceback of Python says what it was
_TAGS = re.compile(r"</?tool_use_error>")


def trouble(text: str, flagged: bool = False, shows: bool = False) -> str:
    """One line on what went wrong, "" if nothing did.

    `flagged`: the message itself says that the call failed. `shows`: the call shows some text, words in which do not
    count.
    """
    text = _without_rulers(text)
    values = parsed(text) if text.lstrip()[:1] == "{" else None
    said = _of_values(values, shows) if isinstance(values, dict) else _of_text(text, shows)
    if said.endswith("Traceback (most recent call last):"):
        said = said.replace("Traceback (most recent call last):", _raised(text)).strip()
    if said or not flagged:
        return _TAGS.sub("", said)
    return _TAGS.sub("", _first(text)) or "failed"


def _without_rulers(text: str) -> str:
    """The text without headings as pytest draws them, "=== FAILURES ==="; one that counts something stays."""
    if "\n===" not in text and not text.startswith("==="):
        return text
    lines = text.splitlines()
    return "\n".join(line for line in lines if not _is_ruler(line.strip()))


def _is_ruler(line: str) -> bool:
    return line.startswith("===") and line.endswith("===") and not any(map(str.isdigit, line))


def _of_values(values: dict[str, Any], shows: bool) -> str:
    code = exit_code(values)
    words = next((v for key in _TEXTS if isinstance(v := values.get(key), str) and v.strip()), "")
    if is_failure(code):
        return f"exit {code}: {_telling(words)}".rstrip(": ")
    if says_failure(values):
        return _telling(words) or "no success"
    error = values.get("error")
    if isinstance(error, str) and error.strip():
        return _telling(error)
    return "" if shows or code is not None else error_line(words)


def _of_text(text: str, shows: bool) -> str:
    match = _exit(text[:HEAD]) or _exit(text[-HEAD:]) if "xit" in text or "xecut" in text else None
    if match and int(match["code"]) > 0:
        return f"exit {int(match['code'])}: {_telling(text[match.end() :] or text[: match.start()])}".rstrip(": ")
    if text.lstrip()[:1] == "{" and (code_key := _CODE_KEY.search(text)):  # JSON whose middle was left out
        return f"exit {code_key[1]}: {error_line(text)}".rstrip(": ")
    if text.lstrip()[:1] == "{" and _FALSE_KEY.search(text):
        return error_line(text) or "no success"
    if text.lstrip().startswith("<tool_use_error>"):
        return _first(text)
    if shows and text.strip().count("\n") >= _SHORT:
        return ""
    return error_line(text)


def _exit(text: str) -> re.Match[str] | None:
    return EXIT_FIRST.match(text) or EXIT_LINE.search(text) or EXIT_SENTENCE.search(text)


def _telling(text: str) -> str:
    """The line that says what went wrong: one with such words, or the last one of a program's output."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return error_line(text) or (lines[-1] if lines else "")


def _raised(text: str) -> str:
    """The line behind a traceback that names what was raised."""
    lines = _RAISED.findall(text[text.find("Traceback (most recent") :][-_TRACED:])
    return str(next((line for line in reversed(lines) if "Error" in line or "Exception" in line), "Traceback"))


def _first(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
