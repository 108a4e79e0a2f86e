"""Facts from the clients' own settings: which sections of its rules OpenClaw repeats to a model after its own
compactions, and which version of pi was used last.

Read from the `openclaw.json` of a state directory, which is JSON5, and pi's `settings.json`. A file that cannot be read
counts as empty.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyjson5

from viewer.stores.settings_files import value_in

OPENCLAW, PI = "openclaw.json", "settings.json"
OWN_ENGINE = "legacy"  # the context engine that comes with OpenClaw
MOST, LONGEST = 20, 200  # sections, and characters of a section's title
DEEPEST = 100  # levels of nested objects


def rule_sections(home: Path) -> tuple[str, ...] | None:
    """The titles of the repeated sections, none where it is switched off; None where the settings do not say."""
    titles = value_in(home / OPENCLAW, _json5, "agents", "defaults", "compaction", "postCompactionSections")
    if not isinstance(titles, list):
        return None
    return tuple(each[:LONGEST] for each in titles if isinstance(each, str) and each.strip())[:MOST]


def context_engine(home: Path) -> Any:
    """The configured engine that decides what a model is sent, None for nothing."""
    return value_in(home / OPENCLAW, _json5, "plugins", "slots", "contextEngine")


def prunes(home: Path) -> bool:
    """Whether old tool results are shortened in requests, while the session keeps them whole."""
    return bool(value_in(home / OPENCLAW, _json5, "agents", "defaults", "contextPruning", "mode") == "cache-ttl")


def pi_version(home: Path) -> tuple[int, ...]:
    """The numbers of the version of pi that was used last in a terminal, none where the settings do not say."""
    version = value_in(home / PI, _json5, "lastChangelogVersion")
    numbers = version.split("-")[0].split(".") if isinstance(version, str) else []
    return tuple(map(int, numbers)) if all(re.fullmatch("[0-9]{1,6}", each) for each in numbers) else ()


def _json5(text: str) -> Any:
    """Raises ValueError."""
    try:
        return pyjson5.decode(text, maxdepth=DEEPEST)
    except pyjson5.Json5Exception as problem:
        raise ValueError(str(problem)) from problem
