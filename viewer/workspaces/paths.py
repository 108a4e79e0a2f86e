"""Paths as text: different spellings of one file on any platform become the same path. Nothing here reads a disk."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote

_DRIVE = re.compile(r"[A-Za-z]:")
_LONG = re.compile(r"//[?.]/(UNC/)?(?![?.]/)", re.IGNORECASE)  # \\?\C:\a and \\?\UNC\server\share, as Windows allows
_MOUNTED = re.compile(r"/(?:mnt/|cygdrive/)?([A-Za-z])(?=/|$)")  # C: in Git Bash, under WSL and in Cygwin
_URL = re.compile(r"file:(?://(?:localhost)?(?=/))?(?:/(?=[A-Za-z]:))?", re.IGNORECASE)


def normal(path: str, workspace: str, home: str = "") -> str:
    """The absolute path, with "/" only, without "." and "..", a drive letter in lower case; "" if it is not a path.

    A relative path belongs to the workspace. Accepted are `file:` URLs, "~" (unchanged if `home` is unknown), both
    kinds of slashes and network shares; in a workspace on a drive also "/c/a" and "/mnt/c/a".
    """
    path = _slashed(path)
    if not path:
        return ""
    base = normal(workspace, "", home) if workspace else ""
    if home and (path == "~" or path.startswith("~/")):
        path = f"{_slashed(home)}/{path[2:]}"
    if is_absolute(path):
        return _folded(_on_drive(path, base))
    return _folded(f"{base.rstrip('/')}/{path}" if base else path)


def is_absolute(path: str) -> bool:
    """Whether a path is complete without a directory: "/a", "C:\\a", "\\\\server\\share", "~/a", a `file:` URL."""
    path = path.replace("\\", "/")
    return path.startswith(("/", "~/")) or path == "~" or bool(_DRIVE.match(path) or _URL.match(path))


def same(a: str, b: str) -> bool:
    """Whether two normal paths are the same file; on Windows (a drive letter, a network share) in any case."""
    return _compared(a) == _compared(b) != ""


def inside(path: str, workspace: str) -> bool:
    """Whether a normal path is the workspace, also a normal path, or below it."""
    path, workspace = _compared(path), _compared(workspace)
    return path == workspace != "" or bool(workspace) and path.startswith(workspace.rstrip("/") + "/")


def _compared(path: str) -> str:
    path = unicodedata.normalize("NFC", path)  # macOS takes letters and their accents apart
    return path.casefold() if path.startswith("//") or _DRIVE.match(path) else path


def _slashed(path: str) -> str:
    path = path.strip()
    if _URL.match(path):
        path = unquote(_URL.sub("", path, count=1))
    path = path.replace("\\", "/")
    return _LONG.sub(lambda match: "//" if match[1] else "", path, count=1)


def _on_drive(path: str, base: str) -> str:
    """A path without a drive, on the drive of the workspace."""
    if not _DRIVE.match(base) or not path.startswith("/") or path.startswith("//"):
        return path
    mounted = _MOUNTED.match(path)
    return f"{mounted[1]}:{path[mounted.end() :]}" if mounted else f"{base[:2]}{path}"


def _folded(path: str) -> str:
    """The path without ".", ".." and empty parts; ".." at the root is dropped."""
    root, rest = _root(path)
    parts: list[str] = []
    for part in rest.split("/"):
        if part == "..":
            if parts and parts[-1] != "..":
                parts.pop()
            elif not root:
                parts.append(part)
        elif part not in ("", "."):
            parts.append(part)
    return root + "/".join(parts)


def _root(path: str) -> tuple[str, str]:
    """Where a path starts ("c:/", "//", "/", "~/", or "" for a relative one), and what follows."""
    if _DRIVE.match(path):
        return f"{path[0].lower()}:/", path[2:]
    if path == "~" or path.startswith("~/"):
        return "~/", path[2:]
    if path.startswith("//") and not path.startswith("///"):
        return "//", path[2:]
    return "/" * path.startswith("/"), path
