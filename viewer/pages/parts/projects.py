"""Names of projects: the working directories of sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

DEEPEST = 3  # parts of a working directory in a name


def names_of(projects: Sequence[str]) -> dict[str, str]:
    """The name of each working directory: its last part, and as many before it as distinguish it from the others; all
    of it for the root, which has no parts.
    """
    parts = {project: project.rstrip("/\\").replace("\\", "/").split("/")[-DEEPEST:] for project in projects}
    names = dict.fromkeys(projects, "")
    for length in range(1, DEEPEST + 1):
        ends = Counter(tuple(each[-length:]) for each in parts.values())
        for project, each in parts.items():
            if not names[project] and (ends[tuple(each[-length:])] == 1 or length == DEEPEST):
                names[project] = "/".join(each[-length:]) or project
    return names
