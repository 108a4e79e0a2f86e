"""A session as the real agent loads it, and as its rows stand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.hermes.real import Hermes


def only(schema: int) -> pytest.MarkDecorator:
    """Run a test on this schema alone: 31 has turn leases, 22 has none."""
    return pytest.mark.parametrize("schema", [schema], indirect=True, scope="session", ids=[f"schema{schema}"])


def as_loaded(message: dict[str, Any]) -> tuple[Any, ...]:
    """A message as Hermes' loader gives it: words of people and models without white space around them."""
    content = message["content"]
    stripped = content.strip() if isinstance(content, str) and message["role"] in ("user", "assistant") else content
    return message["role"], stripped, message.get("tool_calls") or [], message.get("tool_call_id") or ""


def loaded(hermes: Hermes, session_id: str) -> list[tuple[Any, ...]]:
    return [as_loaded(message) for message in hermes.conversation(session_id)]


def live(hermes: Hermes, session_id: str) -> list[dict[str, Any]]:
    return [row for row in hermes.rows(session_id) if row["active"]]


def handoffs(hermes: Hermes, messages: list[dict[str, Any]]) -> list[int]:
    return [index for index, message in enumerate(messages) if hermes.is_summary(message["content"])]


def states(hermes: Hermes, session_id: str) -> list[tuple[Any, ...]]:
    return [(row["id"], row["active"], row["compacted"], row["content"]) for row in hermes.rows(session_id)]
