"""Reading the sessions of pi's directory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

from viewer.stores.errors import StoreReadOnly
from viewer.stores.lock_owners import Presence
from viewer.stores.refused import Action, Refusal, read_only
from viewer.stores.trees import presence as tree_presence
from viewer.stores.trees.paths import Locations
from viewer.stores.trees.reader import TreeReader

from . import paths, presence

SHORTENS = (0, 87)  # the first version of pi that knows edits


@dataclass(frozen=True)
class PiReader(TreeReader):
    """pi's sessions."""

    is_strict: ClassVar[bool] = False

    def _all(self) -> Locations:
        return paths.pi_sessions(self.store)

    def refusal(self, session_id: str | None, action: Action = "compact") -> Refusal | None:
        if session_id is None:
            room = self.store.path / "sessions"
            return None if os.access(room, os.R_OK | os.X_OK) else StoreReadOnly(f"This user may not read {room}.")
        if action == "split":
            return StoreReadOnly(tree_presence.NO_SPLIT)
        if action == "prune":
            return None if self._shortens(session_id) else StoreReadOnly(presence.NO_EDITS)
        of = presence.of_pi_branch if action == "branch" else presence.of_pi
        return read_only(of(self._location(session_id)))

    def _shortens(self, session_id: str) -> bool:
        """Edits are written only once a client that knows them was used; an older client ignores them."""
        return presence.pi_version(self.store.path) >= SHORTENS or bool(self._messages(session_id).edits)

    def presence(self, session_id: str) -> Presence:
        location = self._location(session_id)
        return Presence(presence.holder_of(location, self._known_facts(location).cwd), sees_turns=True)
