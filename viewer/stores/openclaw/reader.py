"""Reading the sessions of OpenClaw's state directory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from viewer.stores.base import Capabilities
from viewer.stores.errors import StoreReadOnly, StoreUnavailable
from viewer.stores.lock_owners import Presence
from viewer.stores.message import StoredMessage
from viewer.stores.refused import NOT_SHORTENED, Action, Refusal, read_only
from viewer.stores.trees import presence as tree_presence
from viewer.stores.trees.codec import EntrySource
from viewer.stores.trees.facts import TreeFacts
from viewer.stores.trees.messages import EntryMessages
from viewer.stores.trees.paths import Locations, SessionLocation
from viewer.stores.trees.reader import TreeReader

from . import codec, database, paths, presence, records


@dataclass(frozen=True)
class OpenClawReader(TreeReader):
    """OpenClaw's sessions. Connections to databases are closed with `connections`."""

    connections: ExitStack
    patience: float = database.BUSY_SECONDS
    _connected: dict[Path, sqlite3.Connection] = field(default_factory=dict)

    is_strict: ClassVar[bool] = True

    def _all(self) -> Locations:
        return paths.openclaw_sessions(self.store, self.patience)

    def _connection(self, location: SessionLocation) -> sqlite3.Connection | None:
        """A connection to the database that a session is in, None for one in a file. Raises StoreUnavailable."""
        if not location.row_id:
            return None
        if location.path not in self._connected:
            con = self.connections.enter_context(database.connected(location.path, self.patience))
            self._connected[location.path] = con
        return self._connected[location.path]

    def _messages(self, session_id: str) -> EntryMessages:
        location = self._location(session_id)
        return records.messages_of(location, self._connection(location))

    @contextmanager
    def _source(self, session_id: str) -> Iterator[EntrySource]:
        location = self._location(session_id)
        with records.opened(location, self._connection(location)) as source:
            yield source

    def _facts(self, location: SessionLocation) -> TreeFacts:
        return records.facts_of(location, self._connection(location))

    def sent(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        return codec.as_sent(self._messages(session_id), super().sent(session_id, ids))

    def capabilities(self) -> Capabilities:
        capabilities_of_files = super().capabilities()
        all_databases = [path for _, path in database.databases(self.store.path)]
        files = sum(each.state.size for each in self.listing.all() if not each.row_id)
        schemas = []
        for path in all_databases:
            with suppress(StoreUnavailable):  # its agent is left out
                schemas.append(database.schema(path, database.state_text(path))[0])
        size = files + database.sizes(all_databases)
        return replace(capabilities_of_files, schema=max(schemas, default=None), size=size)

    def refusal(self, session_id: str | None, action: Action = "compact") -> Refusal | None:
        """For a store whose databases are all refused, the reason for the first one."""
        if session_id is None:
            return read_only(self._store_refusal())
        location = self._location(self._following(session_id))
        if action == "branch":
            return read_only(presence.of_location_to_branch(location))
        if action == "compact":
            return read_only(presence.of_location(location))
        return StoreReadOnly(tree_presence.NO_SPLIT if action == "split" else NOT_SHORTENED)

    def _store_refusal(self) -> str:
        reasons = []
        for _, path in database.databases(self.store.path):
            with suppress(StoreUnavailable):
                reasons.append(presence.of_database(path))
        return reasons[0] if reasons and all(reasons) else ""

    def presence(self, session_id: str) -> Presence:
        return Presence(presence.holder_at(self.store.path, self._location(session_id)), sees_turns=True)
