"""The context file an agent reads in its workspace, found as the agent finds it and taken only if that is safe.

A workspace belongs to whoever works there, and so may what lies in it: a link out of it, a pipe that never ends, a disk
image, a page from the web. So the file is looked at before it is opened, opened through directories that cannot be
exchanged for links meanwhile, looked at again, and read once up to a limit. Which file it is: `prompt_builder.py` of
Hermes 0.19, whose `.hermes.md` may also stand above the workspace, up to the root of its git repository.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath

from viewer.stores import clean_text

from .sections import hidden_in, lines_of

LARGEST = 1_000_000  # bytes of a file that is read
SHOWN = 300  # characters of a path in a sentence
CONTEXT_FILES = (".hermes.md", "HERMES.md", "AGENTS.md", "CLAUDE.md")  # as Hermes reads them, first found first
WALKED, OWN = CONTEXT_FILES[:2], CONTEXT_FILES[2:]
# O_PATH needs no right to list a directory, only to pass through it; where it is missing, reading must be allowed.
_DIRECTORY = os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_RDONLY)
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_SCRIPT = re.compile(r"<script\b", re.IGNORECASE)


class NotRead(Exception):
    """Why nothing is read, as a sentence for people; `advice` is what to do about it on the settings page, if that is
    the place, the beginning of a sentence.
    """

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason)
        self.advice = advice


@dataclass(frozen=True, slots=True)
class ContextFile:
    """The text of the file `name` of `directory`, a real path."""

    directory: str
    name: str
    text: str


def read_context_file(
    workspace: str, roots: Sequence[str], databases: Sequence[os.stat_result] = ()
) -> ContextFile | None:
    """The context file of this workspace; None if each is missing or empty.

    `workspace` and `roots`, the directories below which may be read, are real paths. `databases` are the files of
    stores, never opened here: closing an ordinary handle on one would drop its locks. The first name that exists
    counts: raises Refused where it cannot be taken, and no other name is tried.
    """
    for places in _places(workspace, roots):
        context_file = _first_of(places, databases)
        if context_file and context_file.text.strip():  # the agent passes over an empty one too
            return context_file
    return None


def is_inside(path: str, directory: str) -> bool:
    """Whether a path is this directory or below it, by their words alone."""
    return PurePath(path).is_relative_to(directory)


# -- where it may stand ------------------------------------------------------------------------------------------------


def _places(workspace: str, roots: Sequence[str]) -> Iterator[Sequence[tuple[str, str]]]:
    """Directory and name, in the order in which the agent looks; of each list the first that exists is its choice."""
    upward = [path for path in _up_to_git_root(workspace) if any(is_inside(path, root) for root in roots)]
    yield [(path, name) for path in upward for name in WALKED]
    for name in OWN:
        yield [(workspace, name)]
        yield [(workspace, name.lower())]


def _up_to_git_root(workspace: str) -> list[str]:
    """The workspace and what is above it up to its git repository's root; outside of a repository it alone."""
    upward = [workspace, *map(str, Path(workspace).parents)]
    roots = (at for at, path in enumerate(upward) if os.path.exists(os.path.join(path, ".git")))
    return upward[: next(roots, 0) + 1]


def _first_of(places: Iterable[tuple[str, str]], databases: Sequence[os.stat_result]) -> ContextFile | None:
    for directory, name in places:
        try:
            with _opened(directory) as opened:
                if (seen := _looked_at(opened, name)) is not None:
                    return ContextFile(directory, name, _text(_content(opened, name, seen, databases)))
        except OSError as problem:
            reason = (problem.strerror or "unknown error").lower()
            raise NotRead(f"{_named(directory, name)} cannot be read: {reason}.") from None
        except _Unfit as problem:
            raise NotRead(f"{_named(directory, name)} {problem}.") from None
    return None


def _named(directory: str, name: str) -> str:
    return f"{name} in {clean_text.line(directory, SHOWN)}"


@contextmanager
def _opened(directory: str) -> Iterator[int]:
    """A handle on the directory, name by name from the root: a link that took the place of one of them is not followed.

    Raises OSError.
    """
    handle = os.open("/", _DIRECTORY)
    try:
        for name in PurePath(directory).parts[1:]:
            inner = os.open(name, _DIRECTORY, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


# -- what may be read --------------------------------------------------------------------------------------------------


class _Unfit(Exception):
    """What is wrong with a file, as the rest of a sentence that begins with its name."""


def _looked_at(opened: int, name: str) -> os.stat_result | None:
    """What this name of a directory is, links as links; None where there is no such name."""
    try:
        return os.stat(name, dir_fd=opened, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _content(opened: int, name: str, seen: os.stat_result, databases: Sequence[os.stat_result]) -> bytes:
    """What the file holds. Raises _Unfit or OSError."""
    _check(seen, databases)
    handle = os.open(name, _FILE, dir_fd=opened)
    try:
        now = os.fstat(handle)
        if not os.path.samestat(now, seen):
            raise _Unfit("was exchanged for another file while it was looked at")
        _check(now, databases)
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(LARGEST + 1)
    finally:
        os.close(handle)
    if len(content) > LARGEST:
        raise _Unfit(f"grew beyond {LARGEST:,} bytes while it was read")
    return content


def _check(found: os.stat_result, databases: Sequence[os.stat_result]) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no file")
        raise _Unfit(f"is {kind}; rules are read only from a regular file of the workspace")
    if any(os.path.samestat(found, database) for database in databases):
        raise _Unfit("is the database of a store; rules are read only from a text file")
    if found.st_nlink != 1:
        raise _Unfit(
            "has a second name elsewhere (a hard link); rules are read only from a file of the workspace alone"
        )
    if found.st_size > LARGEST:
        raise _Unfit(f"has {found.st_size:,} bytes; at most {LARGEST:,} are read")


def _text(content: bytes) -> str:
    """Raises _Unfit for what is no text, or text of another kind."""
    if b"\0" in content:
        raise _Unfit("is no text: it holds NUL bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _Unfit("is no text in UTF-8") from None
    lines = lines_of(text)
    outside = (line for line, hidden in zip(lines, hidden_in(lines), strict=True) if hidden != "code")
    if any(_SCRIPT.search(_without_code_spans(line)) for line in outside if _SCRIPT.search(line)):
        raise _Unfit("looks like a web page: it has a <script> tag outside of code")
    return text


def _without_code_spans(line: str) -> str:
    """The line without `code`: text between two runs of as many backticks (CommonMark 6.1)."""
    parts = re.split("(`+)", line)
    last = {run: at for at, run in enumerate(parts) if at % 2}
    kept, at = [], 0
    while at < len(parts):
        if at % 2 and last[parts[at]] > at:
            at = parts.index(parts[at], at + 1)
        else:
            kept.append(parts[at])
        at += 1
    return "".join(kept)
