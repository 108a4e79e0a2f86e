"""What our readers say of the sessions that an agent wrote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.agents.base import Agent
from viewer.stores.base import Store
from viewer.stores.reader import Reader
from viewer.stores.recorded import Recorded
from viewer.stores.registry import open_store
from viewer.stores.transcript import TranscriptIndex


def store_of(agent: Agent) -> Store:
    return Store("agent", agent.url, "configured")


@contextmanager
def opened(agent: Agent) -> Iterator[Reader]:
    """A reader as one request has it."""
    with open_store(store_of(agent)) as reader:
        yield reader


def history(reader: Reader, session_id: str) -> TranscriptIndex:
    return reader.index(session_id, Recorded(), reader.change_token(session_id))


def sent(reader: Reader, session_id: str) -> list[tuple[str, Any]]:
    """Role and content of what a model is sent."""
    return [(row.role, row.content) for row in reader.live(session_id)]


def shown(reader: Reader, session_id: str) -> list[Any]:
    """What History shows, boundaries as "|"."""
    index = history(reader, session_id)
    items = reader.shown(session_id, index.stretch(0, index.messages).items)
    return [getattr(item, "content", "|") for item in items]
