"""The common part of the writers of both kinds: a session may be written while no client works on it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from viewer.stores.errors import StoreReadOnly
from viewer.stores.writer import Writer

from .places import SessionPlace


@dataclass(frozen=True, slots=True)
class TreeWriter(Writer):
    """The writes of a store of trees. Neither client can be locked out of a session, so a lock is a check whether one
    works on it.
    """

    refresh_seconds: ClassVar[float] = 3_600.0
    no_rename: ClassVar[str]  # why no name can be given, as a sentence

    @abstractmethod
    def _location(self, session_id: str) -> SessionPlace:
        """The current location of a session. Raises NotFound."""

    @abstractmethod
    def _require_idle(self, session_id: str) -> SessionPlace:
        """The location of a session that no client works on. Raises SessionBusy, NotFound."""

    def take_lock(self, session_id: str, holder: str) -> None:
        self._require_idle(session_id)

    def refresh_lock(self, session_id: str, holder: str) -> bool:
        return True

    def take_lease(self, session_id: str, holder: str) -> None:
        self._require_idle(session_id)

    def rename(self, session_id: str, title: str) -> None:
        self._location(session_id)
        raise StoreReadOnly(self.no_rename)
