"""Why a session cannot be compacted, as a sentence."""

from __future__ import annotations

import os

from viewer.stores import refused
from viewer.stores.base import Store

from . import conversations, places
from .forms import LONGEST
from .places import SessionFile
from .records import NO_UUID
from .transcript import SessionMessages

NO_SPLIT = "Claude Code's sessions are compacted in place; one session does not go on in another."
SUB_AGENT = "This is the transcript of a sub-agent: the client does not go on with it."
CIRCLE = (
    "Records of this session name one another as parents in a circle. {count:,} of its messages are not reached from "
    "its end: Claude Code does not send them, and a summary would leave them out. It is not compacted."
)
TANGLED = (
    "How Claude Code reads this session is not known here: its records name each other as parents, have the id of one "
    "response in several places, or go on from before the compaction. It is not compacted."
)
TOO_LONG = (
    "A message that Claude Code still sends, in a line of {size:,} bytes, is too long to be read here, so that no "
    "summary could say what is in it. It is not compacted."
)
NO_IDS = "Records of this session have no id of their own by which a compaction could keep them. It is not compacted."


def of_store(store: Store) -> str:
    """Why nothing in the store can be compacted, "" where it can."""
    if os.access(places.projects(store), os.R_OK | os.W_OK | os.X_OK):
        return ""
    return "This user may not write to the directory of these sessions."


def refusal(store: Store, file: SessionFile) -> str:
    """Why this session can never be compacted here, "" where it can."""
    if file.parent:
        return SUB_AGENT
    reason = of_store(store) or ("" if os.access(file.path, os.R_OK | os.W_OK) else refused.NOT_WRITABLE)
    return reason or of_forms(conversations.of(file))


def of_forms(conversation: SessionMessages) -> str:
    """Why nothing is written to a session with unknown forms, "" where all are known."""
    return refused.unknown_form(conversation.unknown, "Claude Code") if conversation.unknown else ""


def of_context(conversation: SessionMessages) -> str:
    """Why the context can be neither summarised nor kept without a loss, "" where it can."""
    if not conversation.thread or conversation.is_sub_agent:
        return ""
    top, on_thread = conversation.thread[0], {record.uuid for record in conversation.thread}
    parent = "" if top.is_boundary else top.parent
    if parent in on_thread and conversation.unlinked:
        return CIRCLE.format(count=conversation.unlinked)
    if parent in on_thread or conversation.is_tangled:
        return TANGLED
    if parent and conversation.unlinked:
        record = "a record without an id" if parent == NO_UUID else f"the record {parent[:LONGEST]}"
        return refused.lost_link(record, conversation.unlinked, "Claude Code")
    if NO_UUID in on_thread:
        return NO_IDS
    cut = [record.length for record in conversation.thread if record.is_cut]
    return TOO_LONG.format(size=max(cut)) if cut else ""
