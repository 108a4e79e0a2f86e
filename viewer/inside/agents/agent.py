"""What each module of this package says about its agent."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from viewer.inside.changes import Change, NewFile
from viewer.settings import BASE_DIR
from viewer.stores.base import Store

PROGRAMS = BASE_DIR / "integrations"  # what runs inside the agents


@dataclass(frozen=True, slots=True)
class DoorOptions:
    """What is wanted: `notes` after a compaction, `recall` of what was summarised away, our `engine` for compactions of
    the agent itself.
    """

    notes: bool = True
    recall: bool = True
    engine: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """How the agent reaches us. `door` is the command to which the name of an event is added (`integrations/door.py`),
    `mcp` the one that starts the MCP server; both are lists of words.
    """

    door: tuple[str, ...]
    mcp: tuple[str, ...]


class InstalledAgent(ABC):
    """An agent that can have a door. `name` is one of `agents.NAMES`, `label` its name for people, `scheme` that of its
    stores' addresses.

    `notes`, `recall` and `engine` say in a sentence what reaches the agent, "" where it is not offered.
    `writes_late`: it calls after a compaction before it writes that.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    scheme: ClassVar[str]
    notes: ClassVar[str] = ""
    recall: ClassVar[str] = ""
    engine: ClassVar[str] = ""
    writes_late: ClassVar[bool] = False

    def owns(self, store: Store) -> bool:
        """Whether it is this agent that has the sessions of a store."""
        return store.url.startswith(f"{self.scheme}:")

    def home_of(self, place: Path) -> Path:
        """The agent's directory, for a store at this path."""
        return place

    @abstractmethod
    def changes(self, home: Path, own: Path, way: Way, options: DoorOptions) -> Iterator[Change]:
        """What is written. `own` is a directory of ours for files that the agent only needs to be told of."""

    def next_steps(self, home: Path, options: DoorOptions) -> list[str]:
        """What a person has to do then, as sentences."""
        return [f"Restart {self.label}: it reads its settings when it starts."]


def copied(folder: str, target: Path, files: dict[str, Any] | None = None, *shared: str) -> Iterator[NewFile]:
    """The files of a folder of `integrations`, the `shared` ones next to it, and others with these objects, in a
    directory of their own.
    """
    source = PROGRAMS / folder
    programs = {path: path.relative_to(source) for path in sorted(source.rglob("*"))}
    for path, inside in (programs | {PROGRAMS / name: Path(name) for name in shared}).items():
        if path.is_file() and "__pycache__" not in path.parts:
            yield NewFile(str(target / inside), path.read_text(encoding="utf-8"))
    for name, value in (files or {}).items():
        yield NewFile(str(target / name), json.dumps(value, indent=2) + "\n")
