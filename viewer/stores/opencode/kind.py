"""OpenCode's database as a kind of store: where it is, how it is opened, how a session is resumed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from django.conf import settings

from viewer.stores.base import Session, Store
from viewer.stores.clean_text import shell_word
from viewer.stores.errors import StoreError, StoreUnavailable
from viewer.stores.kind import Agent, Noticing, OwnRules, StoreKind, for_list, newer_than
from viewer.stores.reader import Reader
from viewer.stores.sqlite.reading import BUSY_SECONDS, LIST_SECONDS, stamp
from viewer.stores.writer import Writer

from . import paths
from .paths import NAME, SessionRow
from .reader import OpenCodeReader
from .writer import OpenCodeWriter

TRIED = "1.18.33"  # the newest version whose sessions were read, compacted and resumed in tests (docs/opencode.md)
SETTLED = 2.0  # seconds until a write counts as done: file systems keep times in steps


@dataclass(frozen=True, slots=True)
class OpenCode(Agent):
    """The client that owns the sessions."""

    name: str = "OpenCode"
    is_known: bool = True

    def own_rules(self) -> OwnRules:
        return OwnRules(reads="AGENTS.md")

    def _row(self, session_id: str) -> SessionRow | None:
        with suppress(StoreError), paths.connected(self.store, LIST_SECONDS) as con:
            return paths.session_row(con, self.store, session_id)
        return None

    def resume_command(self, session_id: str) -> str:
        command, row = f"opencode -s {shell_word(session_id)}", self._row(session_id)
        directory = row.text("directory") if row else ""
        return f"cd {shell_word(directory)} && {command}" if directory else command

    def untried_version(self, session_id: str) -> str:
        row = self._row(session_id)
        return newer_than(TRIED, row.text("version"), self.name) if row else ""

    def noticing(self, session: Session) -> Noticing:
        return Noticing(
            "OpenCode reads the session anew for each request, and goes on from it with its next prompt. A terminal "
            "that has it open shows that once it is opened again."
        )


class OpenCodeStores(StoreKind):
    """A data directory of OpenCode, `~/.local/share/opencode` by default, or a database in it."""

    name = "opencode"
    schemes = ("opencode:///",)
    is_home: ClassVar[bool] = True

    def discover(self) -> list[tuple[str, str]]:
        """The database, and those of other release channels (`opencode-<channel>.db`)."""
        home: Path = settings.OPENCODE_HOME
        stores = [("opencode", f"opencode://{home}")] if os.path.isfile(home / NAME) else []
        try:
            names = sorted(os.listdir(home))
        except OSError:
            return stores
        channels = [name for name in names if name.startswith("opencode-") and name.endswith(".db")]
        return [*stores, *((name.removesuffix(".db"), f"opencode://{home / name}") for name in channels)]

    def is_here(self, store: Store) -> bool:
        return os.path.isfile(paths.database(store))

    @contextmanager
    def open(self, store: Store, *, listed: bool) -> Iterator[Reader]:
        if listed:
            with for_list(store), self._open(store, LIST_SECONDS) as reader:
                yield reader
        else:
            with self._open(store, BUSY_SECONDS) as reader:
                yield reader

    @contextmanager
    def _open(self, store: Store, patience: float) -> Iterator[Reader]:
        """All questions of one request see one state of the database."""
        before = self.identity(store)
        with paths.connected(store, patience) as con:
            con.execute("BEGIN")
            yield OpenCodeReader(store, con)
            if self.identity(store) != before:
                raise StoreUnavailable(
                    f"The file of store {store.name} was replaced while it was read. Load the page again."
                )

    def identity(self, store: Store) -> tuple[int, int]:
        return paths.identity(store)

    def version(self, store: Store, session_id: str | None = None) -> str:
        """No two are equal within SETTLED seconds of a write."""
        stamps = [stamp(f"{paths.database(store)}{ending}") for ending in ("", "-wal")]
        newest = max(changed for _, *times in stamps for changed in times)
        is_settled = time.time_ns() - newest > SETTLED * 1e9
        return f"{self.identity(store)} {stamps}" + ("" if is_settled else f" {time.time_ns()}")

    def writer(self, store: Store) -> Writer:
        return OpenCodeWriter(store)

    def agent(self, store: Store) -> Agent:
        return OpenCode(store)
