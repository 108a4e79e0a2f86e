"""Changes of files as the lines of a diff: unified diffs, patch envelopes, old and new strings of edit tools."""

from __future__ import annotations

import difflib
import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.utils.safestring import SafeString, mark_safe

from . import highlight
from .paths import near
from .texts import clean

LIMIT = 6_000  # characters of one text that are compared or laid out; the rest is one click away
SUMMARY_LIMIT, SUMMARY_LINES = 100_000, 1_500  # the same of two summaries
LINES = 400  # of one side, compared by difflib, whose time grows with the product
ENVELOPE = "*** Begin Patch"  # of Codex' and Hermes' patch tools
COUNTED = 200_000  # characters of a diff whose lines are counted
SIDES = 60  # sides of hunks that are coloured in one diff
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)
_NUMBERS = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")
_OF_ENVELOPE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_SIDES = (
    ("old_string", "new_string"), ("old_str", "new_str"), ("old_text", "new_text"), ("oldText", "newText"),
    ("oldString", "newString"),
)  # fmt: skip


class FileLines(NamedTuple):
    """A file that a change touches, and how many lines it adds and removes; None for unknown."""

    name: str
    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True)
class Change:
    """A change as a diff's text, cut at `LIMIT`. `files` that it touches, `added` and `removed` lines in all of it.

    The counts are None if the text was too long to count or compare completely.
    """

    text: str
    files: tuple[FileLines, ...]
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
    if len(text) > COUNTED:
        names = dict.fromkeys(row.file for row in rows_of(text[:COUNTED]) if row.file)
        return Change(text, tuple(FileLines(name, None, None) for name in names), None, None, len(text))
    added: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    for row in rows_of(text):
        added[row.file] += row.kind == "add"
        removed[row.file] += row.kind == "del"
    files = tuple(FileLines(name, added[name], removed[name]) for name in added if name)
    return Change(text, files, added.total(), removed.total(), len(text))


def whole_file(arguments: dict[str, Any]) -> Change | None:
    """A file that is written anew: all its lines are added. How many others were there before is not known."""
    name, content = file_of(arguments), arguments.get("content", arguments.get("file_text"))
    if not name or not isinstance(content, str):
        return None
    rows = content.removesuffix("\n").split("\n") if content else []
    text = "\n".join([f"@@ -0,0 +1,{len(rows)} @@", *(f"+{row}" for row in rows)]) if rows else ""
    return Change(text, (FileLines(name, len(rows), 0),), len(rows), 0, len(content))


def as_noted(noted: str, name: str) -> Change:
    """A change as the agent noted it; a single file keeps the `name` that the call has for it, if any."""
    change = written(noted)
    if not name or len(change.files) > 1:
        return change
    return replace(change, files=(FileLines(name, change.added, change.removed),))


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
    added, removed = (kinds.count("add"), kinds.count("del")) if whole else (None, None)
    return Change("\n".join(rows), (FileLines(name, added, removed),) if name else (), added, removed, length)


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
    for name in ("file_path", "filePath", "path", "filename", "notebook_path", "file"):
        if isinstance(arguments.get(name), str):
            return str(arguments[name])
    return ""


# -- lines -----------------------------------------------------------------------------------------------------------


class DiffRow(NamedTuple):
    """A line of a diff as it is shown: "add", "del", "hunk", "file" or ""; its number in the file, of a removed line
    that in the old one, None if the diff does not have it; and the file that it is in, "" for unknown.
    """

    kind: str
    text: str
    number: int | None
    file: str


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


def rows_of(text: str) -> Iterator[DiffRow]:
    """The lines of a diff or an envelope: each file is named once, and a hunk's numbers are those of its lines."""
    rows = text.rstrip("\n").split("\n") if text else []
    kinds = kinds_of(rows)
    file, is_first, old, new = "", True, None, None
    for at, (row, kind) in enumerate(zip(rows, kinds, strict=True)):
        if kind == "file":
            name, shown = _heading(rows, kinds, at)
            file, is_first, old, new = name or file, True, None, None
            if shown:
                yield DiffRow(kind, shown, None, file)
        elif kind == "hunk":
            numbers = _NUMBERS.match(row)
            old, new = (int(numbers[1]), int(numbers[2])) if numbers else (None, None)
            section = row[numbers.end() if numbers else len(row) - len(row.lstrip("@")) :].strip()
            if section or not is_first:
                yield DiffRow(kind, f"⋯ {section}".rstrip(), None, file)
            is_first = False
        else:
            is_line = not row.startswith("\\")  # "\\ No newline at end of file"
            yield DiffRow(kind, row, (old if kind == "del" else new) if is_line else None, file)
            old = old + 1 if old is not None and is_line and kind != "add" else old
            new = new + 1 if new is not None and is_line and kind != "del" else new


def _heading(rows: Sequence[str], kinds: Sequence[str], at: int) -> tuple[str, str]:
    """The file that a heading's line names, and what is shown of the line; "" if another line says it."""
    row = rows[at]
    if row.startswith(("diff ", "index ")):
        after = range(at + 1, min(at + 6, len(rows)))
        return "", "" if any(kinds[each] == "file" and rows[each].startswith("--- ") for each in after) else row
    if row.startswith("--- "):
        old, new = (_path(each) for each in rows[at : at + 2])
        if "/dev/null" in (old, new):
            name, what = (old, "deleted") if new == "/dev/null" else (new, "new")
            return name, f"{name} ({what})"
        return new, new if old == new else f"{old} → {new}"
    if row.startswith(("+++ ", _MOVED)) or row.rstrip() in _ENVELOPE_ENDS:
        return "", ""
    named = _OF_ENVELOPE.match(row)
    if named is None:
        return "", row
    name, done = named[2].strip(), _DONE.get(named[1])
    for moved in rows[at + 1 : at + 2]:
        if moved.startswith(_MOVED):
            new = moved.removeprefix(_MOVED).strip()
            return new, f"{name} → {new}"
    return name, f"{name} ({done})" if done else name


_ENVELOPE_ENDS = (ENVELOPE, "*** End Patch", "*** End of File")
_DONE = {"Add": "new", "Delete": "deleted"}
_MOVED = "*** Move to: "  # after the heading of the file


def _path(row: str) -> str:
    """The path in a "---" or "+++" line, without the letter that git puts before it."""
    path = row[4:].partition("\t")[0].strip()
    return path[2:] if path.startswith(("a/", "b/")) else path


# -- HTML ------------------------------------------------------------------------------------------------------------


def as_html(
    text: str, *, cwd: str = "", is_named: bool = True, language: str = "", colours: bool = False
) -> SafeString:
    """The lines of a diff, escaped, each in a span of its kind with its number.

    Files are named relative to `cwd`; unless `is_named`, only those that are new, deleted or moved, or that no line
    follows. With `colours`, code is coloured: that of a file without a name in the `language`.
    """
    rows = list(rows_of(clean(text)))
    if not is_named:
        rows = [row for row in rows if row.kind != "file" or row.text != row.file] or rows
    shown = [html.escape(_near(row.text, cwd) if row.kind == "file" else row.text, quote=False) for row in rows]
    if colours:
        _colour(rows, shown, language)
    return mark_safe("".join(map(_row, rows, shown)))  # noqa: S308  every row is escaped


def _near(heading: str, cwd: str) -> str:
    return " → ".join(near(name, cwd) for name in heading.split(" → "))


def _row(row: DiffRow, shown: str) -> str:
    kind = f' class="{row.kind}"' if row.kind else ""
    number = f' data-line="{row.number}"' if row.number else ""
    return f"<span{kind}{number}>{shown}\n</span>"


def _colour(rows: Sequence[DiffRow], shown: list[str], language: str) -> None:
    """Replace lines by the same in colours, hunk by hunk: first those of the old side, then those of the new one."""
    asked, start = 0, 0
    for stop in [*(at for at, row in enumerate(rows) if row.kind in ("hunk", "file")), len(rows)]:
        spoken = (highlight.language_of(rows[start].file) or language) if start < stop else ""
        for kind, other in (("del", "add"), ("add", "del")):
            side = [at for at in range(start, stop) if rows[at].kind != other]
            if not spoken or asked >= SIDES or all(rows[at].kind != kind for at in side):
                continue
            lines = highlight.coloured("\n".join(rows[at].text[1:] for at in side), spoken).split("\n")
            asked += 1
            if len(lines) - len(side) in (0, 1):  # each is HTML of its own; Pygments may end the last one, too
                for at, line in zip(side, lines, strict=False):
                    shown[at] = html.escape(rows[at].text[:1], quote=False) + line
        start = stop + 1
