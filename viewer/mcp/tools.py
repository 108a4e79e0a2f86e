"""The tools: their names, descriptions and arguments, and what each does."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from django.db import Error as DatabaseProblem
from pydantic import BaseModel, ConfigDict, Field, ValidationError

import compaction
from compaction import redaction
from viewer.inside import doors
from viewer.recall import reading, search, sessions, state
from viewer.recall.sessions import RecallSession
from viewer.stores.base import Store
from viewer.stores.clean_text import line, sanitized
from viewer.stores.errors import NotFound, StoreError
from viewer.stores.registry import Reader, all_stores, is_here, open_store
from viewer.web import own_database

from . import compacting, words

log = logging.getLogger(__name__)

SESSION = "Id of a session, or the beginning of one. Without it: the session you are in."
CURSOR = "From an earlier answer, to go on."


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: with which scopes of `viewer.web.auth`, in which store ("" for all), and what is known of the session
    in hand: the environment and the directory in which a client started us. `works_here`: a compaction is done in this
    process; otherwise a worker of the site does it.
    """

    scopes: frozenset[str]
    store: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = ""
    works_here: bool = False

    def stores(self) -> list[Store]:
        """The stores that can be reached now. Raises NotFound."""
        stores = [each for each in all_stores() if self.store in ("", each.name)]
        if not stores:
            raise NotFound(f"There is no store named {self.store!r}.")
        return [each for each in stores if is_here(each)]


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    text: str
    is_error: bool = False


# -- arguments ---------------------------------------------------------------------------------------------------------


class ToolArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class OfSession(ToolArguments):
    session: str = Field("", description=SESSION)


class SearchArguments(OfSession):
    query: str = Field(description="What you want to know: a whole question, or words.")
    only: search.Only = Field("summarised", description="summarised: what left your context. all: everything.")
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


# -- what they do ------------------------------------------------------------------------------------------------------


def _search(caller: Caller, asked: SearchArguments) -> str:
    with _opened(caller, asked.session) as (reader, chosen):
        hits = search.search_history(reader, chosen.id, asked.query, asked.only, asked.cursor)
        return f"{_heading(reader, chosen)}\n\n{words.searched(hits)}"


def _read(caller: Caller, asked: ReadArguments) -> str:
    with _opened(caller, asked.session) as (reader, chosen):
        messages = reading.read_history(
            reader, chosen.id, around=asked.around, ids=asked.ids, offset=asked.offset, cursor=asked.cursor
        )
        return f"{_heading(reader, chosen)}\n\n{words.read(messages)}"


def _lost(caller: Caller, asked: OfSession) -> str:
    with _opened(caller, asked.session) as (reader, chosen):
        return f"{_heading(reader, chosen)}\n\n{words.lost(state.what_was_lost(reader, chosen.id))}"


def _seen(caller: Caller, asked: OfSession) -> str:
    with _opened(caller, asked.session) as (reader, chosen):
        return f"{_heading(reader, chosen)}\n\n{words.seen(state.what_the_model_sees(reader, chosen.id))}"


def _list(caller: Caller, asked: ListArguments) -> str:
    return words.listed(sessions.list_sessions(caller.stores(), asked.query, asked.project, asked.limit))


def _compact(caller: Caller, asked: CompactArguments) -> str:
    with _opened(caller, asked.session) as (reader, chosen):
        heading, session_id = _heading(reader, chosen), reader.newest_part(chosen.id)
    if asked.action == "plan":
        return f"{heading}\n\n{words.planned(compacting.plan(chosen.store, session_id))}"
    return f"{heading}\n\n{compacting.apply(chosen.store, session_id, here=caller.works_here)}"


def _undo(caller: Caller, asked: OfSession) -> str:
    with _opened(caller, asked.session) as (reader, chosen):
        heading, session_id = _heading(reader, chosen), reader.newest_part(chosen.id)
    return f"{heading}\n\n{compacting.undo(chosen.store, session_id)}"


@contextmanager
def _opened(caller: Caller, session: str) -> Iterator[tuple[Reader, RecallSession]]:
    stores = caller.stores()
    if session.strip():
        chosen = sessions.named(stores, session)
    else:
        chosen = sessions.in_hand(stores, caller.environment, caller.directory)
    with open_store(chosen.store) as reader:
        yield reader, chosen


def _heading(reader: Reader, chosen: RecallSession) -> str:
    name = line(redaction.redact_shown(reader.session(chosen.id).name), 80)
    return f'Session "{name}" (guessed: {chosen.guessed}; {chosen.id})' if chosen.guessed else f'Session "{name}"'


@dataclass(frozen=True, slots=True)
class RecallTool:
    """One tool: the scope that it needs, its arguments and what it does."""

    name: str
    description: str
    scope: str
    arguments: type[ToolArguments]
    answer: Callable[[Caller, Any], str]

    @property
    def writes(self) -> bool:
        return self.scope != "read"


TOOLS = (
    RecallTool(
        "search_history",
        "Find what was summarised away: search the parts of this session that are no longer in your context. Ask with "
        "a whole question. Returns the texts themselves.",
        "read",
        SearchArguments,
        _search,
    ),
    RecallTool(
        "read_history",
        "Read earlier messages of this session word for word, from a message on or by their numbers.",
        "read",
        ReadArguments,
        _read,
    ),
    RecallTool(
        "what_was_lost",
        "What the newest compaction lost: first what your next turn needs, then other details that no message in your "
        "context has.",
        "read",
        OfSession,
        _lost,
    ),
    RecallTool(
        "what_the_model_sees",
        "How full your context is, what the summary in it says, how old it is and what was kept word for word.",
        "read",
        OfSession,
        _seen,
    ),
    RecallTool(
        "list_sessions",
        "Sessions of all agents on this machine, the newest first.",
        "read",
        ListArguments,
        _list,
    ),
    RecallTool(
        "compact_session",
        "Compact a session: a summary replaces older messages, which can still be found. First plan, then apply.",
        "compact",
        CompactArguments,
        _compact,
    ),
    RecallTool("undo_compaction", "Take the newest compaction of a session back.", "compact", OfSession, _undo),
)


def tools_for(caller: Caller) -> list[RecallTool]:
    """The tools that the caller's scopes allow."""
    return [each for each in TOOLS if each.scope in caller.scopes]


def answer(caller: Caller, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
    """What a tool answers; every refusal is a sentence."""
    tool = next((each for each in TOOLS if each.name == name), None)
    if tool is None:
        return ToolAnswer(
            f"There is no tool {line(name, 80)}; there are {', '.join(each.name for each in TOOLS)}.", is_error=True
        )
    if tool.scope not in caller.scopes:
        return ToolAnswer(f"{name} needs the scope {tool.scope}, which was not given here.", is_error=True)
    try:
        asked = tool.arguments.model_validate(dict(arguments))
        text = sanitized(tool.answer(caller, asked))
        if caller.store:
            doors.recalled(caller.store)
        return ToolAnswer(text)
    except ValidationError as wrong:
        problems = "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in wrong.errors())
        return ToolAnswer(sanitized(f"These arguments cannot be used: {problems}"), is_error=True)
    except StoreError as refusal:
        return ToolAnswer(sanitized(refusal.message), is_error=True)
    except compaction.CompactionError as refusal:
        return ToolAnswer(refusal.reason, is_error=True)
    except DatabaseProblem as failure:
        unavailable = own_database.refusal(failure)
        if unavailable is None:
            log.exception("The tool %s failed.", name)
        return ToolAnswer(unavailable.message if unavailable else UNEXPECTED, is_error=True)
    except Exception:
        log.exception("The tool %s failed.", name)
        return ToolAnswer(UNEXPECTED, is_error=True)


UNEXPECTED = "Something unexpected went wrong; the log of Palimpsest says what."
