"""A home of Codex, written by hand, and the reader of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.codex import CodexByHand
from viewer.stores.base import Store
from viewer.stores.reader import Reader
from viewer.stores.recorded import Recorded
from viewer.stores.registry import open_store
from viewer.stores.transcript import TranscriptIndex


@pytest.fixture
def agent(tmp_path: Path) -> CodexByHand:
    return CodexByHand(tmp_path / "codex")


@pytest.fixture
def reader(agent: CodexByHand) -> Iterator[Reader]:
    with open_store(Store("codex", agent.url, "configured")) as found:
        yield found


@pytest.fixture
def session_id(agent: CodexByHand) -> str:
    """The id of the session that the agent calls "s"."""
    return agent.id_of("s")


def fresh(agent: CodexByHand) -> Reader:
    """A reader as another request has it."""
    with open_store(Store("codex", agent.url, "configured")) as found:
        return found


def history(reader: Reader, session_id: str) -> TranscriptIndex:
    return reader.index(session_id, Recorded(), reader.change_token(session_id))


def said(reader: Reader, session_id: str) -> list[tuple[str, Any]]:
    """What a resume sends."""
    return [(row.role, row.content) for row in reader.live(session_id)]


def shown(reader: Reader, session_id: str) -> list[Any]:
    """What History shows, boundaries as "|"."""
    index = history(reader, session_id)
    items = reader.shown(session_id, index.stretch(0, index.messages).items)
    return [getattr(item, "content", "|") for item in items]
