"""The agent's own settings: the context window of its model and the number of tokens in context at which it compacts
(`docs/hermes.md` section 6), the time zone of its dates, and the engine that decides what a model is sent.

Read from the `config.yaml` next to the store, which a person edits: where something in it is wrong, the agent's
defaults count.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from viewer.stores.base import Store

LARGEST = 200_000  # bytes; a larger file is not read
USUAL = 0.50  # of the window
SMALL_WINDOW, SMALL_AT_LEAST = 512_000, 0.75  # tokens; share of a smaller window
OWN_ENGINE = "compressor"  # the context engine that comes with the agent
AT_LEAST, CAPPED = 64_000, 0.85  # tokens; the share of the window that replaces them where they would fill it


def threshold(store: Store, model: str, window: int) -> int | None:
    """Tokens at which the agent that owns this store compacts a session of this model, for this window; None where
    compression is switched off.
    """
    config = _config(store).compression
    if str(config.get("enabled", True)).lower() not in ("true", "1", "yes", "on"):
        return None
    tokens = _floored(window, _share(config, model, window))
    cap = _number(config.get("threshold_tokens"))
    return min(tokens, int(cap)) if cap and cap >= 1 else tokens


def window(store: Store, model: str) -> int:
    """The context window that somebody configured for the model, in tokens; 0 for none. It is the default model's: the
    agent does not take it for another one.
    """
    section = _config(store).model
    tokens = section.get("context_length")
    if isinstance(tokens, bool) or not isinstance(tokens, int | str) or section.get("default") != model:
        return 0
    try:
        return max(0, int(tokens))
    except ValueError:  # "256K", which the agent does not take either
        return 0


def zone(store: Store) -> ZoneInfo | None:
    """The time zone configured for the agent that owns this store; None where there is none or it does not exist, and
    the agent uses its machine's. Its HERMES_TIMEZONE, which overrides the file, is unknown here.
    """
    name = _config(store).timezone.strip()
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError, KeyError):  # no such name; a directory of zones; not a path
        return None


def engine(store: Store) -> str:
    """The context engine that the agent's settings name."""
    return _config(store).engine


def _share(config: Mapping[str, Any], model: str, window: int) -> float:
    """The share of the window: the one of the longest name in `model_thresholds` that is part of the model's, else
    `threshold`.
    """
    by_model = config.get("model_thresholds")
    named = {
        str(name): share
        for name, value in (by_model.items() if isinstance(by_model, dict) else ())
        if str(name) in model and (share := _number(value))
    }
    share = named[max(named, key=len)] if named else _number(config.get("threshold")) or USUAL
    return max(share, SMALL_AT_LEAST) if window < SMALL_WINDOW else share


def _floored(window: int, share: float) -> int:
    share_tokens, cap = int(window * share), int(window * CAPPED)
    tokens = max(share_tokens, AT_LEAST)
    if tokens > cap:
        tokens = max(share_tokens, cap)
    return tokens if tokens < window else max(1, min(cap, window - 1))


def _number(value: Any) -> float | None:
    """A positive number that a person may have written as text; None for anything else."""
    try:
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        return None
    return number if 0 < number < float("inf") else None


# -- the file ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Config:
    """The parts of the file that are used, and no key or password of the others."""

    compression: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    timezone: str = ""
    engine: str = OWN_ENGINE


def _config(store: Store) -> _Config:
    """The file's settings; empty if it cannot be read."""
    if store.is_on_server:
        return _Config()
    path = store.path.with_name("config.yaml")
    try:
        config_status, store_status = os.stat(path), os.stat(store.path)
    except OSError:
        return _Config()
    if (
        not stat.S_ISREG(config_status.st_mode)
        or config_status.st_size > LARGEST
        or os.path.samestat(config_status, store_status)
    ):
        return _Config()  # closing an ordinary handle on the store itself would drop its locks
    return _read(path, config_status.st_mtime_ns, config_status.st_size)


@lru_cache(maxsize=100)
def _read(path: Path, changed: int, size: int) -> _Config:
    try:
        with path.open("rb") as file:
            config = yaml.safe_load(file.read(LARGEST))  # the loader in C crashes the process on deep nesting
    except (OSError, ValueError, yaml.YAMLError, RecursionError, TypeError, AttributeError):
        return _Config()
    if not isinstance(config, dict):
        return _Config()
    compression, model, context = (
        section if isinstance(section := config.get(name), dict) else {} for name in ("compression", "model", "context")
    )
    zone_name, engine_name = config.get("timezone"), context.get("engine")
    return _Config(
        compression,
        {name: model.get(name) for name in ("default", "context_length")},
        zone_name if isinstance(zone_name, str) else "",
        engine_name if isinstance(engine_name, str) else OWN_ENGINE,
    )
