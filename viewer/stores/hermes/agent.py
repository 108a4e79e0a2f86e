"""The agent that owns a store: when it compacts by itself, its time zone, when it notices a change."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from viewer.stores.base import Session, Store

from . import agent_config

# Sources whose open process keeps the context to itself until the session is resumed.
_HELD_IN_MEMORY = frozenset({"cli", "tui", "desktop", "acp", "local"})


@dataclass(frozen=True, slots=True)
class HermesAgent:
    """Hermes Agent, as far as its store and its settings tell."""

    store: Store

    @property
    def is_known(self) -> bool:
        """Whether an agent that we know owns the store: none of them writes to PostgreSQL."""
        return self.store.is_file

    def threshold(self, model: str, window: int) -> int | None:
        """Tokens in context at which it compacts a session of this model by itself; None where it never does."""
        return agent_config.threshold(self.store, model, window)

    def zone(self) -> ZoneInfo | None:
        """The time zone it tells the date in, None where that is its machine's."""
        return agent_config.zone(self.store)

    def resume_command(self, session_id: str) -> str:
        """What to type into a terminal to go on with this session."""
        return f"hermes --resume {shlex.quote(session_id)}"

    def holds_in_memory(self, session: Session) -> bool:
        """Whether an open process goes on with the context that it has, until the session is resumed."""
        return session.source.lower() in _HELD_IN_MEMORY
