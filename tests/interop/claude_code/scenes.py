"""What scenarios share: how one is told, and the things that are said in them."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable

from tests.agents.base import Json
from tests.interop.pictures import png

from .client import NEWEST
from .playing import Play, Scenario

SCENARIOS: dict[str, Scenario] = {}


def scenario(*moments: str, versions: tuple[str, ...] = (NEWEST,)) -> Callable[[Play], Play]:
    """Note a function as a scenario with these moments, one for each version; named as the function is."""

    def note(play: Play) -> Play:
        named = getattr(play, "__name__", "").replace("_", "-")
        for version in versions:
            name = named if version == NEWEST else f"{named}-{version}"
            SCENARIOS[name] = Scenario(name, play, moments, version)
        return play

    return note


def new_session() -> str:
    return str(uuid.uuid4())


def shell(command: str) -> tuple[str, Json]:
    """A call of its shell."""
    return "Bash", {"command": command, "description": "Run it"}


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def picture(size: int) -> Json:
    """A square PNG of so many pixels a side, as a block."""
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _base64(png(size))}}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
