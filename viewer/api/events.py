"""After a compaction: notes for the agent, and whether it read its startup files."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from django.http import HttpRequest
from ninja import Router, Schema

from viewer.enforcement import auditing, events
from viewer.enforcement.models import Audit, Event
from viewer.history import index_cache
from viewer.stores.base import Store
from viewer.stores.registry import get_store, open_store
from viewer.web import cursors

from .answers import answers
from .schemas import Limit
from .scopes import READ, WRITE
from .sessions import SESSION

router = Router(tags=["after a compaction"])


class EventOut(Schema):
    """A `note` after a compaction, or the `warning` of an audit. `text` is what was delivered, or what would be now.

    `status` is pending, delivered, or expired: no longer delivered, because a turn was audited or the compaction taken
    back. `files` are those to read that exist now, or those that were not read, below `workspace`; `source` is the
    context file that names them.
    """

    id: int
    store: str
    session_id: str
    kind: str
    status: str
    text: str
    files: list[str]
    source: str
    workspace: str
    handoff_id: int
    run: int | None
    created_at: datetime
    delivered_at: datetime | None


class EventsOut(Schema):
    items: list[EventOut]
    next: str | None


class RequiredOut(Schema):
    """A file to read, below the workspace; the message whose `tool` call read it, null and "" if none has yet."""

    name: str
    read_by: int | None
    tool: str


class AuditOut(Schema):
    """Whether the agent read the required files in its first complete turn after a compaction.

    `status` is not_yet (no complete turn), passed, missing (`settled` false: one more turn counts), nothing_required
    (`reason` says why), undone, or superseded by a later compaction. `turns` were judged; `missing` names what none of
    them read; `warned` is the event with the warning. `late`: the turn was over before the compaction was seen here.
    """

    id: int
    store: str
    session_id: str
    handoff_id: int
    run: int | None
    status: str
    settled: bool
    late: bool
    turns: int
    required: list[RequiredOut]
    missing: list[str]
    warned: int | None
    reason: str
    workspace: str
    source: str
    compacted_at: datetime
    armed_at: datetime
    audited_at: datetime | None


class AuditsOut(Schema):
    items: list[AuditOut]
    next: str | None = None


@router.get(f"{SESSION}/events", auth=READ, response=answers(EventsOut), summary="Notes for an agent")
def session_events(
    request: HttpRequest,
    store: str,
    session_id: str,
    status: Literal["", "pending", "delivered", "expired"] = "",
    limit: Limit = 50,
    cursor: str = "",
) -> EventsOut:
    """Newest first. For a runtime that passes them on itself and then acknowledges each one."""
    before = cursors.read(cursor, "events", int)[0] if cursor else None
    target = get_store(store)
    with open_store(target) as reader:
        reader.session(session_id)  # raises NotFound if there is none
    listed = events.of_session(target, session_id, status=status, before=before, limit=limit + 1)
    more = cursors.written("events", listed[limit - 1].pk) if len(listed) > limit else None
    return EventsOut(items=[event_out(event) for event in listed[:limit]], next=more)


@router.post("/events/{int:event_id}/ack", auth=WRITE, response=answers(EventOut), summary="Say that it was passed on")
def acknowledge(request: HttpRequest, event_id: int) -> EventOut:
    """Mark an event as delivered, so that no call delivers it; one that was delivered or expired is unchanged."""
    return event_out(events.acknowledge(events.get_event(event_id)))


@router.get(f"{SESSION}/audits", auth=READ, response=answers(AuditsOut), summary="Did the agent read its files?")
def audits(request: HttpRequest, store: str, session_id: str) -> AuditsOut:
    """The audit of each compaction, newest first, judged by the current messages."""
    items = _look(get_store(store), session_id)
    warned = events.warnings(items)
    return AuditsOut(items=[_audit(audit, warned.get(audit.pk)) for audit in items])


def _look(store: Store, session_id: str) -> list[Audit]:
    with open_store(store) as reader:
        session = reader.session(session_id)
        return auditing.current_audits(reader, session, index_cache.index_of(reader, session))


def event_out(event: Event) -> EventOut:
    """An event with its text."""
    return EventOut(
        id=event.pk,
        store=event.store,
        session_id=event.session_id,
        kind=event.kind,
        status=event.status,
        text=events.text_of(event),
        files=events.files_of(event),
        source=event.audit.source,
        workspace=event.audit.workspace,
        handoff_id=event.audit.handoff_id,
        run=event.audit.run,
        created_at=event.created_at,
        delivered_at=event.delivered_at,
    )


def _audit(audit: Audit, warned: int | None) -> AuditOut:
    required = _required(audit)
    return AuditOut(
        id=audit.pk,
        store=audit.store,
        session_id=audit.session_id,
        handoff_id=audit.handoff_id,
        run=audit.run,
        status=audit.status,
        settled=audit.settled,
        late=audit.late,
        turns=audit.turns,
        required=required,
        missing=[file.name for file in required if audit.turns and file.read_by is None],
        warned=warned,
        reason=audit.reason,
        workspace=audit.workspace,
        source=audit.source,
        compacted_at=datetime.fromtimestamp(audit.compacted_at, UTC),
        armed_at=audit.armed_at,
        audited_at=audit.audited_at,
    )


def _required(audit: Audit) -> list[RequiredOut]:
    """The required files and their results; no results before the first complete turn."""
    if audit.turns:
        return [RequiredOut(name=each["named"], read_by=each["message"], tool=each["tool"]) for each in audit.findings]
    return [RequiredOut(name=each["path"], read_by=None, tool="") for each in audit.required]
