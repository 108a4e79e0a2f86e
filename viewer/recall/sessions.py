"""Which session somebody means: by its id or the beginning of it, by what a client says of itself, by a directory."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compaction import redaction
from viewer.catalog import lines, sync
from viewer.catalog.lines import SessionFilter
from viewer.catalog.models import SessionIndex, name_of
from viewer.catalog.upsert import storable
from viewer.stores.base import NAME, Store
from viewer.stores.clean_text import line, sanitized
from viewer.stores.errors import NotFound, StoreError
from viewer.stores.listing import is_askable
from viewer.stores.registry import open_store

SIMILAR, LOOKED_AT = 5, 300  # sessions that are offered for an unknown id, and the newest among which they are sought
# What clients call the session in hand, in the environment of what they start.
NAMED_BY_CLIENTS = (
    "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "CODEX_SESSION_ID", "HERMES_SESSION_ID", "PI_SESSION_ID",
)  # fmt: skip
DIRECTORY_BY_CLIENTS = "CLAUDE_PROJECT_DIR"  # of Claude Code 2.1.141 and newer
SHORTEST = 4  # characters of the beginning of an id


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session in a list, without secrets. `last_active` in epoch seconds; numbers are None while not counted."""

    store: str
    id: str
    name: str
    last_active: float
    messages: int | None
    in_context: int
    tokens: int | None
    compactions: int | None
    project: str


@dataclass(frozen=True, slots=True)
class RecallSession:
    """A session of a store; `guessed` says why it was taken, "" where it was named."""

    store: Store
    id: str
    guessed: str = ""


class UnknownSession(NotFound):
    """No session has this id, or several have this beginning."""


def list_sessions(stores: Sequence[Store], query: str = "", project: str = "", limit: int = 20) -> list[ListedSession]:
    """The newest sessions of these stores with these words in name, id or directory; `project` is a directory."""
    asked = sanitized(query.replace("\0", " "))
    directory = storable(sanitized(project.replace("\0", "")).rstrip("/") or project[:1])
    listed = lines.page_of_lines(SessionFilter(q=asked, project=directory), stores, limit)
    return list(_listed(listed.lines, stores))


def _listed(session_lines: Sequence[SessionIndex], stores: Sequence[Store]) -> Iterator[ListedSession]:
    names = {listing.state.pk: listing.store.name for listing in sync.store_listings(stores) if listing.state}
    for each in session_lines:
        if each.problem or each.state_id not in names:
            continue
        yield ListedSession(
            store=names[each.state_id],
            id=each.session_id,
            name=redaction.redact_shown(line(name_of(each, NAME), 120)),
            last_active=each.last_active,
            messages=each.messages,
            in_context=each.live,
            tokens=None if each.due else each.tokens,
            compactions=each.compactions,
            project=redaction.redact_shown(line(each.cwd, 200)),
        )


def named(stores: Sequence[Store], session: str) -> RecallSession:
    """The session of this id, or the only one whose id begins so. Raises UnknownSession."""
    asked = sanitized(session.strip())
    if is_askable(asked) and asked:
        if (store := _holder(stores, asked)) is not None:
            return RecallSession(store, asked)
        if len(asked) >= SHORTEST:
            begun = _beginning(stores, asked)
            if len(begun) == 1:
                return begun[0]
            if begun:
                ids = ", ".join(each.id for each in begun[:SIMILAR])
                raise UnknownSession(f"Several sessions begin with {asked}: {ids}.")
    raise UnknownSession(f'There is no session "{line(session, 80)}".{_similar(stores, asked)}')


def _holder(stores: Sequence[Store], session_id: str) -> Store | None:
    for store in stores:
        try:
            with open_store(store, listed=True) as reader:
                reader.session(session_id)
            return store
        except StoreError:  # another one may have it
            continue
    return None


def _beginning(stores: Sequence[Store], start: str) -> list[RecallSession]:
    """The sessions whose ids begin so, without those of their sub-agents (`SESSION/agent-…`)."""
    by_state = {listing.state.pk: listing.store for listing in sync.store_listings(stores) if listing.state}
    begun = SessionIndex.objects.filter(state__in=list(by_state), session_id__startswith=start, problem="")
    found = [
        RecallSession(by_state[state], session_id)
        for state, session_id in begun.order_by("-last_active").values_list("state", "session_id")[: SIMILAR + 1]
        if session_id.startswith(start)  # SQLite's LIKE takes capitals for small letters
    ]
    return [each for each in found if not any(each.id.startswith(f"{other.id}/") for other in found)]


def _similar(stores: Sequence[Store], asked: str) -> str:
    newest = list_sessions(stores, limit=LOOKED_AT)
    words = asked.casefold()
    close = difflib.get_close_matches(asked[:80], [each.id for each in newest], SIMILAR, 0.6)
    similar = [each for each in newest if each.id in close or (len(words) > 2 and words in each.name.casefold())]
    offered = similar or newest[:3]
    what = "Similar ones" if similar else "The newest ones"
    shown = "; ".join(f'{each.id} ("{each.name}")' for each in offered[:SIMILAR])
    return f" {what}: {shown}." if offered else " There is no session at all."


def in_hand(stores: Sequence[Store], environment: Mapping[str, str], directory: str) -> RecallSession:
    """The session from which somebody asks who does not name it: the one that the client names in the environment of
    what it starts, else the newest one in this directory, else the newest of all. Raises UnknownSession.
    """
    for name in NAMED_BY_CLIENTS:
        session_id = sanitized(environment.get(name, ""))
        if session_id and is_askable(session_id) and (store := _holder(stores, session_id)) is not None:
            return RecallSession(store, session_id)
    by_name = {store.name: store for store in stores}
    for project in dict.fromkeys([environment.get(DIRECTORY_BY_CLIENTS, ""), directory]):
        newest = list_sessions(stores, project=project, limit=1) if project else []
        if newest:
            return RecallSession(by_name[newest[0].store], newest[0].id, "the newest in this directory")
    newest = list_sessions(stores, limit=1)
    if newest:
        return RecallSession(by_name[newest[0].store], newest[0].id, "the newest of all")
    raise UnknownSession("There is no session yet.")
