"""Lists of files that name their common folder once, `- written in /srv/app: a.py lib/b.py`, and their full paths."""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Iterable, Sequence

BELOW = " in "  # between the name of a list and the folder its files are in
MORE = "(and "  # begins what says how many lines or names there is no room for
MOST = 4  # folders
LEAST = 3  # files of a folder that is named once for all
_SHALLOWEST = 3  # parts of a path: a folder above says little, as in "/home/me"
_DEEPEST = 40  # and the most that are looked at
_LIST = re.compile(rf"^((?:- )?(?:\[[\w ]{{1,20}}\] )?[\w ]{{1,40}}{BELOW}(/[^\s:]+): )([^\n]+)$", re.MULTILINE)


def shared_folders(paths: Sequence[str]) -> dict[str, str]:
    """For each path, the folder that is named once for all paths below it, if that saves enough."""
    folder_of: dict[str, str] = {}
    for _ in range(MOST):
        remaining = [path for path in paths if path not in folder_of]
        if not (folder := _shared_folder(remaining)):
            break
        folder_of |= {path: folder for path in remaining if path.startswith(f"{folder}/") and path != f"{folder}/"}
    return folder_of


def _shared_folder(paths: Iterable[str]) -> str:
    below: Tally[str] = Tally()
    for path in paths:
        parts = path.split("/")[:-1] if path.startswith("/") and " " not in path else []
        depths = range(_SHALLOWEST, min(len(parts), _DEEPEST) + 1)
        below.update("/".join(parts[:depth]) for depth in depths if parts[depth - 1])
    saved = {folder: (n - 1) * len(folder) for folder, n in below.items() if n >= LEAST}
    return max(saved, key=lambda folder: (saved[folder], folder), default="")


def spelled_out(summary: str) -> str:
    """The summary with full paths in place of lists below a folder."""
    return _LIST.sub(lambda match: match[1] + _joined(match[2], match[3]), summary) if BELOW in summary else summary


def _joined(folder: str, names: str) -> str:
    names, more, rest = names.partition(f" {MORE}")
    return " ".join(f"{folder}/{name}" for name in names.split()) + more + rest
