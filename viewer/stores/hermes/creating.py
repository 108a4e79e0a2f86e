"""Create a session, as the agent that owns the store creates its own (`docs/hermes.md` section 1)."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from viewer.stores.base import Store
from viewer.stores.clean_text import sanitized
from viewer.stores.errors import StoreReadOnly

from . import titles
from .appending import insert
from .columns import quoted
from .dialect import StoreConnection
from .opening import OpenStore, columns_of, create_reason
from .tally import Tally
from .transaction import write

SOURCE = "api"  # of a session without another source


def create(
    store: Store,
    *,
    now: float,
    title: str = "",
    source: str = SOURCE,
    model: str = "",
    cwd: str = "",
    messages: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Make a session with these first messages, in one transaction; returns its id.

    `now` is in epoch seconds; the messages are those of `appending.append`. Raises TitleTaken, StoreReadOnly,
    StoreUnavailable or WriteDisturbed: then nothing is written.
    """
    with write(store) as con:
        reader = OpenStore(store, con, columns_of(store, con))
        if reason := create_reason(reader):
            raise StoreReadOnly(f"{reason} Nothing was written.")
        tally = Tally(con, reader.columns)
        title = titles.cleaned(sanitized(title))
        titles.check_free(con, title)
        session_id, source = _new_id(con, now), titles.cleaned(sanitized(source)) or SOURCE
        values = {
            "id": session_id,
            "source": source,
            "created_source": source,
            "model": sanitized(model) or None,
            "cwd": sanitized(cwd) or None,
            "title": title or None,
            "title_source": "user" if title else None,
            "started_at": now,
        }
        present = {name: value for name, value in values.items() if name in reader.columns.sessions}
        names = ", ".join(map(quoted, present))
        con.execute(f"INSERT INTO sessions ({names}) VALUES ({', '.join('?' * len(present))})", list(present.values()))
        tally.check(messages=len(insert(con, reader.columns, session_id, messages, now)), sessions=1)
    return session_id


def _new_id(con: StoreConnection, now: float) -> str:
    """An id in the form of the agent's gateway: local time and eight hexadecimal digits."""
    while True:
        new_id = f"{datetime.fromtimestamp(now):%Y%m%d_%H%M%S}_{secrets.token_hex(4)}"
        if con.execute("SELECT 1 FROM sessions WHERE id = ?", [new_id]).fetchone() is None:
            return new_id
