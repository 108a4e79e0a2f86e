"""Reading the sessions of OpenClaw's state directory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar

from viewer.stores.base import Capabilities
from viewer.stores.errors import SessionEnded, StoreReadOnly, StoreUnavailable
from viewer.stores.lock_owners import Holder
from viewer.stores.message import StoredMessage

from . import aged, database, places, refusals, turns
from .compacting import CompactingReader
from .places import Places


@dataclass(frozen=True)
class OpenClawReader(CompactingReader):
    """OpenClaw's sessions."""

    is_strict: ClassVar[bool] = True

    def _all(self) -> Places:
        return places.openclaw_sessions(self.store, self.patience)

    def sent(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        return aged.as_sent(self._messages(session_id), super().sent(session_id, ids))

    def capabilities(self) -> Capabilities:
        capabilities_of_files = super().capabilities()
        paths = [path for _, path in database.databases(self.store.path)]
        files = sum(each.state.size for each in self.listing.all() if not each.row_id)
        schemas = []
        for path in paths:
            with suppress(StoreUnavailable):  # its agent is left out
                schemas.append(database.schema(path, database.state_text(path))[0])
        return replace(capabilities_of_files, schema=max(schemas, default=None), size=files + database.sizes(paths))

    def compact_reason(self) -> str:
        """For a store whose databases are all refused, the reason for the first one."""
        reasons = []
        for _, path in database.databases(self.store.path):
            with suppress(StoreUnavailable):
                reasons.append(refusals.of_database(path))
        return reasons[0] if reasons and all(reasons) else ""

    def compact_refusal(self, session_id: str, mode: str = "in_place") -> StoreReadOnly | SessionEnded | None:
        location = self._location(self._following(session_id))
        reason = refusals.NO_SPLIT if mode != "in_place" else refusals.of_place(location)
        return StoreReadOnly(reason) if reason else None

    def branch_refusal(self, session_id: str) -> StoreReadOnly | SessionEnded | None:
        reason = refusals.of_place_to_branch(self._location(self._following(session_id)))
        return StoreReadOnly(reason) if reason else None

    def lock_of(self, session_id: str) -> Holder | None:
        return turns.holder_at(self.store.path, self._location(session_id))

    def sees_turns(self) -> bool:
        return True
