"""A real client as an agent of `tests/agents`, as far as it needs to be one: it makes its sessions by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.agents.base import Agent, Heard, Message


class RealAgent(Agent):
    """Its address is all that the site is told."""

    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        raise NotImplementedError

    def say(self, session_id: str, message: Message) -> None:
        raise NotImplementedError

    def load(self, session_id: str) -> list[Heard]:
        raise NotImplementedError

    def take_back(self, session_id: str) -> None:
        raise NotImplementedError

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        raise NotImplementedError
