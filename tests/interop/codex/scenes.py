"""What scenarios share: how one is told, and the things that are said in them."""

from __future__ import annotations

import base64
from collections.abc import Callable

from tests.agents.base import Json
from tests.interop.pictures import png

from .client import GPT_5, GPT_6, NEWEST, Provider
from .playing import Play, Scenario
from .service import custom, function

SCENARIOS: dict[str, Scenario] = {}


def scenario(
    resumes: int,
    *,
    models: tuple[str, ...] = (GPT_6,),
    provider: Provider = "ours",
    version: str = NEWEST,
) -> Callable[[Play], Play]:
    """Note a function as a scenario, one for each model; named as it is."""

    def note(play: Play) -> Play:
        named = getattr(play, "__name__", "").replace("_", "-")
        for model in models:
            name = named if model == GPT_6 else f"{named}-{model}"
            SCENARIOS[name] = Scenario(name, play, resumes, model, provider, version)
        return play

    return note


BOTH = (GPT_6, GPT_5)


def shell(command: str) -> Json:
    """A call of its shell."""
    return function("exec_command", {"cmd": command})


def picture(size: int) -> Json:
    """A square PNG of so many pixels a side, as a part of a prompt."""
    return {"type": "image", "url": f"data:image/png;base64,{base64.b64encode(png(size)).decode()}"}


def patch(*lines: str) -> Json:
    """A call of its patch tool."""
    return custom("apply_patch", "\n".join(("*** Begin Patch", *lines, "*** End Patch")))
