"""Reading the sessions of pi's directory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

from viewer.stores.errors import SessionEnded, StoreReadOnly
from viewer.stores.lock_owners import Holder
from viewer.stores.trees import presence as tree_presence
from viewer.stores.trees.paths import Places
from viewer.stores.trees.reader import TreeReader

from . import paths, presence

SHORTENS = (0, 87)  # the first version of pi that knows edits


@dataclass(frozen=True)
class PiReader(TreeReader):
    """pi's sessions."""

    is_strict: ClassVar[bool] = False

    def _all(self) -> Places:
        return paths.pi_sessions(self.store)

    def compact_reason(self) -> str:
        room = self.store.path / "sessions"
        return "" if os.access(room, os.R_OK | os.X_OK) else f"This user may not read {room}."

    def compact_refusal(self, session_id: str, mode: str = "in_place") -> StoreReadOnly | SessionEnded | None:
        reason = tree_presence.NO_SPLIT if mode != "in_place" else presence.of_pi(self._location(session_id))
        return StoreReadOnly(reason) if reason else None

    def prune_refusal(self, session_id: str) -> str:
        """Edits are written only once a client that knows them was used; an older client ignores them."""
        is_known = presence.pi_version(self.store.path) >= SHORTENS
        return "" if is_known or self._messages(session_id).edits else presence.NO_EDITS

    def branch_refusal(self, session_id: str) -> StoreReadOnly | SessionEnded | None:
        reason = presence.of_pi_branch(self._location(session_id))
        return StoreReadOnly(reason) if reason else None

    def lock_of(self, session_id: str) -> Holder | None:
        location = self._location(session_id)
        return presence.holder_of(location, self._known_facts(location).cwd)

    def sees_turns(self) -> bool:
        return True
