"""A session of the real pi that the site knows as well: the client says its turns, we compact in between."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.agents import chat_views
from tests.agents.base import Block
from tests.interop.chat_service import calls, says, tool
from tests.store_api import StoreApi
from viewer.stores.base import Store
from viewer.stores.registry import open_store

from .client import PiClient
from .rpc import Rpc

TURNS = 4
KEPT = 3  # messages at the end that a compaction keeps at least
MUCH = "All that is known of this bed. " * 200  # so that a summary is worth while
SUMMARY = "[CONTEXT SUMMARY]"  # begins ours
LONG_AGO = 60.0  # seconds after which no client is taken to be at a file


def ours(blocks: list[Block]) -> list[int]:
    """Where our summaries stand."""
    return [at for at, block in enumerate(blocks) if SUMMARY in block.said]


@dataclass(frozen=True)
class Work:
    """One session, which no process has open but while it says a turn."""

    client: PiClient
    file: Path
    store_api: StoreApi

    @property
    def session(self) -> str:
        return self.file.stem.partition("_")[2]

    def age(self) -> None:
        """Have the file look as if nobody were at it."""
        then = time.time() - LONG_AGO
        os.utime(self.file, (then, then))

    # --- ours

    def compact(self) -> int:
        """The number of a run of ours."""
        self.age()
        run = self.store_api.run(self.session, apply=True, keep_last=KEPT)
        assert run["status"] == "applied", run
        return int(run["id"])

    def call(self, run: int, what: str) -> dict[str, Any]:
        """What the site answers to an undo or redo, which it does."""
        self.age()
        status, answer = self.store_api.api_client.call("POST", f"/runs/{run}/{what}")
        assert status == 200, answer
        found: dict[str, Any] = answer
        return found

    def branch(self, before: int | None = None) -> Work:
        """A branch of the session, of now or of the moment before the compaction with this handoff."""
        path = f"{self.store_api.at(self.session)}/branches"
        status, made = self.store_api.api_client.call("POST", path, {"before": before} if before is not None else {})
        assert status == 201, made
        (file,) = self.file.parent.glob(f"*_{made['id']}.jsonl")
        return replace(self, file=file)

    def read(self) -> list[Block]:
        """What we say that the model sees."""
        with open_store(Store("work", self.store_api.agent.url, "configured")) as reader:
            return chat_views.of_rows(reader.live(self.session))

    # --- the client's

    def say(self, prompt: str, process: Rpc | None = None) -> list[Block]:
        """What the client sent of the session when it was told a prompt, which is what we read before: it does nothing
        else first. A process that is open reads the session anew.
        """
        read, service = self.read(), self.client.service
        before = len(service.requests)
        if process is None:
            self.client.turn(self.file, prompt)
        else:
            process.resume(self.file)
            process.turn(prompt)
        request = service.requests[before]
        assert request.kind == "turn" and prompt in str(request.body["messages"][-1])
        assert chat_views.of_request(request.body["messages"][:-1]) == read
        return read


def talk(client: PiClient) -> Path:
    """A session worth a compaction, with parallel calls that have long results; its file."""
    with client.rpc() as process:
        for number in range(TURNS):
            if number == 1:
                long = tool("bash", command="yes 'A line of the log, number 17.' | head -400")
                client.service.replies += [calls(long, tool("bash", command="echo b"), text="Both at once.")]
            client.service.replies += [says(f"{number}: {MUCH}")]
            process.turn(f"What grows in bed {number}?")
        return process.file
