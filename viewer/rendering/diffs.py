"""Changes of files as the lines of a diff: unified diffs, patch envelopes, old and new strings of edit tools."""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from .texts import clean

LIMIT = 6_000  # characters of one text that are compared or laid out; the rest is one click away
SUMMARY_LIMIT, SUMMARY_LINES = 100_000, 1_500  # the same of two summaries
LINES = 400  # of one side, compared by difflib, whose time grows with the product
ENVELOPE = "*** Begin Patch"  # of Codex' and Hermes' patch tools
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)
_NAMED = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ b/|\+\+\+ (?!/dev/null))([^\t\n]+)", re.MULTILINE)
_DELETED = re.compile(r"^--- a/([^\t\n]+)\n\+\+\+ /dev/null", re.MULTILINE)
_SIDES = (
    ("old_string", "new_string"), ("old_str", "new_str"), ("old_text", "new_text"), ("oldText", "newText"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """A change as a diff's text, cut at `LIMIT`. `files` that it touches, `added` and `removed` lines in all of it.

    The counts are None if the text was too long to count or compare completely.
    """

    text: str
    files: tuple[str, ...]
    added: int | None
    removed: int | None
    length: int


def is_diff(text: str) -> bool:
    """Whether a text is a unified diff: it begins like one and has a hunk."""
    start = text[:400].lstrip()
    return start.startswith(("diff ", "--- ", "@@ -", "Index: ")) and bool(_HUNK.search(text[:20_000]))


def envelope(text: str) -> str:
    """The "*** Begin Patch" envelope in a text, such as a shell's here-document; "" if there is none."""
    at = text.find(ENVELOPE, 0, 2_000)
    if at < 0:
        return ""
    end = text.find("*** End Patch", at)
    return text[at : end + 13 if end > 0 else len(text)]


def change_of(arguments: Any) -> Change | None:
    """The change that a call's arguments request; None if it is not known."""
    if isinstance(arguments, str):
        diff = envelope(arguments) or (arguments if is_diff(arguments) else "")
        return written(diff) if diff else None
    if not isinstance(arguments, dict):
        return None
    for name in ("patch", "diff", "input", "command", "cmd"):
        value = arguments.get(name)
        text = "\n".join(map(str, value[:8])) if isinstance(value, list) else value
        if isinstance(text, str) and (diff := envelope(text) or (text if is_diff(text) else "")):
            return written(diff)
    return _replaced(arguments)


def written(text: str) -> Change:
    """A diff or an envelope unchanged, with its lines counted."""
    whole = len(text) <= 200_000
    kinds = kinds_of(text.split("\n")) if whole else []
    files = dict.fromkeys(name.strip() for name in _NAMED.findall(text[:200_000]) + _DELETED.findall(text[:200_000]))
    added, removed = (kinds.count("add"), kinds.count("del")) if whole else (None, None)
    return Change(text, tuple(files), added, removed, len(text))


def _replaced(arguments: dict[str, Any]) -> Change | None:
    """Edit (old and new string) and MultiEdit (a list of them)."""
    name = file_of(arguments)
    listed = arguments.get("edits")
    edits = [edit for edit in listed[:50] if isinstance(edit, dict)] if isinstance(listed, list) else [arguments]
    pairs = [pair for pair in map(_sides, edits) if pair is not None]
    if not pairs:
        return None
    length = sum(len(old) + len(new) for old, new in pairs)
    whole = all(len(side) <= LIMIT and side.count("\n") < LINES for pair in pairs for side in pair)
    whole = whole and (not isinstance(listed, list) or len(listed) <= 50)
    rows = [row for old, new in pairs for row in _compared(old, new)]
    kinds = kinds_of(rows)
    heading = [f"--- {name}", f"+++ {name}"] if name else []
    added, removed = (kinds.count("add"), kinds.count("del")) if whole else (None, None)
    return Change("\n".join([*heading, *rows]), (name,) if name else (), added, removed, length)


def between(old: str, new: str, *, limit: int = SUMMARY_LIMIT, lines: int = SUMMARY_LINES) -> Change:
    """The differences between two texts, as lines of a diff; of texts longer than the limits only their starts are
    compared.
    """
    rows = list(_compared(old, new, limit, lines))
    kinds = kinds_of(rows)
    whole = all(len(side) <= limit and side.count("\n") < lines for side in (old, new))
    added, removed = (kinds.count("add"), kinds.count("del")) if whole else (None, None)
    return Change("\n".join(rows), (), added, removed, len(old) + len(new))


def _sides(edit: dict[str, Any]) -> tuple[str, str] | None:
    for old, new in _SIDES:
        if isinstance(edit.get(old), str) and isinstance(edit.get(new), str):
            return edit[old], edit[new]
    return None


def _compared(old: str, new: str, limit: int = LIMIT, lines: int = LINES) -> Iterable[str]:
    """The lines of a diff without its heading and line numbers; an edit names its place by text, not by numbers."""
    before, after = (side[:limit].splitlines()[:lines] for side in (old, new))
    for row in list(difflib.unified_diff(before, after, lineterm=""))[2:]:
        yield "@@" if row.startswith("@@") else row


def file_of(arguments: dict[str, Any]) -> str:
    """The file that a call's arguments name, "" if none."""
    for name in ("file_path", "path", "filename", "notebook_path", "file"):
        if isinstance(arguments.get(name), str):
            return str(arguments[name])
    return ""


# -- HTML ------------------------------------------------------------------------------------------------------------


def kinds_of(rows: Sequence[str]) -> list[str]:
    """ "add", "del", "hunk", "file" or "" for each line of a diff or an envelope."""
    kinds = [_KINDS.get(row[:1], "") for row in rows]
    for at, row in enumerate(rows):
        if row.startswith(("diff ", "index ", "*** ")):
            kinds[at] = "file"
        # A heading comes before a hunk; elsewhere such lines are changed lines that begin with dashes and pluses.
        elif row.startswith("--- ") and [each[:2] for each in rows[at + 1 : at + 3]] == ["++", "@@"]:
            kinds[at] = kinds[at + 1] = "file"
    return kinds


_KINDS = {"+": "add", "-": "del", "@": "hunk"}


def as_html(text: str) -> SafeString:
    """The lines of a diff, escaped, each in a span of its kind."""
    rows = clean(text).rstrip("\n").split("\n")
    return mark_safe("".join(map(_row, rows, kinds_of(rows))))  # noqa: S308  every row is escaped


def _row(row: str, kind: str) -> str:
    shown = html.escape(row, quote=False)
    return f'<span class="{kind}">{shown}\n</span>' if kind else f"{shown}\n"
