"""What an agent does with its door, an agent that is written nothing but one file, and a site that never answers."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integrations.door import NOTE_SECONDS
from viewer.inside.agents.agent import DoorOptions, InstalledAgent, Way
from viewer.inside.changes import Change, NewFile
from viewer.settings import BASE_DIR

TROUBLES = ("stopped", "slow", "revoked", "no connection")


def change_json(path: Path, **values: Any) -> None:
    """Change values of the object in a file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@dataclass(frozen=True)
class TestDoor:
    """The door with this connection."""

    __test__ = False
    connection: Path

    def run(self, event: str, **given: Any) -> subprocess.CompletedProcess[str]:
        """The process that an agent starts for an event."""
        command = [sys.executable, str(BASE_DIR / "integrations" / "door.py"), str(self.connection), event]
        return subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=60)

    def text(self, event: str, **given: Any) -> str:
        """What it prints, where all goes well."""
        done = self.run(event, **given)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def change(self, **values: Any) -> None:
        """Change the connection."""
        change_json(self.connection, **values)

    def serve(self, stores: str) -> None:
        """Have the MCP server of recall know these stores, as `PALIMPSEST_STORES` names them."""
        environment = json.loads(self.connection.read_text())["environment"]
        self.change(environment={**environment, "PALIMPSEST_STORES": stores})

    @contextmanager
    def in_trouble(self, trouble: str) -> Iterator[None]:
        """Until the end of the block it gives no note, for one of `TROUBLES`; its time is that of every other door."""
        before = self.connection.read_text()
        with slow_site() as slow:
            if trouble == "no connection":
                self.connection.unlink()
            else:
                sites = {"stopped": {"site": "http://127.0.0.1:9"}, "slow": {"site": slow}}
                self.change(**sites.get(trouble, {"token": "palimpsest_wrong"}), note_seconds=NOTE_SECONDS)
            yield
        self.connection.write_text(before)


class OneFile(InstalledAgent):
    """An agent of any store that is written one file."""

    name, label, scheme = "one-file", "One File", "sqlite"

    def home_of(self, place: Path) -> Path:
        return place.parent / "agent"

    def changes(self, home: Path, own: Path, way: Way, options: DoorOptions) -> Iterator[Change]:
        yield NewFile(str(home / "door.txt"), "\n".join(way.door))


@contextmanager
def slow_site() -> Iterator[str]:
    """A server that takes connections and never ends an answer."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)

        def drip() -> None:
            with ExitStack() as connections:
                while not ended.is_set():
                    with suppress(TimeoutError):
                        connections.enter_context(listener.accept()[0]).send(b"HTTP/1.1 200 OK\r\n")

        thread = threading.Thread(target=drip)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        ended.set()
        thread.join()
