"""Why a session cannot be compacted, as a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from . import database

PI = "pi's sessions can be read here, but not be changed yet."
OPENCLAW = "OpenClaw's sessions can be read here, but not be changed yet."
UNKNOWN = (
    "The database of this OpenClaw has schema {version}, which is not known here: its sessions can be read as far as "
    "they are understood, and are not changed."
)
COLD = "This session is in a cold archive of OpenClaw's. It can be changed again once OpenClaw has restored it."


def of_databases(paths: Sequence[Path]) -> str:
    """Why nothing in these databases can be compacted."""
    for path in paths:
        version, _ = database.schema(path, database.state_text(path))
        if version not in database.KNOWN_SCHEMAS:
            return UNKNOWN.format(version=version)
    return OPENCLAW
