"""The stores page: what is open, what it can do and why not, and what was found but cannot be read yet."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from viewer.broken import Broken, lines_of
from viewer.errors import StoreError
from viewer.pages.http import page
from viewer.pages.sessions.views import why_open
from viewer.rendering import formats
from viewer.runs import workers
from viewer.stores.base import Capabilities, Store
from viewer.stores.registry import all_stores, open_store, unread_homes


@dataclass(frozen=True, slots=True)
class Ability:
    """One thing a store can do, or why it cannot."""

    name: str
    can: bool
    reason: str


@dataclass(frozen=True, slots=True)
class ShownStore:
    """One store. `problem` says why it cannot be opened; nothing else is known of it then."""

    name: str
    path: str
    why: str
    ours: bool
    problem: str = ""
    schema: str = ""
    size: str = ""
    sessions: str = ""
    abilities: tuple[Ability, ...] = ()


@dataclass(frozen=True, slots=True)
class StoresPage:
    """`homes` are (agent, directory) of other agents that are here and cannot be read yet; `workers` counts those that
    are alive, "" for none; `broken` are stores that cannot be shown.
    """

    workers: str
    stores: tuple[ShownStore, ...]
    broken: tuple[Broken, ...]
    homes: tuple[tuple[str, str], ...]


@require_safe
def stores(request: HttpRequest) -> HttpResponse:
    count = workers.alive()
    shown, broken = lines_of(all_stores(), _shown, lambda store: (store.name, store.name))
    data = StoresPage(
        workers=formats.counted(count, "worker") if count else "",
        stores=shown,
        broken=broken,
        homes=tuple((agent, str(path)) for agent, path in unread_homes()),
    )
    return page(request, "stores/stores.html", data)


def _shown(store: Store) -> ShownStore:
    try:
        with open_store(store, listed=True) as reader:
            capabilities = reader.capabilities()
    except StoreError as problem:
        return ShownStore(store.name, store.place, why_open(store), store.is_managed, problem=problem.message)
    return ShownStore(
        name=store.name,
        path=store.place,
        why=why_open(store),
        ours=store.is_managed,
        schema=f"schema {capabilities.schema}" if capabilities.schema is not None else "",
        size=formats.size(capabilities.size),
        sessions=formats.counted(capabilities.sessions, "session"),
        abilities=_abilities(capabilities),
    )


def _abilities(found: Capabilities) -> tuple[Ability, ...]:
    return (
        Ability("Read sessions, History and what the model sees", True, ""),
        Ability("Compact and undo", found.can_compact, found.compact_reason),
        Ability(
            "Search index", found.search, "" if found.search else "This store has no full-text index of its messages."
        ),
        Ability(
            "Summaries are marked",
            found.summary_flag,
            ""
            if found.summary_flag
            else "There is no column for the mark; summaries are recognised by their first words.",
        ),
        Ability(
            "Running turns are seen",
            found.turn_leases,
            "" if found.turn_leases else "This agent does not say when a turn is running; compact while it rests.",
        ),
    )
