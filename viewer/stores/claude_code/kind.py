"""Claude Code's directory as a kind of store: where it is, how it is opened, how a session is resumed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from viewer.stores.base import Session, Store
from viewer.stores.clean_text import shell_word
from viewer.stores.errors import NotFound
from viewer.stores.home import HomeStores
from viewer.stores.kind import Agent, Noticing, OwnRules, newer_than
from viewer.stores.reader import Reader
from viewer.stores.writer import Writer

from . import paths, presence, project_rules
from .facts import facts_of
from .reader import ClaudeReader
from .writer import ClaudeWriter

TRIED = "2.1.332"  # the newest version whose sessions were read, compacted and resumed in tests (docs/claude-code.md)


@dataclass(frozen=True, slots=True)
class ClaudeCode(Agent):
    """The client that owns the sessions."""

    name: str = "Claude Code"
    is_known: bool = True

    def own_rules(self) -> OwnRules:
        return OwnRules(reads="CLAUDE.md (AGENTS.md where there is none)")

    def passes_over(self, directory: str, name: str) -> bool:
        return name == "AGENTS.md" and not project_rules.reads_agents_md(Path(directory), self.store.path)

    def untried_version(self, session_id: str) -> str:
        try:
            file = paths.find(self.store, session_id)
            return newer_than(TRIED, facts_of(file).version, self.name)
        except (NotFound, OSError):
            return ""

    def resume_command(self, session_id: str) -> str:
        """With the directory that it worked in: the client looks for a session in the directory where it is started."""
        if "/" in session_id:
            return ""  # a sub-agent is not resumed
        command = f"claude --resume {shell_word(session_id)}"
        try:
            file = paths.find(self.store, session_id)
            cwd = facts_of(file).cwd
        except (NotFound, OSError):
            return command
        return f"cd {shell_word(cwd)} && {command}" if cwd else command

    def open_sessions(self) -> Collection[str] | None:
        return presence.open_sessions(self.store)

    def noticing(self, session: Session) -> Noticing:
        """No client has the session open: otherwise a compaction would have been refused."""
        return Noticing("Claude Code goes on from it when the session is resumed.", must_resume=True)


class ClaudeCodeStores(HomeStores):
    """A configuration directory of Claude Code, `~/.claude` by default."""

    name = "claude-code"
    schemes = ("claude-code:///",)
    client, room = "Claude Code", paths.ROOM

    def home(self) -> Path:
        home: Path = settings.CLAUDE_HOME
        return home

    @contextmanager
    def open(self, store: Store, *, listed: bool) -> Iterator[Reader]:
        self.identity(store)
        yield ClaudeReader(store)

    def states(self, store: Store) -> Iterable[object]:
        return ((path, state.text) for path, state in paths.file_states(store))

    def version(self, store: Store, session_id: str | None = None) -> str:
        """A session's is made from its own file: to look at thousands for each would take longer than reading it."""
        if session_id is None:
            return super().version(store)
        with suppress(NotFound):
            return paths.find(store, session_id).state.text
        return ""

    def writer(self, store: Store) -> Writer:
        return ClaudeWriter(store)

    def agent(self, store: Store) -> Agent:
        return ClaudeCode(store)
