"""A session of the real OpenClaw that the site knows as well: the client says its turns, we compact in between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tests.agents.base import Block
from tests.agents.openclaw import views
from tests.interop.chat_service import calls, says, tool
from tests.store_api import StoreApi
from viewer.stores.base import Store
from viewer.stores.registry import open_store

from .client import OpenClawClient
from .playing import OpenClawStage, key_of

TURNS = 4
KEPT = 3  # messages at the end that a compaction keeps at least
MUCH = "All that is known of this bed. " * 200  # so that a summary is worth while
FILLED = 20_000  # tokens that the model says it was sent
SUMMARY = "[CONTEXT SUMMARY]"  # begins ours


def ours(blocks: list[Block]) -> list[int]:
    """Where our summaries stand."""
    return [at for at, block in enumerate(blocks) if SUMMARY in block.said]


@dataclass(frozen=True)
class Work:
    """The session of one key, while a gateway runs."""

    stage: OpenClawStage
    key: str
    store_api: StoreApi

    @property
    def session(self) -> str:
        return self.stage.session_of(self.key)

    # --- ours

    def compact(self, **wanted: Any) -> int:
        """The number of a run of ours."""
        run = self.store_api.run(self.session, apply=True, keep_last=KEPT, **wanted)
        assert run["status"] == "applied", run
        self.require_clean()
        return int(run["id"])

    def undo(self, run: int) -> None:
        status, undone = self.store_api.api_client.call("POST", f"/runs/{run}/undo")
        assert (status, undone.get("status")) == (200, "undone"), undone
        self.require_clean()

    def redo(self, run: int) -> None:
        status, redone = self.store_api.api_client.call("POST", f"/runs/{run}/redo")
        assert (status, redone.get("status")) == (200, "applied"), redone
        self.require_clean()

    def branch(self, before: int | None = None) -> Work:
        """A branch of the session, of now or of the moment before the compaction with this handoff."""
        path = f"{self.store_api.at(self.session)}/branches"
        status, made = self.store_api.api_client.call("POST", path, {"before": before} if before is not None else {})
        assert status == 201, made
        query = "SELECT session_key FROM session_nodes WHERE current_session_id = ?"
        ((key,),) = self.stage.sql(query, made["id"])
        assert made["resume"].endswith(f"tui --session {key}")
        branch = replace(self, key=key)
        branch.require_clean()
        return branch

    def require_clean(self) -> None:
        """The database is whole, and the client's row of the session counts as valid."""
        assert self.stage.sql("PRAGMA quick_check") == [("ok",)]
        assert self.stage.sql("PRAGMA foreign_key_check") == []
        query = "SELECT entry_valid, updated_at = json_extract(entry_json, '$.updatedAt') FROM session_nodes"
        assert self.stage.sql(f"{query} WHERE session_key = ?", self.key) == [(1, 1)]

    def noted(self, name: str) -> Any:
        """A field of the client's entry of the session."""
        query = "SELECT json_extract(entry_json, '$.' || ?) FROM session_nodes WHERE session_key = ?"
        ((found,),) = self.stage.sql(query, name, self.key)
        return found

    def read(self) -> list[Block]:
        """What we say that the model sees."""
        with open_store(Store("work", self.store_api.agent.url, "configured")) as reader:
            return views.read(reader.live(self.session))

    # --- the client's

    def say(self, prompt: str) -> list[Block]:
        """What the client sent of the session when it was told a prompt, which is what we read before: it does nothing
        else first.
        """
        read, service = self.read(), self.stage.service
        before = len(service.requests)
        OpenClawClient.turn(self.stage, prompt, self.key)
        request = service.requests[before]
        assert (request.kind, prompt in str(request.body["messages"][-2:])) == ("turn", True), request.body["messages"][
            -2:
        ]
        assert views.sent(views.of_session(request.body)) == read
        return read

    def say_much(self, turns: int = TURNS) -> None:
        """Turns enough for another compaction."""
        for number in range(turns):
            self.stage.service.replies += [says(f"{number}: {MUCH}")]
            self.say(f"What grows in bed {number}?")


def talk(stage: OpenClawStage, name: str, store_api: StoreApi) -> Work:
    """A session worth a compaction, with parallel calls that have long results."""
    work = Work(stage, key_of(name), store_api)
    for number in range(TURNS):
        if number == 1:
            long = tool("exec", command="yes 'A line of the log, number 17.' | head -400")
            stage.service.replies += [calls(long, tool("exec", command="echo b"), text="Both at once.")]
        stage.service.replies += [says(f"{number}: {MUCH}", input_tokens=FILLED)]
        OpenClawClient.turn(stage, f"What grows in bed {number}?", work.key)
    return work
