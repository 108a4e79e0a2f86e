"""What an agent is sent at its next turn, once: the note after a compaction, and the audit's warning.

Nothing is injected: an event waits until a program asks for the session's context, or takes the event and injects it
itself. Until then its text is made when it is asked for: the files that exist, and the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from django.db.models import Q
from django.utils import timezone

from viewer.enforcement.models import Audit, Event
from viewer.runs.plain import plain
from viewer.stores.base import Store
from viewer.stores.errors import NotFound
from viewer.stores.registry import get_store
from viewer.workspaces.rules import Rules, existing, zone_of

from .notes import event_text, warning_text

OFFERED = timedelta(seconds=5)  # an agent waits for a fraction of a second


def of_session(
    store: Store, session_id: str, *, status: str = "", before: int | None = None, limit: int | None = None
) -> list[Event]:
    """The events of a session, newest first, below the number `before`; only those with `status`, if given."""
    filters = {"store": store.name, "session_id": plain(session_id)} | ({"status": status} if status else {})
    events = Event.objects.filter(**filters).select_related("audit").order_by("-pk")
    return list((events if before is None else events.filter(pk__lt=before))[:limit])


def pending(store: Store, session_id: str) -> list[Event]:
    """The waiting notes, in order."""
    return of_session(store, session_id, status="pending")[::-1]


def of_audit(audit: Audit) -> list[Event]:
    """The events of one audit, the note first."""
    return list(Event.objects.filter(audit=audit).select_related("audit").order_by("pk"))


def warnings(audits: Iterable[Audit]) -> dict[int, int]:
    """The number of the warning for each of these audits that led to one, by the audit's number."""
    return dict(Event.objects.filter(audit__in=audits, kind="warning").values_list("audit", "pk"))


def get_event(event_id: int) -> Event:
    """The event of this number. Raises NotFound."""
    event = Event.objects.filter(pk=event_id).select_related("audit").first()
    if event is None:
        raise NotFound(f"There is no event {event_id}.")
    return event


def deliver(events: Iterable[Event]) -> list[Event]:
    """Mark pending events as delivered, each to one caller only; returns those of this caller, with their text."""
    return [event for event in events if mark_delivered(event)]


def offer(store: Store, session_id: str) -> list[Event]:
    """The waiting notes of a session, in order, for one caller; what it does not acknowledge is offered again."""
    now = timezone.now()
    free = Q(offered_until=None) | Q(offered_until__lt=now)
    return [
        event
        for event in pending(store, session_id)
        if Event.objects.filter(free, pk=event.pk, status="pending").update(offered_until=now + OFFERED)
    ]


def acknowledge(event: Event) -> Event:
    """Record that a note was passed on; nothing changes if that is recorded already, or too late."""
    mark_delivered(event)
    event.refresh_from_db()
    return event


def mark_delivered(event: Event, text: str | None = None) -> bool:
    """Record that a note was passed on, with this text if it was another one than now; False if that is recorded
    already, or too late.
    """
    text = text_of(event) if text is None else text
    values = {"text": text, "files": files_of(event), "status": "delivered", "delivered_at": timezone.now()}
    for name, value in values.items():
        setattr(event, name, value)
    return bool(Event.objects.filter(pk=event.pk, status="pending").update(**values))


def note(audit: Audit, sections: Sequence[str], named: Sequence[str]) -> None:
    """Store the note after a compaction, once; no note if there are no rules."""
    if sections:
        _store(audit, "note", sections=list(sections), named=list(named))


def warn(audit: Audit, missing: Sequence[str]) -> None:
    """Store the warning of an audit, once."""
    _store(audit, "warning", missing=list(missing))


def _store(audit: Audit, kind: str, **fields: list[str]) -> None:
    defaults = {"store": audit.store, "session_id": audit.session_id, **plain(fields)}
    Event.objects.get_or_create(audit=audit, kind=kind, defaults=defaults)


def delete_pending(audit: Audit) -> None:
    """Delete the events of an audit that were not sent yet."""
    Event.objects.filter(audit=audit, status="pending").delete()


def expire(audit: Audit) -> None:
    """Mark the waiting notes of an audit as expired."""
    Event.objects.filter(audit=audit, status="pending").update(status="expired")


# -- text --------------------------------------------------------------------------------------------------------------


def text_of(event: Event) -> str:
    """The text of an event: as delivered, or as it would be delivered now."""
    if event.status == "delivered":
        return event.text
    audit, zone = event.audit, _zone(event)
    compacted = datetime.fromtimestamp(audit.compacted_at, UTC).astimezone(zone)
    if event.kind == "warning":
        return warning_text(source=audit.source, missing=event.missing, compacted_at=spoken_time(compacted))
    return _note_text(audit.source, event.sections, files_of(event), compacted)


def text_for(store: Store, rules: Rules) -> str:
    """The text of a note for a compaction that is being made now, "" without rules."""
    if not rules.sections:
        return ""
    now = timezone.now().astimezone(zone_of(store))
    return _note_text(rules.source, rules.sections, existing(rules.workspace, rules.named, now.date()), now)


def _note_text(source: str, sections: Sequence[str], files: Sequence[str], compacted: datetime) -> str:
    now = timezone.now().astimezone(compacted.tzinfo)
    return event_text(
        source=source,
        sections=sections,
        files=files,
        compacted_at=spoken_time(compacted),
        now=spoken_time(now),
        day=now.date(),
    )


def files_of(event: Event) -> list[str]:
    """The files of an event: as delivered, else the files to read that exist today; for a warning, those not read."""
    if event.kind == "warning":
        return list(event.missing)
    if event.status == "delivered":
        return list(event.files)
    today = timezone.now().astimezone(_zone(event)).date()
    return existing(event.audit.workspace, event.named, today)


def spoken_time(at: datetime) -> str:
    """A time with its zone, as notes to a model give it."""
    return f"{at:%A} {at.day} {at:%B %Y}, {at:%H:%M} ({at.tzinfo})"


def _zone(event: Event) -> tzinfo:
    try:
        return zone_of(get_store(event.store))
    except NotFound:  # a store that is not configured any more
        return timezone.get_current_timezone()
