"""What Hermes' dashboard asks for its tab of Palimpsest; it starts `door.py`, as the plugin does."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from fastapi import APIRouter  # type: ignore[import-not-found]  # Hermes has it

SETTINGS = Path(__file__).parent.with_name("door.json")
SECONDS = 60.0  # the command ends by itself earlier
router = APIRouter()


@router.get("/attention")  # type: ignore[untyped-decorator]
def attention() -> dict[str, Any]:
    """What the site answers to `/inside/attention`; empty where it does not answer."""
    try:
        door = json.loads(SETTINGS.read_text(encoding="utf-8"))["door"]
        done = subprocess.run([*door, "attention"], input="{}", capture_output=True, text=True, timeout=SECONDS)
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer
    except (OSError, ValueError, KeyError, subprocess.SubprocessError):
        return {}
