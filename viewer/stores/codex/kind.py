"""Codex' directory as a kind of store: where it is, how it is opened, how a session is resumed."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from django.conf import settings

from viewer.stores.base import Session, Store
from viewer.stores.clean_text import shell_word
from viewer.stores.errors import NotFound
from viewer.stores.home import HomeStores
from viewer.stores.jsonl.compressed import ENDING
from viewer.stores.kind import Agent, Noticing, OwnRules, newer_than
from viewer.stores.reader import Reader
from viewer.stores.settings_files import value_in
from viewer.stores.writer import Writer

from . import paths, presence
from .facts import facts_of, head_of
from .reader import CodexReader
from .writer import CodexWriter

TRIED = "0.171.0"  # the newest version whose sessions were read, compacted and resumed in tests (docs/codex.md)
SETTINGS = "config.toml"
LIMIT_SETTING = "model_auto_compact_token_limit"
# In `config.toml`, which a person edits: where something in it is wrong, the client's default counts.
# The client compacts at nine tenths of a model's window, and reports 95 hundredths of it (0.169.0, four models).
USUAL_LIMIT = (18, 19)


@dataclass(frozen=True, slots=True)
class Codex(Agent):
    """The client that owns the sessions."""

    name: str = "Codex"
    is_known: bool = True

    def threshold(self, model: str, window: int) -> int | None:
        return _threshold(self.store, window)

    def own_rules(self) -> OwnRules:
        return OwnRules(reads="AGENTS.md")

    def resume_command(self, session_id: str) -> str:
        """With the directory that it worked in; "" for a sub-agent's session, which cannot be resumed."""
        command = f"codex resume {shell_word(session_id)}"
        try:
            threads = paths.threads(self.store)
            facts = facts_of(paths.find(self.store, session_id, threads), threads)
        except (NotFound, OSError):
            return command
        if facts.head.is_sub_agent:
            return ""
        return f"cd {shell_word(facts.cwd)} && {command}" if facts.cwd else command

    def untried_version(self, session_id: str) -> str:
        try:
            head = head_of(paths.find(self.store, session_id).rollout.path)
        except (NotFound, OSError):
            return ""
        return newer_than(TRIED, head.version, self.name)

    def open_sessions(self) -> Collection[str] | None:
        return presence.open_sessions(self.store)

    def noticing(self, session: Session) -> Noticing:
        """No client has the session open: otherwise a compaction would have been refused."""
        return Noticing("Codex goes on from it when the session is resumed.", must_resume=True)


class CodexStores(HomeStores):
    """A home of Codex, `~/.codex` by default."""

    name = "codex"
    schemes = ("codex:///",)
    client = "Codex"
    endings: ClassVar[tuple[str, ...]] = (".jsonl", f".jsonl{ENDING}")

    def home(self) -> Path:
        home: Path = settings.CODEX_HOME
        return home

    def rooms(self, home: Path) -> list[Path]:
        return [home / directory for directory in paths.DIRECTORIES]

    @contextmanager
    def open(self, store: Store, *, listed: bool) -> Iterator[Reader]:
        self.identity(store)
        yield CodexReader(store)

    def states(self, store: Store) -> Iterable[object]:
        """With the names that its database has for them."""
        return ((each.id, each.rollout.path, each.state.text, each.row) for each in paths.all_files(store))

    def version(self, store: Store, session_id: str | None = None) -> str:
        """A session's is made from its current file: an undo in an earlier file also changes the time of this one."""
        if session_id is None:
            return super().version(store)
        with suppress(NotFound):
            file = paths.find(store, session_id)
            return f"{file.rollout.path} {file.state.text}"
        return ""

    def writer(self, store: Store) -> Writer:
        return CodexWriter(store)

    def agent(self, store: Store) -> Agent:
        return Codex(store)


# -- the client's own settings -----------------------------------------------------------------------------------------


def _threshold(store: Store, window: int) -> int:
    """Tokens in context at which the client compacts, for a model with this reported window. A configured limit counts
    where it is lower.
    """
    usual = window * USUAL_LIMIT[0] // USUAL_LIMIT[1]
    limit = value_in(store.path / SETTINGS, tomllib.loads, LIMIT_SETTING)
    return min(max(limit, 1), usual) if type(limit) is int else usual  # with 0 or less, it compacts each time
