"""Paths as the reader of a session knows them: relative to the directory that the session works in."""

from __future__ import annotations

import posixpath
import re

_HOME = re.compile(r"/(?:home|Users)/[^/\s]+(?=/)|/root(?=/)")


def near(path: str, cwd: str) -> str:
    """A path relative to the directory `cwd` of its session, else to the home directory that both are in."""
    directory = cwd.rstrip("/\\")
    if directory and path.startswith(directory):
        rest = path[len(directory) :]
        if not rest.strip("/\\"):
            return "."
        if rest[0] in "/\\":
            return rest.lstrip("/\\")
    home = _HOME.match(f"{cwd}/")
    return f"~{path[len(home[0]) :]}" if home and path.startswith(f"{home[0]}/") else path


def within(text: str, cwd: str) -> str:
    """A text such as a command, with the paths in the directory of its session relative to it."""
    directory = cwd.rstrip("/\\")
    if len(directory) < 2 or directory not in text:
        return text
    named = rf"(?<![\w./~\\-]){re.escape(directory)}(?:(?P<below>/(?=[\w.@]))|/?(?![\w./\\-]))"
    return re.sub(named, lambda match: "" if match["below"] else ".", text)


def joined(path: str, cwd: str) -> str:
    """A path that a call names, such as the directory that a command changes to, from the root if that is known."""
    return posixpath.normpath(path if path.startswith(("/", "~", "$")) or not cwd else f"{cwd}/{path}")
