"""A session of the real Codex that the site knows as well: the client says its turns, we compact in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents.base import Block
from tests.agents.codex import views
from tests.store_api import StoreApi
from viewer.stores.base import Store
from viewer.stores.registry import open_store

from .app_server import AppServer
from .client import Client
from .resumed import resumed
from .scenes import shell
from .service import calls, says

TURNS = 5
KEPT = 4  # messages at the end that a compaction keeps at least
MUCH = "All that is known of this bed. " * 40  # so that a summary is worth while
SUMMARY = "[CONTEXT SUMMARY]"  # begins ours


def ours(blocks: list[Block]) -> list[int]:
    """Where our summaries stand."""
    return [at for at, block in enumerate(blocks) if block.said.startswith(SUMMARY)]


@dataclass(frozen=True)
class Work:
    """One session, with an app server that has it loaded only while it says a turn."""

    client: Client
    server: AppServer
    session: str
    store_api: StoreApi

    @property
    def file(self) -> Path:
        return self.client.rollout(self.session)

    # --- ours

    def compact(self, **wanted: Any) -> int:
        """The number of a run of ours."""
        run = self.store_api.run(self.session, apply=True, keep_last=KEPT, **wanted)
        assert run["status"] == "applied", run
        return int(run["id"])

    def undo(self, run: int) -> None:
        status, undone = self.store_api.api_client.call("POST", f"/runs/{run}/undo")
        assert (status, undone.get("status")) == (200, "undone"), undone

    def redo(self, run: int) -> None:
        status, redone = self.store_api.api_client.call("POST", f"/runs/{run}/redo")
        assert (status, redone.get("status")) == (200, "applied"), redone

    def read(self) -> list[Block]:
        """What we say that the model sees."""
        with open_store(Store("work", self.store_api.agent.url, "configured")) as reader:
            return views.of_rows(reader.live(self.session))

    # --- the client's

    def say(self, prompt: str, first: str = "turn") -> list[Block]:
        """What the client sent of the session when it was told a prompt, which is what we read before.

        `first` says what it asks the model for at first: it may compact before it answers.
        """
        read, service = self.read(), self.client.service
        stored = views.told(resumed(self.client.home, self.session))
        before = len(service.requests)
        self.server.resume(self.session)
        self.server.turn(self.session, prompt)
        self.server.unload(self.session)
        request = service.requests[before]
        assert request.kind == first
        sent = views.told(views.of_session(request.body))
        assert views.conversation(sent) == read
        assert sent[: len(stored)] == stored and all(views.is_context(block) for block in sent[len(stored) :])
        return read

    def say_much(self) -> list[Block]:
        """Turns enough for another compaction; what is said in them."""
        before = len(self.read())
        for number in range(TURNS):
            self.client.service.replies += [says(f"{number}: {MUCH}")]
            self.say(f"What grows in bed {number}?")
        return self.read()[before:]

    def context(self) -> list[Block]:
        """What the client said of itself in the newest turn's request."""
        blocks = views.told(views.of_session(self.client.service.of("turn")[-1]))
        return [block for block in blocks if views.is_context(block)]

    def tools(self) -> list[Any]:
        """The tools that the newest turn's request offered: of its own, or in the session."""
        body = self.client.service.of("turn")[-1]
        own: list[Any] = body.get("tools") or []
        return own + [item["tools"] for item in body["input"] if item["type"] == "additional_tools"]


def talk(client: Client, server: AppServer, **options: object) -> str:
    """A session worth a compaction, with parallel calls that have long results; it is not loaded."""
    session = server.start(**options)
    for number in range(TURNS):
        if number == 1:
            long = shell("yes 'A line of the log, number 17.' | head -400")
            client.service.replies += [calls(long, shell("echo b"), reasoning="Both at once.")]
        client.service.replies += [says(f"{number}: {MUCH}")]
        server.turn(session, f"What grows in bed {number}?")
    server.unload(session)
    return session


Make = Callable[[Client, AppServer, str], str]


def _as_it_is(client: Client, server: AppServer, session: str) -> str:
    return session


def _forked(client: Client, server: AppServer, session: str) -> str:
    fork = server.fork(session)
    server.turn(fork, "Another way, please.")
    server.unload(fork)
    return fork


def _reverted(client: Client, server: AppServer, session: str) -> str:
    server.resume(session)
    turns = server.turns(session)
    server.revert(session, turns[-1]["id"])
    server.turn(session, "Rather, what grows on the roof?")
    server.unload(session)
    return session


def _above_its_own(client: Client, server: AppServer, session: str) -> str:
    server.resume(session)
    server.compact(session)
    for number in range(3):
        client.service.replies += [says(f"{number}: {MUCH}")]
        server.turn(session, f"What grows behind bed {number}?")
    server.unload(session)
    return session


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort of session: which home it is in, and what is done to make it of the session there."""

    home: str
    make: Make


SORTS = {
    "paginated": Sort("paginated", _as_it_is),
    "legacy": Sort("legacy", _as_it_is),
    "fork": Sort("paginated", _forked),
    "segment": Sort("paginated", _reverted),
    "above local": Sort("paginated", _above_its_own),
    "above encrypted": Sort("encrypted", _above_its_own),
}
