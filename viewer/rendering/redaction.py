"""A store's data without what looks like a secret, for showing and exporting. Stored data is unchanged."""

from __future__ import annotations

from dataclasses import replace

from compaction import redaction
from compaction.redaction import Replacement
from viewer.stores.base import Session, redacted_name
from viewer.stores.message import Handoff, HistoryMessage, Preview, StoredMessage


def redacted(row: StoredMessage, put: Replacement | None = None) -> StoredMessage:
    """The row with credentials replaced by their kind, "[redacted: GitHub token]", in all session text.

    `put` gets the kind of each and returns its replacement.
    """
    return replace(
        row,
        role=redaction.redact_shown(row.role, put),
        content=redaction.redact_shown_value(row.content, put),
        tool_calls=redaction.redact_shown_value(row.tool_calls, put),
        tool_call_id=redaction.redact_shown(row.tool_call_id, put),
        tool_name=redaction.redact_shown(row.tool_name, put),
        reasoning=redaction.redact_shown(row.reasoning, put),
        finish_reason=redaction.redact_shown(row.finish_reason, put),
        extra=redaction.redact_shown_value(row.extra, put),
        diff=redaction.redact_shown(row.diff, put),
    )


def redacted_item(item: HistoryMessage | Handoff, put: Replacement | None = None) -> HistoryMessage | Handoff:
    """A message or a handoff of History, redacted the same way."""
    if isinstance(item, Handoff):
        summary, directive = redaction.redact_shown(item.summary, put), redaction.redact_shown(item.directive, put)
        return replace(item, row=redacted(item.row, put), summary=summary, directive=directive)
    return replace(item, row=redacted(item.row, put), content=redaction.redact_shown_value(item.content, put))


def redacted_session(session: Session, put: Replacement | None = None) -> Session:
    """A session whose names and other texts from its row are redacted."""
    return replace(
        session,
        title=redacted_name(session.title, put),
        base_title=redacted_name(session.base_title, put),
        first_words=redacted_name(session.first_words, put),
        source=redaction.redact_shown(session.source, put),
        cwd=redaction.redact_shown(session.cwd, put),
        end_reason=redaction.redact_shown(session.end_reason, put),
    )


def redacted_text(message: Preview) -> str:
    """The text of a preview."""
    return redaction.redact_start(message.text) if message.is_cut else redacted_name(message.text)
