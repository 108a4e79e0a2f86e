"""The stores page: what is open, what it can do and why not, and what was found but cannot be read yet."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from viewer.catalog import sync
from viewer.catalog.search import indexing
from viewer.catalog.search.indexing import TextProgress
from viewer.pages.http import page, shows_refusals
from viewer.pages.sessions.views import why_open
from viewer.rendering import formats
from viewer.runs import workers
from viewer.stores.base import Capabilities, Store
from viewer.stores.errors import StoreError
from viewer.stores.registry import Reader, all_stores, get_store, open_store, remarks, unread_homes
from viewer.web.unreadable import UnreadableLine, lines_of


@dataclass(frozen=True, slots=True)
class Ability:
    """One thing a store can do, or why it cannot."""

    name: str
    can: bool
    reason: str


@dataclass(frozen=True, slots=True)
class IndexSwitch:
    """Whether this site keeps an index of a store's text: the button at `href` says the other."""

    href: str
    is_on: bool
    progress: str


@dataclass(frozen=True, slots=True)
class ShownStore:
    """One store. `problem` says why it cannot be opened; nothing else is known of it then. `remarks` are sentences on
    what of it is left out, and where links are followed. `index` is None for a store that has its own.
    """

    name: str
    path: str
    why: str
    ours: bool
    problem: str = ""
    schema: str = ""
    size: str = ""
    sessions: str = ""
    abilities: tuple[Ability, ...] = ()
    remarks: tuple[str, ...] = ()
    index: IndexSwitch | None = None


@dataclass(frozen=True, slots=True)
class StoresPage:
    """`homes` are (agent, directory) of other agents that are here and cannot be read yet; `workers` counts those that
    are alive, "" for none; `broken` are stores that cannot be shown; `command` is how the command line is called.
    """

    workers: str
    stores: tuple[ShownStore, ...]
    broken: tuple[UnreadableLine, ...]
    homes: tuple[tuple[str, str], ...]
    command: str


@require_safe
def stores(request: HttpRequest) -> HttpResponse:
    count = workers.alive()
    shown, broken = lines_of(all_stores(), _shown, lambda store: (store.name, store.name))
    data = StoresPage(
        workers=formats.counted(count, "worker") if count else "",
        stores=shown,
        broken=broken,
        homes=tuple((agent, str(path)) for agent, path in unread_homes()),
        command=settings.COMMAND,
    )
    return page(request, "stores/stores.html", data)


def _shown(store: Store) -> ShownStore:
    try:
        with open_store(store, listed=True) as reader:
            capabilities = reader.capabilities()
            index = _index(reader) if reader.offers_text else None
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
        abilities=_abilities(capabilities, index),
        remarks=tuple(remarks(store)),
        index=index,
    )


@require_POST
@shows_refusals
def index(request: HttpRequest, store: str) -> HttpResponse:
    """Leave a store out of the index of text, or take it in again."""
    indexing.leave_out(get_store(store).name, "leave_out" in request.POST)
    return redirect("pages:stores")


def _index(reader: Reader) -> IndexSwitch:
    found = indexing.progress(sync.state_at(reader.store))
    return IndexSwitch(reverse("pages:index", args=[reader.store.name]), not found.left_out, _progress(found))


def _progress(found: TextProgress) -> str:
    if found.left_out:
        return f"{formats.counted(found.messages, 'message')} are being taken out of it." if found.messages else ""
    if found.waiting:
        return f"{found.sessions - found.waiting:,} of {formats.counted(found.sessions, 'session')} are indexed."
    indexed = f"{formats.counted(found.messages, 'message')} of {formats.counted(found.sessions, 'session')}."
    if not found.failed:
        return indexed
    return f"{indexed} Not all of {formats.counted(found.failed, 'session')}, which could not be read: see the log."


def _search(found: Capabilities, index: IndexSwitch | None) -> Ability:
    if index is None:
        return Ability(
            "Search index", found.search, "" if found.search else "This store has no full-text index of its messages."
        )
    left_out = "This store is left out of the index that this site keeps of stores without one."
    return Ability("Search, by an index that this site keeps", index.is_on, "" if index.is_on else left_out)


def _abilities(found: Capabilities, index: IndexSwitch | None) -> tuple[Ability, ...]:
    return (
        Ability("Read sessions, History and what the model sees", True, ""),
        Ability("Compact and undo", found.can_compact, found.compact_reason),
        _search(found, index),
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
