"""Messages that were summarised away, put back into the live context as quotations."""

from __future__ import annotations

import time
from typing import Annotated

from django.http import HttpRequest
from ninja import Router, Schema
from ninja.responses import Status
from pydantic import Field

from viewer.runs import putting_back
from viewer.stores.registry import get_store

from .answers import answers
from .schemas import Body
from .scopes import WRITE
from .sessions import SESSION

router = Router(tags=["sessions"])


class PutBackIn(Body):
    """The ids of messages of History. They are quoted in its order."""

    messages: Annotated[list[int], Field(min_length=1, max_length=500)]


class PutBackOut(Schema):
    """The id of the message that quotes them."""

    id: int


@router.post(f"{SESSION}/put-back", auth=WRITE, response=answers(PutBackOut, 201), summary="Put messages back")
def put_back(request: HttpRequest, store: str, session_id: str, body: PutBackIn) -> Status[PutBackOut]:
    """Quote messages that were summarised away, word for word, in one new message of the live context.

    Refused while a turn runs, for a message that is in context (409 `in_context`), and where the context would be
    larger than the window (409 `over_window`).
    """
    message_id = putting_back.put_back(get_store(store), session_id, body.messages, now=time.time())
    return Status(201, PutBackOut(id=message_id))


@router.delete(
    f"{SESSION}/put-back/{{int:message_id}}", auth=WRITE, response=answers(PutBackOut), summary="Undo putting back"
)
def undo(request: HttpRequest, store: str, session_id: str, message_id: int) -> PutBackOut:
    """Take the message that quotes them out of the context again; nothing else changes."""
    putting_back.undo(get_store(store), session_id, message_id)
    return PutBackOut(id=message_id)
