"""The site as the contract asks it: the JSON API, and what that does not offer."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.test import Client

from tests.agents.base import Agent
from tests.agents.talk import heard
from tests.clients import ApiClient
from tests.writer_process import WriterProcess
from viewer.stores.registry import get_store, open_store

LIMIT = 500  # messages in an answer, at most
LONGEST_NAME = 10  # characters of a name that the contract gives a session


@dataclass(frozen=True)
class StoreApi:
    """The site and the name of one of its stores. Sessions are called as the agent was told to call them."""

    api_client: ApiClient
    store: str
    agent: Agent

    def at(self, session_id: str) -> str:
        return f"/stores/{self.store}/sessions/{self._id(session_id)}"

    def _id(self, name: str) -> str:
        """Its id; one that was made here is one already."""
        return name if len(name) > LONGEST_NAME else self.agent.id_of(name)

    def sessions(self, **query: Any) -> list[dict[str, Any]]:
        """The listed sessions, with their names as ids."""
        items: list[dict[str, Any]] = self.api_client.get(f"/stores/{self.store}/sessions", **query)["items"]
        return [each | {"id": self.name_of(each)} for each in items]

    def name_of(self, session: dict[str, Any]) -> str:
        """The name of a listed session: its title, where that is what its id was made of."""
        return str(session["title"] if self.agent.id_of(session["title"]) == session["id"] else session["id"])

    def worker_looks(self) -> None:
        """Have a worker bring the list up to date."""
        from viewer.catalog import sync_worker  # models: conftest files are read before Django is set up

        sync_worker.sync_all()

    def messages(self, session_id: str, view: str = "history", **query: Any) -> list[dict[str, Any]]:
        """All messages, window by window."""
        found: list[dict[str, Any]] = []
        cursor: dict[str, str] = {}
        while True:
            answer = self.api_client.get(f"{self.at(session_id)}/messages", view=view, limit=LIMIT, **query, **cursor)
            found += answer["items"]
            if not answer["next"]:
                return found
            cursor = {"cursor": answer["next"]}

    def context(self, session_id: str) -> list[dict[str, Any]]:
        """What a model should be sent."""
        messages: list[dict[str, Any]] = self.api_client.get(f"{self.at(session_id)}/context")["messages"]
        return messages

    def compactions(self, session_id: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.api_client.get(f"{self.at(session_id)}/compactions")["items"]
        return items

    def run(self, session_id: str, **wanted: Any) -> dict[str, Any]:
        """A run that has come to its end, or to its preview."""
        status, run = self.api_client.call(
            "POST", f"{self.at(session_id)}/runs", {"strategy": "summary", "keep_last": 6, **wanted}
        )
        assert status == 202, run
        return self.run_now(run["id"])

    def compact(self, session_id: str) -> dict[str, Any]:
        run = self.run(session_id, apply=True)
        assert run["status"] == "applied", run
        return run

    def run_now(self, number: int) -> dict[str, Any]:
        run: dict[str, Any] = self.api_client.get(f"/runs/{number}")
        return run

    def refusal(self, method: str, path: str, body: Any = None) -> str:
        """The code of the error that a call ends in."""
        status, answer = self.api_client.call(method, path, body)
        assert status >= 400 and answer["error"]["message"], answer
        return str(answer["error"]["code"])

    def export(self, session_id: str, form: str) -> tuple[int, str]:
        """Status and text of an export."""
        client = Client(headers={"Authorization": f"Bearer {self.api_client.token}"})
        answer = client.get(f"/api/v1{self.at(session_id)}/export", {"format": form})
        return answer.status_code, answer.getvalue().decode()

    def change_token(self, session_id: str) -> object:
        """What differs whenever the session is another."""
        with open_store(get_store(self.store)) as reader:
            return reader.change_token(self._id(session_id))

    def written(self, url: str, session_id: str, moment: str, meanwhile: Callable[[], object] = str) -> str:
        """Another process of ours compacts the session; `meanwhile` happens between its plan and its commit.

        `moment` is when it is killed: "inside" the commit, "behind" it, "never". The code of what refused it, or "".
        """
        with WriterProcess(self.store, url, self._id(session_id), moment) as process:
            meanwhile()
            process.commit()
            code, refused = process.ended()
        assert code == (0 if moment == "never" else -signal.SIGKILL)
        return refused


def loaded_as_sent(agent: Agent, site: StoreApi) -> bool:
    """Whether the agent goes on from just what the site says a model is sent, in the session "s"."""
    return agent.load("s") == [(role, agent.as_loaded(content)) for role, content in heard(site.context("s"))]
