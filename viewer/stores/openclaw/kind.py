"""OpenClaw's state directory as a kind of store: where it is, how one is opened, how a session is resumed."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from viewer.stores.base import Store
from viewer.stores.clean_text import shell_word
from viewer.stores.errors import NotFound, StoreUnavailable
from viewer.stores.kind import Agent, OwnRules, said_of_engine
from viewer.stores.reader import Reader
from viewer.stores.settings_files import json5_value_in
from viewer.stores.trees import paths as tree_paths
from viewer.stores.trees.kind import TreeStores
from viewer.stores.trees.paths import Locations
from viewer.stores.writer import Writer

from . import database, paths
from .reader import OpenClawReader
from .writer import OpenClawWriter

PRUNES = (
    "OpenClaw is set to shorten or leave out old tool results in what it sends (contextPruning); this page shows the "
    "transcript, which keeps them whole."
)
PROFILE = "-"  # between the name of OpenClaw's directory and that of a profile
_PROFILES = re.compile(r"-[\w.-]{1,60}", re.ASCII)


@dataclass(frozen=True, slots=True)
class OpenClaw(Agent):
    """The client that owns OpenClaw's sessions."""

    name: str = "OpenClaw"
    is_known: bool = True

    def own_rules(self) -> OwnRules:
        own = rule_sections(self.store.path)
        if not own:
            repeats = "Its own settings (postCompactionSections) name no sections to repeat after a compaction."
        else:
            repeats = f"It repeats {' and '.join(own)} (postCompactionSections) after compactions of its own alone."
        sends = "OpenClaw sends AGENTS.md with each request."
        return OwnRules(sections=own, repeats=f"{sends} {repeats} After this one, the summary carries them.")

    def sends_otherwise(self) -> str:
        home = self.store.path
        engine = said_of_engine(context_engine(home), OWN_ENGINE)
        return " ".join(filter(None, (engine, PRUNES if prunes(home) else "")))

    def resume_command(self, session_id: str) -> str:
        """The command of the terminal client with the key of the session; "" where the key no longer
        continues in it.
        """
        try:
            location = tree_paths.find(paths.openclaw_sessions(self.store), self.store, session_id)
        except (NotFound, StoreUnavailable):
            return ""
        if not location.key or not location.is_current:
            return ""
        name = self.store.path.name
        profile = name.partition(PROFILE)[2] if name.startswith(".openclaw") else ""
        return (
            f"openclaw {f'--profile {shell_word(profile)} ' if profile else ''}tui --session {shell_word(location.key)}"
        )


class OpenClawStores(TreeStores):
    """OpenClaw's state directory, `~/.openclaw` by default, and those of its profiles next to it."""

    name = "openclaw"
    schemes = ("openclaw:///",)
    client, room = "OpenClaw", "agents"

    def home(self) -> Path:
        home: Path = settings.OPENCLAW_HOME
        return home

    def discover(self) -> list[tuple[str, str]]:
        home = self.home()
        homes = [("openclaw", home)]
        with suppress(OSError):
            names = sorted(
                each for each in os.listdir(home.parent) if _PROFILES.fullmatch(each.removeprefix(home.name))
            )
            homes += [(f"openclaw-{each.partition(PROFILE)[2]}", home.parent / each) for each in names]
        return [(name, f"openclaw://{path}") for name, path in homes if self.has_room(path)]

    def locations(self, store: Store) -> Locations:
        return paths.openclaw_sessions(store)

    @contextmanager
    def open(self, store: Store, *, listed: bool) -> Iterator[Reader]:
        self.identity(store)
        patience = database.LIST_SECONDS if listed else database.BUSY_SECONDS
        try:
            with ExitStack() as connections:
                yield OpenClawReader(store, connections, patience)
        except sqlite3.Error as problem:
            raise database.unavailable(store.path, problem) from problem

    def version(self, store: Store, session_id: str | None = None) -> str:
        if session_id is None:
            return super().version(store)
        with suppress(NotFound):
            location = tree_paths.find(self.locations(store), store, session_id)
            if location.row_id:
                return database.state_text(location.path)
        return super().version(store, session_id)

    def remarks(self, store: Store) -> list[str]:
        return list(paths.remarks(store))

    def writer(self, store: Store) -> Writer:
        return OpenClawWriter(store)

    def agent(self, store: Store) -> Agent:
        return OpenClaw(store)


# -- the client's own settings: `openclaw.json` in its state directory, which is JSON5 ---------------------------------

SETTINGS = "openclaw.json"
OWN_ENGINE = "legacy"  # the context engine that comes with OpenClaw
MOST, LONGEST = 20, 200  # sections, and characters of a section's title


def rule_sections(home: Path) -> tuple[str, ...] | None:
    """The titles of the repeated sections, none where it is switched off; None where the settings do not say."""
    titles = json5_value_in(home / SETTINGS, "agents", "defaults", "compaction", "postCompactionSections")
    if not isinstance(titles, list):
        return None
    return tuple(each[:LONGEST] for each in titles if isinstance(each, str) and each.strip())[:MOST]


def context_engine(home: Path) -> Any:
    """The configured engine that decides what a model is sent, None for nothing."""
    return json5_value_in(home / SETTINGS, "plugins", "slots", "contextEngine")


def prunes(home: Path) -> bool:
    """Whether old tool results are shortened in requests, while the session keeps them whole."""
    return bool(json5_value_in(home / SETTINGS, "agents", "defaults", "contextPruning", "mode") == "cache-ttl")
