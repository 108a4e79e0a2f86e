"""The sessions that are ticked in the list, as its form sends them."""

from __future__ import annotations

from contextlib import suppress

from django.http import HttpRequest

from viewer.stores.errors import StoreError
from viewer.web.url_segments import name_in

MOST = 500  # sessions at once


def chosen(request: HttpRequest) -> list[tuple[str, str]]:
    """(name of the store, id) of each, once, in order. Raises StoreError for more than MOST."""
    keys = list(dict.fromkeys(request.POST.getlist("session")))
    if len(keys) > MOST:
        raise StoreError(f"At most {MOST} sessions can be chosen at once; {len(keys):,} were.")
    found = []
    for key in keys:
        store, _, session_id = key.partition("/")
        with suppress(ValueError):  # else it is no key of ours, and names nothing
            store, session_id = name_in(store), name_in(session_id)
        found.append((store, session_id))
    return found
