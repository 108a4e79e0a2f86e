"""Sessions: list, one, rename and archive, messages, compactions, plan."""

from __future__ import annotations

import time
from typing import Literal

from django.http import HttpRequest
from ninja import Router
from ninja.responses import Status

from viewer.catalog import sync
from viewer.catalog.lines import Order, SessionFilter
from viewer.catalog.upsert import storable
from viewer.enforcement import auditing
from viewer.history import index_cache, records
from viewer.runs import compaction_list, planning
from viewer.runs.detail_loss import losses
from viewer.stores.registry import get_store, open_store, writer_of
from viewer.web.unreadable import lines_of

from . import listed, messages, shapes
from .answers import answers
from .losses import LossesOut
from .schemas import (
    AppendedOut,
    AppendIn,
    CompactionsOut,
    Limit,
    MessagesOut,
    PlanIn,
    PlanOut,
    SessionIn,
    SessionOut,
    SessionsOut,
)
from .scopes import READ, WRITE

router = Router(tags=["sessions"])
SESSION = "/stores/{name:store}/sessions/{name:session_id}"


@router.get("/stores/{name:store}/sessions", auth=READ, response=answers(SessionsOut), summary="Sessions of a store")
def sessions(
    request: HttpRequest,
    store: str,
    q: str = "",
    source: str = "",
    model: str = "",
    project: str = "",
    state: Literal["", "open", "ended", "archived"] = "",
    compacted: bool | None = None,
    near: bool = False,
    order: Order = "recent",
    limit: Limit = 50,
    cursor: str = "",
) -> SessionsOut:
    """Newest first by `order`.

    For a conversation split into parts, only the newest part; archived ones only on request. `project` is a working
    directory, as in `cwd`. `near` selects sessions that need compaction: their tokens are close to the
    agent's threshold, they are open, no sub-agents', and were active in the last 30 days.
    """
    filters = SessionFilter(
        q=q, source=source, model=model, project=storable(project), state=state, compacted=compacted, near=near,
        order=order,
    )  # fmt: skip
    return listed.page(get_store(store), filters, limit, cursor)


@router.get(SESSION, auth=READ, response=answers(SessionOut), summary="One session")
def session(request: HttpRequest, store: str, session_id: str) -> SessionOut:
    """The session and the numbers of its context."""
    with open_store(get_store(store)) as reader:
        return shapes.session(reader, reader.session(session_id))


@router.patch(SESSION, auth=WRITE, response=answers(SessionOut), summary="Rename or archive")
def change(request: HttpRequest, store: str, session_id: str, body: SessionIn) -> SessionOut:
    """Set a title, or move the session into the archive or out of it; nothing is deleted."""
    target = get_store(store)
    if body.title is not None:
        writer_of(target).rename(session_id, body.title)
    if body.archived is not None:
        writer_of(target).set_archived(session_id, body.archived)
    sync.bring(target, [session_id])
    with open_store(target) as reader:
        return shapes.session(reader, reader.session(session_id))


@router.get(f"{SESSION}/messages", auth=READ, response=answers(MessagesOut), summary="Messages")
def session_messages(
    request: HttpRequest,
    store: str,
    session_id: str,
    view: Literal["history", "live", "raw"] = "history",
    around: int | None = None,
    limit: Limit = 100,
    cursor: str = "",
) -> MessagesOut:
    """Oldest first.

    `history`: each message once, handoffs at their boundaries; `live`: what the model sees; `raw`: all rows.
    """
    with open_store(get_store(store)) as reader:
        return messages.page(reader, reader.session(session_id), view, around, limit, cursor)


@router.post(f"{SESSION}/messages", auth=WRITE, response=answers(AppendedOut, 201), summary="Append messages")
def append_messages(request: HttpRequest, store: str, session_id: str, body: AppendIn) -> Status[AppendedOut]:
    """After what the model sees, in one write; refused while a turn runs. The agent reads them with its next turn."""
    new = [message.model_dump(exclude_none=True) for message in body.messages]
    target = get_store(store)
    ids = writer_of(target).append(session_id, new, now=time.time())
    auditing.on_appended(target, session_id)
    return Status(201, AppendedOut(ids=ids))


@router.get(f"{SESSION}/compactions", auth=READ, response=answers(CompactionsOut), summary="Compactions of a session")
def compactions(request: HttpRequest, store: str, session_id: str) -> CompactionsOut:
    """Every compaction in effect, ours or the agent's, oldest first."""
    with open_store(get_store(store)) as reader:
        views = compaction_list.compactions(reader, session_id)
        session = reader.session(session_id)
        audits = auditing.current_audits(reader, session, index_cache.index_of(reader, session)) if views else []
    judged = {audit.handoff_id: audit.status for audit in audits}
    items, broken = lines_of(
        views,
        lambda view: shapes.compaction(view, judged.get(view.handoff_id)),
        lambda view: (view.handoff_id, store),
    )
    return CompactionsOut(items=list(items), broken=shapes.broken(broken))


@router.get(
    f"{SESSION}/compactions/{{handoff_id}}/details",
    auth=READ,
    response=answers(LossesOut),
    summary="What a compaction lost",
)
def compaction_details(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> LossesOut:
    """For the agent's compactions, too: there the rows are searched, which takes longer the more there are."""
    with open_store(get_store(store)) as reader:
        index = index_cache.index_of(reader, reader.session(session_id))
        boundary = index.boundary_at(handoff_id)
        if boundary is None:
            raise records.not_there(store, session_id, handoff_id)
        return LossesOut(**losses(reader, session_id, index, boundary))


@router.post(f"{SESSION}/plan", auth=READ[:1], response=answers(PlanOut), summary="A dry run")
def plan(request: HttpRequest, store: str, session_id: str, body: PlanIn) -> PlanOut:
    """What a compaction would keep and summarise, and why; no model is asked and nothing is written."""
    return shapes.plan(planning.draft(get_store(store), session_id, shapes.options(body)))
