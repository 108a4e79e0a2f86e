"""What a store says without what looks like a secret, for showing and exporting it. What is stored stays as it is."""

from __future__ import annotations

from dataclasses import replace

from compaction import secrets
from compaction.secrets import Mask
from viewer.stores.base import LONGEST_FIRST_WORDS, Session
from viewer.stores.message import Handoff, HistoryMessage, Preview, StoredMessage


def masked(row: StoredMessage, put: Mask | None = None) -> StoredMessage:
    """The row with credentials replaced by what they are, "[masked: GitHub token]", wherever session text stands in it.

    `put` is told the kind of each and says what stands in its place.
    """
    return replace(
        row,
        role=secrets.mask(row.role, put),
        content=secrets.mask_value(row.content, put),
        tool_calls=secrets.mask_value(row.tool_calls, put),
        tool_call_id=secrets.mask(row.tool_call_id, put),
        tool_name=secrets.mask(row.tool_name, put),
        reasoning=secrets.mask(row.reasoning, put),
        finish_reason=secrets.mask(row.finish_reason, put),
        extra=secrets.mask_value(row.extra, put),
    )


def masked_item(item: HistoryMessage | Handoff, put: Mask | None = None) -> HistoryMessage | Handoff:
    """A message or a handoff of History, masked the same way."""
    if isinstance(item, Handoff):
        summary, directive = secrets.mask(item.summary, put), secrets.mask(item.directive, put)
        return replace(item, row=masked(item.row, put), summary=summary, directive=directive)
    return replace(item, row=masked(item.row, put), content=secrets.mask_value(item.content, put))


def masked_session(session: Session, put: Mask | None = None) -> Session:
    """A session with what people call it masked, and what else somebody wrote into its row."""
    return replace(
        session,
        title=masked_name(session.title, put),
        first_words=masked_name(session.first_words, put),
        source=secrets.mask(session.source, put),
        cwd=secrets.mask(session.cwd, put),
        end_reason=secrets.mask(session.end_reason, put),
    )


def masked_name(text: str, put: Mask | None = None) -> str:
    """A title or first words: of those, no more is kept than a name needs."""
    return secrets.mask_start(text, put) if len(text) >= LONGEST_FIRST_WORDS else secrets.mask(text, put)


def masked_text(message: Preview) -> str:
    """The text of a preview."""
    return secrets.mask_start(message.text) if message.is_cut else masked_name(message.text)
