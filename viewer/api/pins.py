"""Messages that every further compaction of a session keeps word for word."""

from __future__ import annotations

from django.http import HttpRequest
from ninja import Router, Schema

from viewer.runs import pins
from viewer.stores.base import Store
from viewer.stores.registry import get_store, open_store

from .answers import answers
from .scopes import READ, WRITE
from .sessions import SESSION

router = Router(tags=["sessions"])


class PinsOut(Schema):
    """The ids of pinned messages, in the order in which they were pinned."""

    items: list[int]


@router.get(f"{SESSION}/pins", auth=READ, response=answers(PinsOut), summary="Pinned messages")
def pinned(request: HttpRequest, store: str, session_id: str) -> PinsOut:
    """The messages of which every compaction keeps the words, here and by our engine inside the agent."""
    return _pins(get_store(store), session_id)


@router.put(f"{SESSION}/pins/{{int:message_id}}", auth=WRITE, response=answers(PinsOut), summary="Pin a message")
def pin(request: HttpRequest, store: str, session_id: str, message_id: int) -> PinsOut:
    """Keep the words of this message. All pins together take at most a tenth of the context window: 409 `pins_full`."""
    target = get_store(store)
    pins.pin(target, session_id, message_id)
    return _pins(target, session_id)


@router.delete(f"{SESSION}/pins/{{int:message_id}}", auth=WRITE, response=answers(PinsOut), summary="Unpin a message")
def unpin(request: HttpRequest, store: str, session_id: str, message_id: int) -> PinsOut:
    """Let further compactions summarise this message."""
    target = get_store(store)
    pins.unpin(target, session_id, message_id)
    return _pins(target, session_id)


def _pins(store: Store, session_id: str) -> PinsOut:
    with open_store(store) as reader:
        return PinsOut(items=pins.pinned_ids(reader, reader.session(session_id)))
