"""The agent that owns a store: at which size it compacts, its time zone, when it notices a change."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from viewer.stores.base import Session
from viewer.stores.clean_text import shell_word
from viewer.stores.kind import Agent, said_of_engine

from . import agent_config
from .sessions import CONTINUED

# Sources whose open process keeps its own context in memory until the session is resumed.
_HELD_IN_MEMORY = frozenset({"cli", "tui", "desktop", "acp", "local"})


@dataclass(frozen=True, slots=True)
class HermesAgent(Agent):
    """Hermes Agent, as far as its store and its settings say."""

    @property
    def name(self) -> str:
        return "Hermes" if self.is_known else "its agent"

    @property
    def is_known(self) -> bool:
        """Whether an agent owns the store: no known agent writes to PostgreSQL."""
        return not self.store.is_on_server

    def threshold(self, model: str, window: int) -> int | None:
        return agent_config.threshold(self.store, model, window)

    def zone(self) -> ZoneInfo | None:
        return agent_config.zone(self.store)

    def sends_otherwise(self) -> str:
        return said_of_engine(agent_config.engine(self.store), agent_config.OWN_ENGINE)

    def resumes(self, session: Session) -> bool:
        return session.end_reason != CONTINUED

    def resume_command(self, session_id: str) -> str:
        return f"hermes --resume {shell_word(session_id)}"

    def holds_in_memory(self, session: Session) -> bool:
        return session.source.lower() in _HELD_IN_MEMORY and not self.store.is_managed
