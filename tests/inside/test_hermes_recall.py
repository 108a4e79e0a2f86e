"""The MCP server that Hermes' plugin keeps: one process, which ends with Hermes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from integrations.hermes.recall import RecallServer

SERVER = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        print(json.dumps({"id": asked["id"], "result": {}}), flush=True)
    if asked["method"] == "tools/call":
        name, arguments = asked["params"]["name"], asked["params"]["arguments"]
        if name == "end":
            sys.exit()
        if name != "silent":
            print(json.dumps({"id": asked["id"], "result": {"process": os.getpid(), **arguments}}), flush=True)
"""
HERMES = """
import sys
from integrations.hermes.recall import RecallServer
print(RecallServer(sys.argv[1:]).call("a", {})["process"], flush=True)
sys.stdin.read()
"""


def is_running(process: int) -> bool:
    """Whether there is such a process that has not ended."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


pytestmark = pytest.mark.slow


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "server.py").write_text(SERVER)
    return [sys.executable, str(tmp_path / "server.py")]


def test_one_process_answers_all_calls_of_all_threads(command: list[str]) -> None:
    server, answers = RecallServer(command), list[dict[str, Any]]()
    threads = [Thread(target=lambda at=at: answers.append(server.call("a", {"at": at}))) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each["at"] for each in answers} == set(range(8)) and len({each["process"] for each in answers}) == 1
    server.end()


def test_a_server_that_ended_is_started_again(command: list[str]) -> None:
    server = RecallServer(command)
    first = server.call("a", {})["process"]
    os.kill(first, signal.SIGKILL)
    assert server._process and server._process.wait()
    second = server.call("a", {})["process"]
    with pytest.raises(OSError, match="ended"):
        server.call("end", {})
    assert len({first, second, server.call("a", {})["process"]}) == 3
    server.end()


def test_a_server_that_does_not_answer_is_ended(command: list[str]) -> None:
    server = RecallServer(command, seconds=0.5)
    with pytest.raises(OSError, match="ended"):
        server.call("silent", {})
    assert server._process is None


@pytest.mark.parametrize("ends", ["closed", "killed"])
def test_it_ends_with_hermes(command: list[str], ends: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HERMES, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as hermes:
        assert hermes.stdin and hermes.stdout
        server = int(hermes.stdout.readline())
        os.kill(server, 0)
        hermes.kill() if ends == "killed" else hermes.stdin.close()
        hermes.wait()
        assert hermes.stdout.read() == ""
    until = time.monotonic() + 60
    while is_running(server):
        assert time.monotonic() < until
        time.sleep(0.05)
