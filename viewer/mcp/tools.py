"""The tools as a client sees them: names, descriptions and arguments. What they do is in `answers`, which takes a
second to import: a server needs it at the first call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

NAME = "palimpsest"
INSTRUCTIONS = (
    "Your context may begin with a summary. What it leaves out is not lost: ask search_history with your question, "
    "then read_history for what is around a match."
)
SESSION = "Id of a session, or the beginning of one. Without it: the session you are in."
CURSOR = "From an earlier answer, to go on."


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: with which scopes of `viewer.web.auth`, in which store ("" for all), and what is known of the session
    in hand: the environment and the directory in which a client started us. `works_here`: the site need not run, so
    this process makes the tables of our own database and does compactions itself.
    """

    scopes: frozenset[str]
    store: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = ""
    works_here: bool = False

    def within(self, meta: Mapping[str, Any]) -> Caller:
        """The caller in the session that a client names with each call, as Codex does (openai/codex#18093, #21329)."""
        turn = meta.get("x-codex-turn-metadata")
        named = turn.get("thread_id") or turn.get("session_id") if isinstance(turn, dict) else ""
        thread = meta.get("threadId") or named
        if not isinstance(thread, str) or not thread:
            return self
        return replace(self, environment={**self.environment, "CODEX_THREAD_ID": thread})


# -- arguments ---------------------------------------------------------------------------------------------------------


class ToolArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class OfSession(ToolArguments):
    session: str = Field("", description=SESSION)


class SearchArguments(OfSession):
    query: str = Field(description="What you want to know: a whole question, or words.")
    only: Literal["summarised", "all"] = Field(
        "summarised", description="summarised: what left your context. all: everything."
    )
    cursor: str = Field("", description=CURSOR)


class ReadArguments(OfSession):
    around: int | None = Field(None, description="Number of a message: read from there on.")
    ids: list[int] = Field([], description="Numbers of messages: read only these.")
    offset: int = Field(0, ge=0, description="With around: begin at this character of the message.")
    cursor: str = Field("", description=CURSOR)


class ListArguments(ToolArguments):
    query: str = Field("", description="Words in name, id or directory.")
    project: str = Field("", description="A working directory.")
    limit: int = Field(10, ge=1, le=50)


class CompactArguments(OfSession):
    action: Literal["plan", "apply"] = Field("plan", description="plan only says what apply would do.")


@dataclass(frozen=True, slots=True)
class RecallTool:
    """One tool: the scope that it needs, and its arguments."""

    name: str
    description: str
    scope: str
    arguments: type[ToolArguments]

    def described(self) -> dict[str, Any]:
        """The tool as the protocol has it."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.arguments.model_json_schema(),
            "annotations": {"readOnlyHint": self.scope == "read", "destructiveHint": False, "openWorldHint": False},
        }


TOOLS = (
    RecallTool(
        "search_history",
        "Find what was summarised away: search the parts of this session that are no longer in your context. Ask with "
        "a whole question. Returns the texts themselves.",
        "read",
        SearchArguments,
    ),
    RecallTool(
        "read_history",
        "Read earlier messages of this session word for word, from a message on or by their numbers.",
        "read",
        ReadArguments,
    ),
    RecallTool(
        "what_was_lost",
        "What the newest compaction lost: first what your next turn needs, then other details that no message in your "
        "context has.",
        "read",
        OfSession,
    ),
    RecallTool(
        "what_the_model_sees",
        "How full your context is, what the summary in it says, how old it is and what was kept word for word.",
        "read",
        OfSession,
    ),
    RecallTool(
        "list_sessions",
        "Sessions of all agents on this machine, the newest first.",
        "read",
        ListArguments,
    ),
    RecallTool(
        "compact_session",
        "Compact a session: a summary replaces older messages, which can still be found. First plan, then apply.",
        "compact",
        CompactArguments,
    ),
    RecallTool("undo_compaction", "Take the newest compaction of a session back.", "compact", OfSession),
)


def tools_for(caller: Caller) -> list[RecallTool]:
    """The tools that the caller's scopes allow."""
    return [each for each in TOOLS if each.scope in caller.scopes]
