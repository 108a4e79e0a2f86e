"""Creating sessions in any writable store, and deleting them from a store of our own."""

from __future__ import annotations

import time

from django.http import HttpRequest
from ninja.responses import Status

from viewer.catalog import removing, sync
from viewer.stores.registry import get_store, open_store, writer_of

from . import shapes
from .answers import answers
from .schemas import CreateIn, DeletedOut, SessionOut
from .scopes import WRITE
from .sessions import SESSION, router  # one router: the same addresses, other methods

__all__ = ["router"]


@router.post("/stores/{name:store}/sessions", auth=WRITE, response=answers(SessionOut, 201), summary="Create a session")
def create(request: HttpRequest, store: str, body: CreateIn | None = None) -> Status[SessionOut]:
    """A new session, empty or with first messages, in one write; the agent can continue it."""
    target, fields = get_store(store), body or CreateIn()
    session_id = writer_of(target).create(
        now=time.time(),
        title=fields.title,
        source=fields.source,
        model=fields.model,
        cwd=fields.cwd,
        messages=[message.model_dump(exclude_none=True) for message in fields.messages],
    )
    sync.bring(target, [session_id])
    with open_store(target) as reader:
        return Status(201, shapes.session(reader, reader.session(session_id)))


@router.delete(SESSION, auth=WRITE, response=answers(DeletedOut), summary="Delete a session of the demo store")
def delete(request: HttpRequest, store: str, session_id: str) -> DeletedOut:
    """Only in the demo store, where practice copies are: deletes the session with the parts it continues, its messages
    and its runs.

    In every other store 409 `not_ours`: its sessions belong to the agent. Refused while a run is open.
    """
    return DeletedOut(ids=removing.remove(get_store(store), session_id))
