"""Branches: a new session with the context of another one, now or before one of its compactions."""

from __future__ import annotations

from django.http import HttpRequest
from ninja import Router
from ninja.responses import Status

from viewer.runs import branching
from viewer.stores.base import Store
from viewer.stores.registry import agent_of, get_store, open_store

from . import shapes
from .answers import answers
from .schemas import BranchIn, BranchOut
from .scopes import WRITE

router = Router(tags=["sessions"])


@router.post(
    "/stores/{name:store}/sessions/{name:session_id}/branches",
    auth=WRITE,
    response=answers(BranchOut, 201),
    summary="Branch a session",
)
def branch(request: HttpRequest, store: str, session_id: str, body: BranchIn | None = None) -> Status[BranchOut]:
    """Make a session that continues another one's context, now or `before` a compaction; the other one is unchanged."""
    target = get_store(store)
    return Status(201, branch_out(target, branching.branch(target, session_id, body.before if body else None)))


def branch_out(store: Store, session_id: str) -> BranchOut:
    """A new session with the command that makes the agent continue it."""
    with open_store(store) as reader:
        session = shapes.session(reader, reader.session(session_id))
    return BranchOut(**session.dict(), resume=agent_of(store).resume_command(session_id))
