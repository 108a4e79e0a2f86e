"""Files that the agent read again after a compaction: a tab of its boundary, with the notes sent to the agent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from compaction import redaction
from viewer.enforcement import events
from viewer.enforcement.audit_statistics import asks_for_events
from viewer.enforcement.models import Audit
from viewer.inside import doors
from viewer.pages.http import shows_refusals, tab
from viewer.pages.parts.audits import AuditStatus, audit_of, audited, shown_name, standing_of, unread
from viewer.pages.parts.boundary import find
from viewer.pages.parts.opened import OpenSession, open_session
from viewer.pages.parts.reach import note_sentence
from viewer.pages.redaction import redacts
from viewer.rendering import formats
from viewer.rendering.texts import clean, line, visible
from viewer.stores.base import Store
from viewer.stores.registry import get_store, open_store

UNSEEN = (
    "This compaction was not checked yet. A worker checks it when it sees it, usually within seconds; a session that "
    "rested since is checked when it goes on."
)
UNFOLLOWED = "This compaction was not checked while it was the last one, so nothing is known of the turn after it."
LATE = (
    "The turn was over before this compaction was seen here: no warning could be given in time, files were judged as "
    "they were later, and the result counts in no statistics."
)
GONE = "The files that were named do not exist any more."
GIVEN = "Each is given once: to a program that fetches this session's context by POST, or takes its events."


@dataclass(frozen=True, slots=True)
class File:
    """One file to read: its name as shown, `dated` its name in the rules if that differs, whether it was read, and the
    message that read it, `href` "" if History does not show that.
    """

    name: str
    dated: str
    standing: AuditStatus
    href: str = ""
    where: str = ""
    tool: str = ""


@require_safe
@shows_refusals
def reading(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    with open_store(get_store(store)) as reader:
        opened = audited(open_session(reader, session_id, redacting=redacts(request)))
        boundary = find(opened, handoff_id)
        audit = audit_of(opened, handoff_id)
        standing = standing_of(opened, boundary) or AuditStatus("nothing to check" if audit else "not followed")
        data = _page(opened, handoff_id, standing, audit)
    top = {"name": opened.session.name, "back": opened.urls.boundary(handoff_id)}
    return tab(request, "boundary/_reading.html", data, heading=f"Startup reading: {standing.label}", **top)


def _page(opened: OpenSession, handoff_id: int, standing: AuditStatus, audit: Audit | None) -> dict[str, Any]:
    """All about one audit: `seen` is the last message checked, `notes` are the events for the agent with their texts,
    `offered` says how the agent gets them.
    """
    notes = [(each, clean(_redacted(events.text_of(each), opened))) for each in events.of_audit(audit)] if audit else []
    followed = standing.label != "not followed"
    return {
        "place": opened.urls,
        "handoff_id": handoff_id,
        "standing": standing,
        "audit": audit,
        "source": _redacted(audit.source, opened) if audit else "",
        "workspace": _redacted(audit.workspace, opened) if audit else "",
        "explained": _explained(audit, opened) if audit else UNSEEN if followed else UNFOLLOWED,
        "late": LATE if audit and audit.late else "",
        "seen": opened.index.message_of(audit.seen_to) if audit and audit.findings else None,
        "files": list(_files(audit, opened)) if audit else [],
        "notes": notes,
        "offered": _offered(opened.reader.store),
    }


def _offered(store: Store) -> str | SafeString:
    """How the agent gets the notes."""
    return GIVEN if asks_for_events(store.name) else note_sentence(store, doors.door_of(store))


def _redacted(text: str, opened: OpenSession) -> str:
    return redaction.redact_shown(text) if opened.redacting else text


# -- the turn ----------------------------------------------------------------------------------------------------------


def _explained(audit: Audit, opened: OpenSession) -> str | SafeString:
    """The state of the audit, in full sentences."""
    if audit.status == "not_yet":
        return (
            f"The agent is to read {formats.counted(len(audit.required), 'file')}. Its next complete turn will be "
            "checked: from what somebody writes to the end of the agent's answer."
        )
    if audit.status == "nothing_required":
        reason = visible(_redacted(audit.reason, opened)) or GONE
        return format_html(
            "Nothing to check. {} (As of {}.)", reason, formats.moment(audit.audited_at or audit.armed_at)
        )
    if audit.status == "undone":
        return "This compaction was taken back before it was known whether the agent reads its files again."
    if audit.status == "superseded":
        return "A later compaction came before a turn was complete, so nothing is known of this one."
    return _judged(audit)


def _judged(audit: Audit) -> str:
    turn = "the first complete turn after the compaction" if audit.turns < 2 else "the second turn after the compaction"
    if audit.status == "passed":
        count = formats.counted(len(audit.findings), "file")
        return f"The agent read {count} by the end of {turn}."
    verdict = f"By the end of {turn}, {unread(audit)} had not been read."
    if not audit.settled:
        return f"{verdict} A warning waits for the agent; its next turn is checked, too."
    if audit.turns < 2 and not audit.late:
        return f"{verdict} A later compaction came before another turn could count: the result is final."
    return f"{verdict} The result is final."


def _files(audit: Audit, opened: OpenSession) -> Iterator[File]:
    """The files an agent has to read, with the result for each; files that no longer exist come last."""
    names = {one["path"]: one["named"] for one in audit.required}
    judged = [one["named"] for one in audit.findings]
    unknown = "does not exist any more" if audit.turns else "not looked at" if audit.settled else "not yet"
    for one in audit.findings:
        yield _file(one["named"], names, opened, one["message"], one["tool"])
    for path in names:
        if path not in judged:
            yield replace(_file(path, names, opened), standing=AuditStatus(unknown))


def _file(path: str, names: dict[str, str], opened: OpenSession, message: int | None = None, tool: str = "") -> File:
    called = names.get(path, path)
    name, dated = (shown_name(each, redacting=opened.redacting) for each in (path, "" if called == path else called))
    if message is None:
        return File(name, dated, AuditStatus("not read", "warn"))
    at = opened.index.message_of(message)
    href = opened.urls.message(at) if at else ""
    return File(name, dated, AuditStatus("read", "ok"), href, f"message {at or message}", line(tool, 80))
