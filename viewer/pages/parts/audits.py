"""The turn after a compaction: a boundary's tab, the card next to a session, words for each state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compaction import redaction
from viewer.enforcement import auditing
from viewer.enforcement.models import Audit
from viewer.rendering import formats
from viewer.rendering.texts import line
from viewer.stores.transcript import Boundary, TranscriptIndex

from .opened import OpenSession

NAMED = 400  # characters of a file's name, whose end is most informative
FEW = 3  # files that the card names
LABELS = {
    "not_yet": "not yet",
    "passed": "passed",
    "nothing_required": "nothing left to check",
    "undone": "undone before it was checked",
    "superseded": "overtaken by a later compaction",
}
TONES = {"passed": "ok", "missing": "warn"}


@dataclass(frozen=True, slots=True)
class AuditStatus:
    """The state of the reading after a compaction, in a few words; `tone` is its colour, "" for none; `open`: another
    turn may change it.
    """

    label: str
    tone: str = ""
    open: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """The card next to a session about its last compaction: a state, the files it is about, what comes next."""

    standing: AuditStatus
    files: tuple[str, ...]
    more: int
    next: str
    href: str


def audited(opened: OpenSession) -> OpenSession:
    """The session with the audits of its compactions, as of its current rows; without compactions nothing is read."""
    if not opened.index.compactions:
        return opened
    return replace(opened, audits=tuple(auditing.current_audits(opened.reader, opened.session, opened.index)))


def audit_of(opened: OpenSession, handoff_id: int) -> Audit | None:
    return next((each for each in opened.audits if each.handoff_id == handoff_id), None)


def newest_boundary(index: TranscriptIndex) -> Boundary | None:
    """The last compaction that is in effect."""
    return max(index.compactions, key=lambda boundary: boundary.handoff_id, default=None)


def standing_of(opened: OpenSession, boundary: Boundary) -> AuditStatus | None:
    """The state in the boundary's tab; None if there is nothing to follow: an inherited boundary, an old one from
    before anybody looked, and one whose session's rules require no file.
    """
    audit = None if boundary.inherited else audit_of(opened, boundary.handoff_id)
    if audit is not None:
        return None if audit.status == "nothing_required" and not audit.required else standing(audit)
    newest = newest_boundary(opened.index)
    return AuditStatus("not looked at yet", open=True) if newest and newest.handoff_id == boundary.handoff_id else None


def standing(audit: Audit) -> AuditStatus:
    label = f"{unread(audit)} not read" if audit.status == "missing" else LABELS.get(audit.status, audit.status)
    return AuditStatus(label, TONES.get(audit.status, ""), open=not audit.settled)


def unread(audit: Audit) -> str:
    """ "1 of 2 files": those that were not read, of all required ones."""
    return f"{len(missing(audit)):,} of {formats.counted(len(audit.findings), 'file')}"


def missing(audit: Audit) -> list[str]:
    """The files that were not read."""
    return [one["named"] for one in audit.findings if one["message"] is None]


def shown_name(name: str, *, redacting: bool) -> str:
    """A file's name as one line without hidden characters."""
    return line(redaction.redact_shown(name) if redacting else name, NAMED)


# -- next to the session -----------------------------------------------------------------------------------------------


def card(opened: OpenSession) -> Card | None:
    """The card, None if there is nothing to report."""
    newest = newest_boundary(opened.index)
    audit = audit_of(opened, newest.handoff_id) if newest else None
    if audit is None or audit.status not in ("not_yet", "missing", "passed"):
        return None
    files = _files(audit)
    return Card(
        standing=_short(audit),
        files=tuple(shown_name(name, redacting=opened.redacting) for name in files[:FEW]),
        more=max(0, len(files) - FEW),
        next=_next(audit),
        href=opened.urls.listed(audit.handoff_id, "reading"),
    )


def _short(audit: Audit) -> AuditStatus:
    if audit.status == "not_yet":
        return AuditStatus(f"{formats.counted(len(audit.required), 'file')} to read again")
    if audit.status == "passed":
        return AuditStatus(f"{formats.counted(len(audit.findings), 'file')} read again", "ok")
    return standing(audit)


def _files(audit: Audit) -> Sequence[str]:
    """The files that are to be read, or were not; files that were read need no action."""
    if audit.status == "not_yet":
        return [one["path"] for one in audit.required]
    return missing(audit)


def _next(audit: Audit) -> str:
    if audit.status == "not_yet":
        return "The agent's next complete turn will be checked."
    return "" if audit.settled else "A warning waits for the agent; its next turn is checked, too."
