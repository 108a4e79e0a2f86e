"""What the client itself adds to a request: attachments such as the list of skills, the date, a file's text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from viewer.stores.message import Addition

from .codec import read_value
from .records import Record
from .transcript import SessionMessages

NAMES = {"prompt_snapshot": "system prompt and tools"}
INTERRUPTED = "When the session is resumed, the client answers them by itself: “[Tool call interrupted: …]”."
NOT_KEPT = "The session does not keep what is sent of it."


def of_thread(file: BinaryIO, conversation: SessionMessages, ids: frozenset[int], *, end: bool) -> Iterator[Addition]:
    """The additions directly before these messages, with `end` also those after the last message, in order."""
    waiting: list[Record] = []
    for record in conversation.thread:
        messages = conversation.of_record(record.uuid)
        if record.type == "attachment" and not messages:
            waiting.append(record)
        elif messages:
            if messages[0] in ids:
                yield from (_addition(file, each, messages[0]) for each in waiting)
            waiting = []
    if end:
        yield from (_addition(file, each, None) for each in waiting)
        if conversation.unfinished:
            yield Addition(None, "results of calls that were not finished", INTERRUPTED, is_sent=False)


def _addition(file: BinaryIO, record: Record, before: int | None) -> Addition:
    value = read_value(file, record) or {}
    attachment = value.get("attachment")
    kind = str(attachment.get("type") or "") if isinstance(attachment, dict) else ""
    text = "\n\n".join(_texts(value.get("rendered")))
    return Addition(before, NAMES.get(kind, kind.replace("_", " ")) or "attachment", text or NOT_KEPT, bool(text))


def _texts(rendered: Any) -> Iterator[str]:
    for each in rendered if isinstance(rendered, list) else []:
        content = each.get("content") if isinstance(each, dict) else each
        for block in content if isinstance(content, list) else [content]:
            text = block.get("text") if isinstance(block, dict) else block
            if isinstance(text, str):
                yield text
