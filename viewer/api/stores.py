"""Whether the site is up, and what the stores can do."""

from __future__ import annotations

from django.db import connection
from django.http import HttpRequest
from ninja import Router

from viewer.stores.base import Store
from viewer.stores.errors import StoreError
from viewer.stores.refused import reason_of
from viewer.stores.registry import all_stores, open_store, remarks
from viewer.web.unreadable import lines_of

from . import shapes
from .answers import answers
from .schemas import ErrorOut, HealthOut, StoreOut, StoresOut
from .scopes import READ

VERSION = "0.1.0"
router = Router(tags=["stores"])


@router.get("/health", auth=None, response=answers(HealthOut), summary="Is the site up?")
def health(request: HttpRequest) -> HealthOut:
    """Answers if the site and its own database do."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HealthOut(status="ok", version=VERSION)


@router.get("/stores", auth=READ, response=answers(StoresOut), summary="The stores")
def stores(request: HttpRequest) -> StoresOut:
    """Every store with what it can do, and why not."""
    items, broken = lines_of(all_stores(), store_out, lambda store: (store.name, store.name))
    return StoresOut(items=list(items), broken=shapes.broken(broken))


def store_out(store: Store) -> StoreOut:
    """A store with what it can do, or the error if it cannot be opened."""
    try:
        with open_store(store, listed=True) as reader:
            able, refusal, is_indexed_here = reader.capabilities(), reader.refusal(None), reader.offers_text
    except StoreError as problem:
        error = ErrorOut(code=problem.code, message=problem.message)
        return StoreOut(name=store.name, origin=store.origin, error=error)
    return StoreOut(
        name=store.name,
        origin=store.origin,
        schema_version=able.schema,
        sessions=able.sessions,
        size=able.size,
        can_compact=refusal is None,
        compact_reason=reason_of(refusal),
        search=able.search or is_indexed_here,
        turn_leases=able.turn_leases,
        remarks=remarks(store),
    )
