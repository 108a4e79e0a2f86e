"""The facts about a session at the start of every export."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from django.utils import timezone

from compaction import redaction
from compaction.redaction import Replacement
from viewer.rendering.redaction import redacted_session

from .source import ExportPlan, View

VIEWS: dict[View, str] = {"history": "History", "live": "What the model sees", "raw": "Raw rows"}
EXPLAINED: dict[View, str] = {
    "history": "Each message once, with the boundaries of its compactions.",
    "live": "What a model would be sent now.",
    "raw": "Every row as it is stored.",
}


@dataclass(frozen=True, slots=True)
class ExportFacts:
    """The session, and what of it this export contains. Times in epoch seconds."""

    view: View
    redacted: bool
    exported_at: datetime
    store: str
    id: str
    name: str
    title: str
    source: str
    model: str
    cwd: str
    started_at: float
    last_active: float
    ended_at: float | None
    end_reason: str
    parent: str
    parts: int
    messages: int
    in_context: int
    compactions: int
    exported: int
    system_prompt: str

    @property
    def lines(self) -> list[tuple[str, str]]:
        """For people: (name, value), only for known values."""
        ended = f"{clock(self.ended_at)} ({self.end_reason or 'closed'})" if self.ended_at is not None else ""
        facts = [
            ("Store", self.store),
            ("Session", self.id),
            ("Source", self.source),
            ("Model", self.model),
            ("Directory", self.cwd),
            ("Started", clock(self.started_at)),
            ("Last active", clock(self.last_active)),
            ("Ended", ended),
            ("Messages", self._counts),
            ("Compactions", f"{self.compactions:,}" if self.compactions else "none"),
            ("View", f"{VIEWS[self.view]}. {EXPLAINED[self.view]}"),
            ("Exported", clock(self.exported_at.timestamp())),
        ]
        return [(name, value) for name, value in facts if value]

    @property
    def _counts(self) -> str:
        if self.in_context == self.messages:
            return f"{self.messages:,}{', all in context' if self.messages else ''}"
        return f"{self.messages:,}, {self.in_context:,} of them in context"

    @property
    def redacting(self) -> str:
        """What was done about secrets, as a sentence."""
        return about_secrets(redacted=self.redacted)


def about_secrets(*, redacted: bool) -> str:
    """What is done about secrets in an export, as a sentence."""
    if redacted:
        return "What looks like a secret is redacted in this export, for instance as “[redacted: password]”."
    return "Nothing is redacted in this export: it may hold passwords and keys."


def facts_of(planned: ExportPlan, put: Replacement | None) -> ExportFacts:
    """The facts; with `put`, redacted like the messages."""

    def shown(text: str) -> str:
        return redaction.redact_shown(text, put) if put else text

    session = redacted_session(planned.session, put) if put else planned.session
    index = planned.index
    return ExportFacts(
        view=planned.view,
        redacted=put is not None,
        exported_at=datetime.now(UTC),
        store=planned.store.name,
        id=session.id,
        name=session.name,
        title=session.title,
        source=session.source,
        model=shown(session.model),
        cwd=session.cwd,
        started_at=session.started_at,
        last_active=session.last_active,
        ended_at=session.ended_at,
        end_reason=session.end_reason,
        parent=session.parent,
        parts=session.parts,
        messages=index.messages,
        in_context=index.in_context,
        compactions=len(index.compactions),
        exported=planned.messages,
        system_prompt=shown(planned.system_prompt),
    )


def clock(epoch: float) -> str:
    """A time in this site's zone, "2026-07-14 06:12:03 CEST"; "" if it is unknown or outside of the calendar."""
    at = moment(epoch)
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S %Z}" if at else ""


def moment(epoch: float) -> datetime | None:
    """A stored time; None for 0, which means unknown, and for times outside of the calendar."""
    try:
        at = datetime.fromtimestamp(epoch, UTC) if epoch > 0 else None
        return at if at is None or 1 < at.year < 9999 else None
    except (ValueError, OverflowError, OSError):
        return None
