"""Changing a session's title, and its place in the archive. Each is one transaction."""

from __future__ import annotations

from typing import Any

from viewer.stores.base import Store
from viewer.stores.errors import NotFound, StoreReadOnly

from . import titles
from .opening import columns_of
from .tally import Tally
from .transaction import write


def rename(store: Store, session_id: str, title: str) -> None:
    """Give a session another title (at most 100 characters, unique in the store; "" for none). Raises TitleTaken."""
    new_title = titles.cleaned(title) or None
    _set(store, session_id, "title", new_title, title_source="user" if new_title else None)


def set_archived(store: Store, session_id: str, archived: bool) -> None:
    """Put a session into the archive or take it out: a flag of the agent's own; nothing is deleted."""
    _set(store, session_id, "archived", int(archived))


def _set(store: Store, session_id: str, column: str, value: Any, **other_columns: Any) -> None:
    """Set one column, and those of `other_columns` that the store has."""
    with write(store) as con:
        columns = columns_of(store, con)
        present, tally = columns.sessions, Tally(con, columns)
        if column not in present:
            raise StoreReadOnly(f"The sessions of store {store.name} have no “{column}”.")
        if column == "title":
            titles.check_free(con, value or "", but=session_id)
        values = {column: value} | {name: given for name, given in other_columns.items() if name in present}
        assignments = ", ".join(f"{name} = ?" for name in values)
        if con.execute(f"UPDATE sessions SET {assignments} WHERE id = ?", [*values.values(), session_id]).rowcount == 0:
            raise NotFound(f"Store {store.name} has no session {session_id!r}.")
        tally.check()
