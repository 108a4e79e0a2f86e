"""What of pi is seen to be at work in a session's directory, under each of the names that its processes have."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agents.pi.by_hand import CWD, PiByHand, agent, ask, session_id
from tests.agents.reading import opened, store_of
from viewer.stores.errors import SessionBusy
from viewer.stores.pi.presence import processes_in
from viewer.stores.registry import writer_of

__all__ = ["agent", "session_id"]  # fixtures

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for on Linux alone")


@contextmanager
def process(directory: Path, name: str) -> Iterator[int]:
    """A process with this name in place of its command line."""
    started = subprocess.Popen([name, "60"], executable="sleep", cwd=directory)
    command = Path(f"/proc/{started.pid}/cmdline")
    try:
        while not command.read_bytes().startswith(name.encode()):  # until it is another program than this one
            time.sleep(0.01)
        yield started.pid
    finally:
        started.kill()
        started.wait()


@pytest.mark.parametrize("name", ["pi", "pi-rpc", "/opt/pi/pi", "/opt/node/pi-coding-agent/dist/bundle/cli.js"])
def test_its_processes_are_seen(tmp_path: Path, name: str) -> None:
    with process(tmp_path, name) as number:
        assert list(processes_in(str(tmp_path))) == [number]
        assert not list(processes_in(str(tmp_path.parent)))


@pytest.mark.parametrize("name", ["pip", "pico", "vi", "/home/pi/tool"])
def test_other_processes_are_none_of_its(tmp_path: Path, name: str) -> None:
    with process(tmp_path, name):
        assert not list(processes_in(str(tmp_path)))


def test_a_host_of_pi_that_has_it_open_is_named(agent: PiByHand, session_id: str, tmp_path: Path) -> None:
    path = agent.path("s")
    path.write_text(path.read_text().replace(CWD, str(tmp_path)))
    ask(agent, "one")
    with process(tmp_path, "pi-rpc") as number, opened(agent) as reader:
        held = reader.presence(session_id).holder
        assert held is not None and f"process {number}" in held.says
        with pytest.raises(SessionBusy), writer_of(store_of(agent)).hold(session_id, "me"):
            pass
    with opened(agent) as reader:
        assert reader.presence(session_id).holder is None
