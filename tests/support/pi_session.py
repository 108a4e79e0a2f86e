"""A session of pi's without messages, and requests in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.contract.pi import PiByHand, said


@pytest.fixture
def agent(tmp_path: Path) -> PiByHand:
    made = PiByHand(tmp_path / "pi")
    made.write("s", [])
    return made


@pytest.fixture
def session_id(agent: PiByHand) -> str:
    return agent.id_of("s")


def ask(agent: PiByHand, text: str, **more: Any) -> str:
    """A request; the id of its entry."""
    return str(agent.append("s", "message", message=said({"role": "user", "content": text}), **more)["id"])
