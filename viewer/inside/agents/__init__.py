"""What is written into each agent. A module for each, with one class that says it."""

from __future__ import annotations

from importlib import import_module

from .agent import InstalledAgent

NAMES = ("hermes", "claude-code", "codex", "openclaw", "pi")


def agent_named(name: str) -> InstalledAgent:
    """What is written into the agent of this name, one of `NAMES`."""
    found: InstalledAgent = import_module(f"{__name__}.{name.replace('-', '_')}").AGENT
    return found
