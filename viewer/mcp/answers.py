"""What the tools do, and what they answer."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.core.management import call_command
from django.db import Error as DatabaseProblem
from django.db import connection
from pydantic import ValidationError

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
from .tools import TOOLS, Caller, CompactArguments, ListArguments, OfSession, ReadArguments, SearchArguments

log = logging.getLogger(__name__)

UNEXPECTED = "Something unexpected went wrong; the log of Palimpsest says what."


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    text: str
    is_error: bool = False


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
    return words.listed(sessions.list_sessions(_stores(caller), asked.query, asked.project, asked.limit))


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


@cache
def _have_tables() -> None:
    """Make the tables of our own database where the site never ran. Raises OwnDatabaseUnavailable for those of another
    version.
    """
    if not connection.introspection.table_names():
        call_command("migrate", verbosity=0, stdout=sys.stderr)
    elif own_database.is_behind():
        raise own_database.OwnDatabaseUnavailable(own_database.BEHIND)


def _stores(caller: Caller) -> list[Store]:
    """The stores that can be reached now. Raises NotFound."""
    stores = [each for each in all_stores() if caller.store in ("", each.name)]
    if not stores:
        raise NotFound(f"There is no store named {caller.store!r}.")
    return [each for each in stores if is_here(each)]


@contextmanager
def _opened(caller: Caller, session: str) -> Iterator[tuple[Reader, RecallSession]]:
    stores = _stores(caller)
    if session.strip():
        chosen = sessions.named(stores, session)
    else:
        chosen = sessions.in_hand(stores, caller.environment, caller.directory)
    with open_store(chosen.store) as reader:
        yield reader, chosen


def _heading(reader: Reader, chosen: RecallSession) -> str:
    name = line(redaction.redact_shown(reader.session(chosen.id).name), 80)
    return f'Session "{name}" (guessed: {chosen.guessed}; {chosen.id})' if chosen.guessed else f'Session "{name}"'


_ANSWERS: dict[str, Callable[[Caller, Any], str]] = {
    "search_history": _search,
    "read_history": _read,
    "what_was_lost": _lost,
    "what_the_model_sees": _seen,
    "list_sessions": _list,
    "compact_session": _compact,
    "undo_compaction": _undo,
}


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
        if caller.works_here:
            _have_tables()
        asked = tool.arguments.model_validate(dict(arguments))
        text = sanitized(_ANSWERS[name](caller, asked))
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
