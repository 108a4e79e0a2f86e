"""Sessions of a real OpenClaw with one gateway, and what it sends to the model each time that it goes on with one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.agents.base import Json
from tests.agents.openclaw import views
from tests.interop.chat_service import ChatService

from .client import AGENT, OpenClawClient


@dataclass(frozen=True, slots=True)
class OpenClawCase:
    """A session as it was (`state` is a state directory with a copy of its database), and what the client sent of it
    in its next request.
    """

    name: str
    state: Path
    session_id: str
    sent: list[Json]


class OpenClawStage(OpenClawClient):
    """A client whose database is copied before each turn."""

    cases: list[OpenClawCase]

    def turn(self, prompt: str, key: str = "") -> None:
        with self.resuming(key):
            super().turn(prompt, key)

    @contextmanager
    def resuming(self, key: str) -> Iterator[None]:
        """Inside, the client goes on with a session; it is noted as it was before, if it is there."""
        is_known = self.database.exists() and self.sql("SELECT 1 FROM session_nodes WHERE session_key = ?", key)
        state = self.place / f"case{len(self.cases)}"
        session = self.session_of(key) if is_known else ""
        if session:
            self.copy_state(state)
        before = len(self.service.requests)
        yield
        if session:
            request = next(each for each in self.service.requests[before:] if each.kind == "turn")
            name = f"{key.rpartition(':')[2]}.{len(self.cases)}"
            self.cases.append(OpenClawCase(name, state, session, views.of_session(request.body)))

    def entry_of(self, key: str, text: str) -> str:
        """The id of the entry of the person's message that begins with this text, in the session of a key."""
        session = self.session_of(key)
        rows = self.sql("SELECT event_json FROM transcript_events WHERE session_id = ? ORDER BY seq", session)
        found = (_told(row[0]) for row in rows if row[0] is not None)
        entry: str = next(each["id"] for each in found if _asks(each, text))
        return entry


def _told(text: str) -> Json:
    told: Json = json.loads(text)
    return told


def _asks(entry: Json, text: str) -> bool:
    message = entry.get("message") or {}
    return message.get("role") == "user" and str(message["content"]).startswith(text)


def key_of(name: str) -> str:
    """A session key of the client's agent."""
    return f"agent:{AGENT}:{name}"


def stage(found: Path, place: Path, service: ChatService) -> OpenClawStage:
    """A client that has done nothing yet."""
    made = OpenClawStage(found, place, service)
    made.cases = []
    return made
