"""The context file that an agent reads in its workspace, found as the agent finds it and read only if that is safe.

Other people may write to a workspace, so it may contain a link out of it, a pipe that never ends, a disk image, a page
from the web. So the file is checked before it is opened, opened through directories that cannot be replaced by links
meanwhile, checked again, and read once up to a limit. Which file it is follows `prompt_builder.py` of Hermes 0.19,
whose `.hermes.md` may also be above the workspace, up to the root of its git repository.
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
CONTEXT_FILES = (".hermes.md", "HERMES.md", "AGENTS.md", "CLAUDE.md")  # in the order in which Hermes reads them
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
    """Why nothing is read, as a sentence for people. `advice` is what to do about it on the settings page, as the
    beginning of a sentence; "" if that page cannot help.
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
    """The context file of this workspace; None if all names are missing or empty.

    `workspace` and `roots`, the directories below which may be read, are real paths. `databases` are the files of
    stores, never opened here: closing an ordinary handle on one would drop its locks. The first name that exists
    counts: raises NotRead if it cannot be read, and no other name is tried.
    """
    for places in _places(workspace, roots):
        context_file = _first_of(places, databases)
        if context_file and context_file.text.strip():  # the agent passes over an empty one too
            return context_file
    return None


def is_inside(path: str, directory: str) -> bool:
    """Whether a path is this directory or below it, comparing only the text."""
    return PurePath(path).is_relative_to(directory)


# -- where it may be ---------------------------------------------------------------------------------------------------


def _places(workspace: str, roots: Sequence[str]) -> Iterator[Sequence[tuple[str, str]]]:
    """Lists of directory and name, in the order in which the agent looks; in each list the first that
    exists is used.
    """
    upward = [path for path in _up_to_git_root(workspace) if any(is_inside(path, root) for root in roots)]
    yield [(path, name) for path in upward for name in WALKED]
    for name in OWN:
        yield [(workspace, name)]
        yield [(workspace, name.lower())]


def _up_to_git_root(workspace: str) -> list[str]:
    """The workspace and its parents up to its git repository's root; outside of a repository only the workspace."""
    upward = [workspace, *map(str, Path(workspace).parents)]
    roots = (at for at, path in enumerate(upward) if os.path.exists(os.path.join(path, ".git")))
    return upward[: next(roots, 0) + 1]


def _first_of(places: Iterable[tuple[str, str]], databases: Sequence[os.stat_result]) -> ContextFile | None:
    for directory, name in places:
        try:
            with _opened(directory) as opened:
                if (status := _looked_at(opened, name)) is not None:
                    return ContextFile(directory, name, _text(_content(opened, name, status, databases)))
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
    """A handle on the directory, opened name by name from the root: a link that replaced one of them is not followed.

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
    """Why a file is unsuitable, as the rest of a sentence that begins with its name."""


def _looked_at(opened: int, name: str) -> os.stat_result | None:
    """The status of this name in a directory, links not followed; None if there is no such name."""
    try:
        return os.stat(name, dir_fd=opened, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _content(opened: int, name: str, status: os.stat_result, databases: Sequence[os.stat_result]) -> bytes:
    """The content of the file. Raises _Unfit or OSError."""
    _check(status, databases)
    handle = os.open(name, _FILE, dir_fd=opened)
    try:
        now = os.fstat(handle)
        if not os.path.samestat(now, status):
            raise _Unfit("was exchanged for another file while it was looked at")
        _check(now, databases)
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(LARGEST + 1)
    finally:
        os.close(handle)
    if len(content) > LARGEST:
        raise _Unfit(f"grew beyond {LARGEST:,} bytes while it was read")
    return content


def _check(status: os.stat_result, databases: Sequence[os.stat_result]) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no file")
        raise _Unfit(f"is {kind}; rules are read only from a regular file of the workspace")
    if any(os.path.samestat(status, database) for database in databases):
        raise _Unfit("is the database of a store; rules are read only from a text file")
    if status.st_nlink != 1:
        raise _Unfit(
            "has a second name elsewhere (a hard link); rules are read only from a file of the workspace alone"
        )
    if status.st_size > LARGEST:
        raise _Unfit(f"has {status.st_size:,} bytes; at most {LARGEST:,} are read")


def _text(content: bytes) -> str:
    """The content as text. Raises _Unfit if it is not text, or of another kind."""
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
